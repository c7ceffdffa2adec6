"""A real combined node of Kafka whose group coordinator is asked request by request, with what it wrote for each."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from struct import unpack
from typing import Any

from metashell.codec.batches import HEADER_SIZE, RecordBatch, read_batch_header
from metashell.codec.registry import MessageType, message_type
from metashell.groups.log import read_record
from metashell.net.frames import decode_response, encode_request
from tests.groups.golden import record_row
from tests.java import KAFKA, kafka_command
from tests.quorum.controller.json_objects import from_json
from tests.running import wait_until
from tools.interop.nodes import Cluster, broker_settings, cluster, format_directories, free_ports, write_config

Json = dict[str, Any]

_ANSWER_LIMIT_S = 120.0
_PARKED_S = 0.12
"""A join or sync that is not answered for so long waits for others."""
_QUIET_S = 0.004
_PARKING = ("JoinGroup", "SyncGroup")
_NOBODY = {"groupId": "~barrier", "generationId": 1, "memberId": "nobody"}


class Connection:
    """One client's connection. Shape: `open` has the requests that were not answered, oldest first."""

    def __init__(self, port: int, client_id: str) -> None:
        self.client_id = client_id
        self.open: list[tuple[int, MessageType, int]] = []
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_LIMIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, number: int, api: str, version: int, fields: Json) -> None:
        message = message_type("request", f"{api}Request")
        self._socket.sendall(encode_request(from_json("request", message.name, fields), version, number, self.client_id))
        self.open.append((number, message_type("response", f"{api}Response"), version))

    def receive(self) -> tuple[int, Json]:
        """The number of a request and its answer, which is there or on its way."""
        (size,) = unpack(">i", self._exactly(4))
        number, kind, version = self.open.pop(0)
        found, body = decode_response(self._exactly(size), kind.key or 0, version)
        assert found == number
        return number, kind.to_json_value(body, version)

    def ask(self, api: str, version: int, fields: Json) -> Json:
        self.send(1 << 30, api, version, fields)
        return self.receive()[1]

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            assert more, "the node closed the connection"
            data += more
        return data


