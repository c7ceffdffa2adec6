"""Prints keys, payloads and control records as kafka-dump-log of 4.4.0 does, and the parts of lines that all magics share.

An error inside a decoder never ends the run; its message is printed in place of the payload. A control record is decoded with the layout
of version 0 whatever version it has, its own version is printed, and bytes left over are ignored.
Source: DumpLogSegments.ClusterMetadataLogMessageParser and DecoderMessageParser, ControlRecordUtils, EndTransactionMarker, and the classes
org.apache.kafka.tools.api.{String,Default,Integer,Long}Decoder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from struct import Struct
from typing import Any, Protocol, assert_never
from zlib import crc32

from metashell.codec.batch_writer import (
    ABORT,
    COMMIT,
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION_RECORD,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    control_message,
    control_type,
    value_layout,
)
from metashell.codec.batches import CODEC_MASK, BatchHeader
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    KIP631_REFUSED,
    RECORD_TYPE_NAMES,
    FrameError,
    kafka_error,
    read_frame,
    refuse_newer_structs,
    unknown_type_error,
)
from metashell.codec.primitives import CODEC_NAMES, kafka_text
from metashell.codec.redaction import REDACTED, json_writer, shown_bytes
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import TrailingBytesError
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile
from metashell.inspect.dump.options import DumpOptions
from metashell.inspect.dump.writer import Halt, Made, ValueText, ValueTexts, Writer

_RETIRED_TYPES = frozenset((6,))
"""Record types that 3.3 knows and 4.4.0 does not: AccessControlRecord."""
_READABLE_TYPES = METADATA_TYPES.keys() - _RETIRED_TYPES
_ONE_BYTE_MAX = 127


def payload_start(type_id: int, version: int) -> str:
    """The text of a payload before the record's fields."""
    return f'{{"type":"{RECORD_TYPE_NAMES[type_id]}","version":{version},"data":'


def payload_texts(prefix: str, show_secrets: bool) -> ValueTexts:
    """The texts with which the tight loop prints metadata records, by frame version, type and version (one byte each)."""

    def make(start: bytes) -> tuple[ValueText | None, str]:
        if len(start) < 3 or start[0] != FRAME_VERSION or start[1] not in _READABLE_TYPES or start[2] > _ONE_BYTE_MAX:
            raise DecodeError("not a usual metadata record")
        message = message_type("metadata", METADATA_TYPES[start[1]])
        if start[2] > message.versions[1]:
            raise DecodeError("a version that is not known")
        return json_writer(message, start[2], show_secrets=show_secrets), prefix + payload_start(start[1], start[2])

    return Made(make)


class Payloads(Protocol):
    """Makes the texts of a record's key and value, None for one that is not printed."""

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        """The texts of a record's key and payload. Errors: DecodeError where Kafka exits with a stack trace."""
        ...


class MetadataPayloads:
    """The texts of metadata records; they have no keys."""

    def __init__(self, show_secrets: bool) -> None:
        self.show_secrets = show_secrets

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        return None, metadata_payload(offset, value, self.show_secrets)


class SparingPayloads:
    """Wraps a decoder that reads any bytes, and hides bytes that could be a metadata record with secrets."""

    def __init__(self, payloads: Payloads, file: OpenFile) -> None:
        self.payloads = payloads
        self.file = file
        self.is_user_data: bool | None = None

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        if self.is_user_data is None:
            from metashell.inspect.dump.inputs import holds_user_data

            self.is_user_data = holds_user_data(self.file, self.file.name, key, value)
        hides_key, hides_value = self._hides(key), self._hides(value)
        key_text, text = self.payloads.parse(offset, None if hides_key else key, None if hides_value else value)
        return REDACTED if hides_key else key_text, REDACTED if hides_value else text

    def _hides(self, raw: bytes | None) -> bool:
        return raw is not None and shown_bytes(raw, is_user_data=bool(self.is_user_data)) is None


def shows_secrets(options: DumpOptions) -> bool:
    """Return whether secrets are printed: always in Kafka's voice, under our own name only with --show-secrets."""
    return options.show_secrets or options.voice == "kafka"


