"""A controller behind a listener, ours or a real one: what it answers to the request of a row, and which records it wrote for it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from struct import pack, unpack
from typing import Any, Protocol

from metashell.codec.batch_writer import read_control_record
from metashell.codec.batches import HEADER_SIZE, RecordBatch, read_batch_header
from metashell.codec.metadata_records import read_metadata_record
from metashell.codec.registry import message_type
from metashell.net.frames import encode_request, frame, response_type
from tests.quorum.controller.golden import enveloped, opened
from tests.quorum.controller.json_objects import from_json

PUBLISHED_READS = {"ApiVersions", "DescribeCluster", "DescribeAcls", "DescribeConfigs", "Envelope"}
"""What reads the published image, or asks an authorizer that follows it."""
_ANSWER_LIMIT_S = 120.0
_START_LIMIT_S = 120.0
_CLIENT = "golden"
_REGISTERS_FROM = 15


class Running(Protocol):
    """A controller that leads its quorum alone."""

    port: int
    wire: Wire
    log: LogTail

    def settle(self) -> bool:
        """Return once it leads, and what is committed is published; False if it has ended."""

    def restart(self, config: Mapping[str, str]) -> None:
        """End it without a warning and start it on its directory, with other settings too."""


class Live:
    """The other side of a comparison, asked over its listener."""

    def __init__(self, controller: Running) -> None:
        self.controller = controller
        self.has_ended = False
        self._unpublished = False

    def startup(self, *, registers: bool = True) -> list[dict[str, Any]]:
        """The records that a start brings: of the bootstrap, and of its own registration where it may register."""
        records: list[dict[str, Any]] = []
        level = 0
        end = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < end:
            records += self.controller.log.read()
            for record in records:
                if record["type"] == "FEATURE_LEVEL_RECORD" and record["data"]["name"] == "metadata.version":
                    level = record["data"]["featureLevel"]
            if level and (
                not registers or level < _REGISTERS_FROM or any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in records)
            ):
                break
            time.sleep(0.002)
        return records

    def restart(self, config: Mapping[str, str], *, registers: bool) -> list[dict[str, Any]]:
        """Restart it; the records of its new leadership, its registration too where it makes one."""
        self.controller.wire.close()
        self.controller.restart(config)
        self._unpublished = True
        records = self.controller.log.read()
        return records if not registers else records + self.registration(records)

    def registration(self, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The records up to its registration, which it sends a moment later, if that is not among those before."""
        found: list[dict[str, Any]] = []
        end = time.monotonic() + _START_LIMIT_S
        while time.monotonic() < end and not any(record["type"] == "REGISTER_CONTROLLER_RECORD" for record in (*before, *found)):
            time.sleep(0.002)
            found += self.controller.log.read()
        return found

    def wait(self, limit_ms: int, count: int) -> list[dict[str, Any]]:
        """The records that come by themselves: until there are `count`, or the time is up."""
        records: list[dict[str, Any]] = []
        end = time.monotonic() + limit_ms / 1000
        while time.monotonic() < end and not (count and len(records) >= count):
            time.sleep(0.01)
            records += self.controller.log.read()
        self._unpublished = True
        return records

    def ask(self, row: Mapping[str, Any], request: Any) -> tuple[Any, list[dict[str, Any]]]:
        """What is answered to a row's request, in its JSON form, None if the connection was closed; and what was written.

        Shape: of an enveloped request, `request` is the inner one, and so is the answer; None stands for the bytes in the row, which
        are no request.
        """
        inner = row.get("inner")
        api, version = row["api"], row["version"]
        if self._unpublished and api in PUBLISHED_READS:
            self.controller.settle()
            self._unpublished = False
        wire = self.controller.wire
        if "source" in row:
            wire = Wire(wire.port, wire.host, row["source"])
        if request is None:
            answered = wire.raw(api, version, bytes.fromhex(row["request_hex"]))
        else:
            body = enveloped(inner, request) if inner else from_json("request", f"{api}Request", request)
            answered = wire.ask(version, body)
        if wire is not self.controller.wire:
            wire.close()
        records = self.controller.log.read()
        if answered is None:
            # It hung up, or it is gone.
            self.has_ended = not self.controller.settle()
            return None, records
        answer = read_answer(api, version, answered)
        if inner:
            message = message_type("response", "EnvelopeResponse")
            answer = opened(message.read(answered[4 + message.flexible(0) :], 0), inner["api"], inner["version"])
        if '"errorCode": -1' in json.dumps(answer):
            # It may have given up its leadership, and wins it again.
            self.controller.settle()
            records += self.controller.log.read()
        self._unpublished = self._unpublished or bool(records)
        return answer, records