class OffsetsLog:
    """The log of the one partition of `__consumer_offsets`, read from disk as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def read(self) -> list[Json]:
        """Records that are new, in the form of the golden rows."""
        with open(self._path, "rb") as file:
            file.seek(self._position)
            data = file.read()
        rows: list[Json] = []
        at = 0
        while len(data) - at >= HEADER_SIZE:
            header = read_batch_header(data, at)
            if len(data) - at < header.size_bytes:
                break
            batch = RecordBatch(header, at, data[at : at + header.size_bytes])
            assert not header.is_control, "no transactions here"
            for record in batch.records():
                read = read_record(record.key or b"", record.value)
                assert read is not None
                rows.append({"batch": header.base_offset, **record_row(read)})
            at += header.size_bytes
        self._position += at
        return rows


class RealGroups:
    """The node. Every step of a conversation is over before the next one begins."""

    def __init__(self, port: int, data: Path) -> None:
        self.port = port
        self.data = data
        self.log = OffsetsLog(data / "__consumer_offsets-0" / f"{0:020}.log")
        self._barrier = Connection(port, "~barrier")

    def topic(self, name: str, partitions: int) -> str:
        """Make a topic, and wait until its metadata are there; its id."""
        topic = {"name": name, "numPartitions": partitions, "replicationFactor": 1, "assignments": [], "configs": []}
        fields = {"topics": [topic], "timeoutMs": 10000, "validateOnly": False}
        made = self._barrier.ask("CreateTopics", 7, fields)["topics"][0]
        assert made["errorCode"] == 0, made
        wait_until(lambda: not self._error_of(name))
        self._wait_until_assigned(name)
        return str(made["topicId"])

    def delete_topic(self, name: str) -> None:
        """Delete a topic, and wait until its metadata are gone."""
        named = {"name": name, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}
        self._barrier.ask("DeleteTopics", 6, {"topics": [named], "timeoutMs": 10000})
        wait_until(lambda: self._error_of(name))

    def _error_of(self, topic: str) -> int:
        """The error code of a topic's metadata, 0 once they are there."""
        asked = {"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "name": topic}], "allowAutoTopicCreation": False}
        return int(self._barrier.ask("Metadata", 12, asked)["topics"][0]["errorCode"])

    def _wait_until_assigned(self, topic: str) -> None:
        """The coordinator hears of a topic later than others: wait until it assigns it to a group of its own."""
        member: Json = {"groupId": f"~{topic}", "memberId": "probe"}
        first: Json = {"memberEpoch": 0, "rebalanceTimeoutMs": 10000, "subscribedTopicNames": [topic], "topicPartitions": []}
        wait_until(lambda: self._barrier.ask("ConsumerGroupHeartbeat", 1, {**member, **first})["assignment"]["topicPartitions"])
        self._barrier.ask("ConsumerGroupHeartbeat", 1, {**member, "memberEpoch": -1})

    def close(self) -> None:
        self._barrier.close()

    def barrier(self) -> None:
        """Return once everything that was sent before has been decided."""
        self._barrier.ask("Heartbeat", 4, _NOBODY)


class Talk:
    """One conversation. Shape: `row` is it so far, as the golden rows are."""

    def __init__(self, node: RealGroups, name: str, topics: dict[str, tuple[str, int]]) -> None:
        self.node = node
        self.row: Json = {"scenario": name, "profile": "base", "tags": [], "given": {}, "steps": []}
        self.connections: dict[str, Connection] = {}
        self.answers: dict[int, Json] = {}
        self.number = 0
        for topic, (topic_id, partitions) in topics.items():
            self._note_topic(topic, topic_id, partitions)

    def _note_topic(self, name: str, topic_id: str, partitions: int) -> None:
        """A step that makes a topic which is there already, for the player to know of it."""
        self.number += 1
        topics = [{"name": name, "numPartitions": partitions}]
        reply = {"topics": [{"name": name, "topicId": topic_id, "errorCode": 0}]}
        send = {"n": self.number, "who": "~admin", "api": "CreateTopics", "version": 7, "json": {"topics": topics}}
        self.row["steps"].append(
            {**self._step(), "send": send, "replies": [{"to": self.number, "at": 0, "json": reply}], "records": [], "waiting": []}
        )

    def _step(self) -> Json:
        number = len(self.row["steps"]) + 1
        return {"step": number, "at": number * 50}

    def is_waiting(self, who: str) -> bool:
        return who in self.connections and bool(self.connections[who].open)

    def send(self, who: str, api: str, version: int, fields: Json) -> Json | None:
        """Send, and see what happens; the answer, None while it waits."""
        self.number += 1
        number = self.number
        connection = self.connections.get(who)
        if connection is None:
            connection = self.connections[who] = Connection(self.node.port, who)
        kind = message_type("request", f"{api}Request")
        shown = kind.to_json_value(from_json("request", kind.name, fields), version)
        step = {**self._step(), "send": {"n": number, "who": who, "api": api, "version": version, "json": shown}}
        connection.send(number, api, version, fields)
        replies = self._settle(number, _PARKED_S if api in _PARKING else _ANSWER_LIMIT_S)
        step["replies"] = [{"to": to, "at": step["at"], "json": self.answers[to]} for to in sorted(replies)]
        step["records"] = [record for record in self.node.log.read() if _group_of(record) == self.row["scenario"]]
        step["waiting"] = sorted(number for one in self.connections.values() for number, _, _ in one.open)
        self.row["steps"].append(step)
        return self.answers.get(number)

    def _settle(self, number: int, limit_s: float) -> list[int]:
        """Take all answers until the own one is there, or does not come, and nothing else comes either."""
        found = self._take(lambda: number in self.answers, limit_s)
        while True:
            self.node.barrier()
            more = self._take(lambda: False, _QUIET_S)
            if not more:
                return found
            found += more

    def _take(self, is_enough: Any, limit_s: float) -> list[int]:
        found: list[int] = []
        end = time.monotonic() + limit_s
        while not is_enough() and (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([one for one in self.connections.values() if one.open], [], [], left)
            for connection in ready:
                to, answer = connection.receive()
                self.answers[to] = answer
                found.append(to)
        return found

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()


def _group_of(record: Json) -> str:
    """Sessions of earlier conversations end meanwhile."""
    return str(record["key"].get("groupId", record["key"].get("group")))


@contextmanager
def real_groups(folder: Path) -> Iterator[RealGroups]:
    """Start a node; it has ended when the block does."""
    with cluster(partial(kafka_command, KAFKA), folder) as place:
        port, controller = free_ports(2)
        data = folder / "data"
        config = write_config(folder / "node.properties", _settings(port, controller, data))
        format_directories(config)
        place.start(config)
        _wait_for_coordinator(place, port)
        with contextlib.closing(RealGroups(port, data)) as node:
            yield node


def _wait_for_coordinator(place: Cluster, port: int) -> None:
    def is_there() -> bool:
        with contextlib.suppress(OSError, AssertionError), contextlib.closing(Connection(port, "~start")) as connection:
            found = connection.ask("FindCoordinator", 4, {"keyType": 0, "coordinatorKeys": ["~barrier"]})
            beat = connection.ask("Heartbeat", 4, _NOBODY)
            return found["coordinators"][0]["errorCode"] == 0 and beat["errorCode"] == 25
        return False

    place.wait_until("the group coordinator answers", is_there)


def _settings(port: int, controller: int, data: Path) -> Json:
    return {
        **broker_settings(1, port, data, {"controller.quorum.voters": f"1@localhost:{controller}"}),
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}",
        "broker.rack": "rack-1",
        "auto.create.topics.enable": "false",
        "group.coordinator.threads": 1,
        "group.coordinator.append.linger.ms": 0,
        "group.min.session.timeout.ms": 500,
        "group.max.session.timeout.ms": 60000,
        "group.streams.initial.rebalance.delay.ms": 0,
        "group.streams.num.standby.replicas": 1,
        **{f"group.{kind}.assignment.interval.ms": 0 for kind in ("consumer", "share", "streams")},
        **{f"group.{kind}.assignor.offload.enable": "false" for kind in ("consumer", "share", "streams")},
    }