def payloads_of(options: DumpOptions, file: OpenFile | None = None) -> Payloads:
    """The decoder of a file that the command line names. Errors: DecodeError for an unknown class."""
    match options.decoder:
        case "metadata":
            return MetadataPayloads(shows_secrets(options))
        case "offsets" | "transactions" | "share" as log:
            from metashell.inspect.dump.kafka_topics import CoordinatorPayloads

            return CoordinatorPayloads(log)
        case "remote_log":
            from metashell.inspect.dump.kafka_topics import RemoteLogPayloads

            return RemoteLogPayloads()
        case "classes":
            classes = ClassPayloads(options.key_decoder_class, options.value_decoder_class)
            if file is None or shows_secrets(options):
                return classes
            return SparingPayloads(classes, file)
        case decoder:
            assert_never(decoder)


def metadata_payload(offset: int, value: bytes | None, show_secrets: bool) -> str:
    """The payload of a metadata record, or the error that is printed in its place."""
    try:
        return _metadata_text(value or b"", show_secrets)
    except FrameError as error:
        return f"Error at {offset}, skipping. {error}"


def _metadata_text(value: bytes, show_secrets: bool) -> str:
    if value.startswith(b"\0"):
        raise FrameError(KIP631_REFUSED)
    frame = read_frame(value, 0, len(value))
    if frame.frame_version != FRAME_VERSION:
        raise FrameError(KIP631_REFUSED)
    if frame.type_id not in _READABLE_TYPES:
        raise FrameError(unknown_type_error(frame.type_id))
    message = message_type("metadata", METADATA_TYPES[frame.type_id])
    try:
        if frame.version > message.versions[1]:
            refuse_newer_structs(message, frame.version, message.read(value, frame.version, frame.body_start))
        text = json_writer(message, frame.version, show_secrets=show_secrets)(value, frame.body_start, len(value))
    except DecodeError as error:
        raise FrameError(kafka_error(error, frame.type_id)) from error
    return f"{payload_start(frame.type_id, frame.version)}{text}}}"


_WORDS = {
    LEADER_CHANGE: "LeaderChange:",
    SNAPSHOT_HEADER: "SnapshotHeader",
    SNAPSHOT_FOOTER: "SnapshotFooter",
    KRAFT_VERSION_RECORD: "KRaftVersion",
    KRAFT_VOTERS: "KRaftVoters",
}
_MARKER_SIZE = 6


def control_text(key: bytes | None, value: bytes | None) -> str:
    """The part of a record's line that describes a control record, with the blank before it.

    Errors: DecodeError where Kafka exits with a stack trace.
    """
    type = control_type(key)
    if type in (ABORT, COMMIT):
        return f" endTxnMarker: {CONTROL_TYPE_NAMES[type]} coordinatorEpoch: {_coordinator_epoch(value)}"
    word = _WORDS.get(type)
    message = control_message(type)
    if word is None or message is None:
        return f" controlType: UNKNOWN({type})"
    body = _read_as_version_0(message, value)
    return f" {word} {message.object_json(body, value_layout(message, body.version))}"


def _read_as_version_0(message: MessageType, value: bytes | None) -> Any:
    if value is None:
        raise DecodeError("control record has no value")
    try:
        return message.read(value, 0)
    except TrailingBytesError as error:
        return message.read(value, 0, 0, len(value) - error.left_over)


def _coordinator_epoch(value: bytes | None) -> int:
    size = -1 if value is None else len(value)
    if value is None or size < _MARKER_SIZE:
        raise DecodeError(f"Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only {size}")
    version = int.from_bytes(value[:2], "big", signed=True)
    if version < 0:
        raise DecodeError(f"Invalid version found for end transaction marker: {version}. May indicate data corruption")
    return int.from_bytes(value[2:_MARKER_SIZE], "big", signed=True)