class Wire:
    """One blocking connection: frames out, frames in; from the address `source` of this machine, if that is given."""

    def __init__(self, port: int, host: str = "127.0.0.1", source: str | None = None) -> None:
        self.port, self.host = port, host
        self._source = None if source is None else (source, 0)
        self._socket: socket.socket | None = None
        self._correlation = 0

    def ask(self, version: int, body: Any) -> bytes | None:
        """The body that answers a request, None if the connection was closed instead."""
        self._correlation += 1
        return self._send(encode_request(body, version, self._correlation, _CLIENT))

    def raw(self, api: str, version: int, body: bytes) -> bytes | None:
        """What answers bytes behind the header of a request."""
        message = message_type("request", f"{api}Request")
        name = _CLIENT.encode()
        header = pack(">hhih", message.key, version, 7, len(name)) + name + b"\0" * message.flexible(version)
        return self._send(frame(header + body))

    def _send(self, sent: bytes) -> bytes | None:
        try:
            if self._socket is None:
                self._socket = socket.create_connection((self.host, self.port), timeout=_ANSWER_LIMIT_S, source_address=self._source)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(sent)
            size = unpack(">i", self._exactly(4))[0]
            return self._exactly(size)
        except OSError:
            self.close()
            return None

    def _exactly(self, count: int) -> bytes:
        assert self._socket is not None
        out = bytearray()
        while len(out) < count:
            piece = self._socket.recv(count - len(out))
            if not piece:
                raise ConnectionResetError("closed by the other side")
            out += piece
        return bytes(out)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class LogTail:
    """The records that come to a metadata log, from its file: what is answered was written before."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "__cluster_metadata-0" / f"{0:020d}.log"
        self._position = 0
        self.end_offset = 0

    def read(self) -> list[dict[str, Any]]:
        """The records that are new since the last call, in the form of the golden rows."""
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        records: list[dict[str, Any]] = []
        at = 0
        while len(data) - at >= HEADER_SIZE:
            head = read_batch_header(data, at)
            if len(data) - at < head.size_bytes:
                break
            batch = RecordBatch(head, at, data[at : at + head.size_bytes])
            records += [_shown(record, is_control=head.is_control) for record in batch.records()]
            self.end_offset = head.last_offset + 1
            at += head.size_bytes
        self._position += at
        return records


def _shown(record: Any, *, is_control: bool) -> dict[str, Any]:
    if is_control:
        control = read_control_record(record.key, record.value)
        return {"type": control.type_name, "version": control.version, "data": None, "control": True}
    read = read_metadata_record(record.value)
    assert read.message is not None
    return {"type": read.type_name, "version": read.version, "data": read.message.to_json_value(read.body, read.version)}


def read_answer(api: str, version: int, answered: bytes) -> Any:
    """The JSON form of the frame that answers a request; an ApiVersions version that is not known is answered as version 0."""
    kind = response_type(message_type("request", f"{api}Request").key)
    start = 5 if kind.flexible(version) and api != "ApiVersions" else 4
    if api == "ApiVersions" and answered[4:6] == b"\0\x23":
        version = 0
    return kind.to_json_value(kind.read(answered[start:], version), version)