class KafkaLines(Writer):
    """Writes Kafka's lines for one file, whose name without its folder is `name`. `is_control` is that of the current batch."""

    def __init__(self, options: DumpOptions, file: OpenFile, path: str, name: str) -> None:
        super().__init__()
        self.options = options
        self.file = file
        self.path = path
        self.name = name
        self.iterates_deep = options.iterates_deep
        self.is_control = False
        self.payloads = payloads_of(options, file)

    def second_half(self, header: BatchHeader, position: int, is_valid: bool) -> None:
        """Write the rest of a batch line, which is the same for all magics. Raises Halt for an unknown codec."""
        if not is_valid:
            self.findings.fault(position, f"offset {header.base_offset}, position {position}: the CRC is not {header.crc:#x}")
        codec_id = header.attributes & CODEC_MASK
        if codec_id >= len(CODEC_NAMES):
            raise Halt(f"{self.path}: position {position}: Unknown compression type id: {codec_id}")
        self.lines.append(
            f" position: {position} {header.timestamp_type}: {header.max_timestamp} size: {header.size_bytes} "
            f"magic: {header.magic} compresscodec: {CODEC_NAMES[codec_id]} crc: {header.crc} "
            f"isvalid: {'true' if is_valid else 'false'}\n"
        )

    def contents(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Write a record's key and payload, if they are wanted, and end its line."""
        if self.options.prints_contents and not self.is_control:
            self.payload(*self.payloads.parse(offset, key, value))
        else:
            self.lines.append("\n")

    def payload(self, key: str | None, payload: str | None) -> None:
        """Write the texts of a key and a payload, and end the line."""
        before = "| " if self.options.skip_record_metadata else " "
        if key is not None:
            self.lines.append(f"{before}key: {key}")
            before = " "
        if payload is not None:
            self.lines.append(f"{before}payload: {payload}")
        self.lines.append("\n")


_JAVA_NUMBER = re.compile(r"[+-]?\d+")
INT64_LIMIT = 1 << 63


def java_path(path: str) -> str:
    """A path as java.io.File prints it: without double and trailing slashes."""
    return re.sub("/+", "/", path).rstrip("/") or path[:1]


def java_absolute(path: str) -> str:
    """A path as java.io.File makes it absolute: joined to the working directory; `.` and `..` stay."""
    return path if path.startswith("/") else f"{os.getcwd().rstrip('/')}/{path}"


def java_long(path: str, text: str, bits: int = 64) -> int:
    """The number in a part of a file's name. Raises Halt where Java throws."""
    if _JAVA_NUMBER.fullmatch(text) is None or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise Halt(f'{path}: NumberFormatException: For input string: "{text}"')
    return int(text)


def int64(value: int) -> int:
    """Wrap a number as Java's long does."""
    return (value + INT64_LIMIT) % (2 * INT64_LIMIT) - INT64_LIMIT


def int32(value: int) -> int:
    """Wrap a number as Java's int does."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def java_sequence(sequence: int, increment: int) -> int:
    """The sequence number some records later. Source: DefaultRecordBatch.incrementSequence."""
    if sequence > int32(0x7FFFFFFF - increment):
        return int32(increment - (0x7FFFFFFF - sequence) - 1)
    return int32(sequence + increment)


def java_sequence_before(sequence: int, decrement: int) -> int:
    """The sequence number some records earlier. Source: DefaultRecordBatch.decrementSequence."""
    if sequence < decrement:
        return int32(0x7FFFFFFF - int32(decrement - sequence) + 1)
    return int32(sequence - decrement)


CLASS_PREFIX = "org.apache.kafka.tools.api."
_INT32 = Struct(">i")
_INT64 = Struct(">q")


class ClassPayloads:
    """Decodes keys and values with Kafka's classes; an empty or missing name means StringDecoder. Errors: DecodeError for another."""

    def __init__(self, key_class: str | None, value_class: str | None) -> None:
        # Kafka loads the value's class first, so with two wrong names it reports that one.
        self._value = class_decoder(value_class)
        self._key = class_decoder(key_class)

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        return (None if key is None else self._key(key)), (None if value is None else self._value(value))


def class_decoder(name: str | None) -> Callable[[bytes], str]:
    """The function that decodes bytes as the class of that name does. Errors: DecodeError for a class that is not Kafka's own."""
    if not name:
        return kafka_text
    found = DECODER_CLASSES.get(name.removeprefix(CLASS_PREFIX)) if name.startswith(CLASS_PREFIX) else None
    if found is None:
        raise DecodeError(f"Failed to load decoder class: {name}")
    return found


def _integer(raw: bytes) -> str:
    return str(_number(_INT32, raw))


def _long(raw: bytes) -> str:
    return str(_number(_INT64, raw))


def _number(form: Struct, raw: bytes) -> int:
    if len(raw) < form.size:
        raise DecodeError(f"{len(raw)} byte(s) are no number of {form.size}")
    return int(form.unpack_from(raw)[0])


def _default(raw: bytes) -> str:
    # Java prints the object's identity, a different one in every run; ours is the same for the same bytes.
    return f"[B@{crc32(raw):x}"


DECODER_CLASSES: dict[str, Callable[[bytes], str]] = {
    "StringDecoder": kafka_text,
    "DefaultDecoder": _default,
    "IntegerDecoder": _integer,
    "LongDecoder": _long,
}
