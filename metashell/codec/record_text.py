"""A record as text: its type, version, JSON data and fault. The same for every command and table.

Nothing is dropped: unknown types and bytes that do not decode are hex with a fault. Anything that could hold a secret is redacted before
any text exists, so no filter or search sees it. Records of the metadata log and of the remote log's metadata have frames; those of
coordinators have keys, see `coordinator`.

`java_read_error` gives the text that Kafka's tools print for bytes that do not decode. It reads the message once more, field by field in
the order of Kafka's generated readers, because the text depends on where those stop.
Source: org.apache.kafka.message.MessageDataGenerator; ByteBufferAccessor, ByteUtils."""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

from metashell.codec.batch_writer import read_control_record, value_layout
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    NO_VALUE,
    FrameError,
    metadata_message,
    read_frame,
    record_type_name,
    unknown_type,
    version_fault,
)
from metashell.codec.redaction import JsonText, hex_text, json_writer
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import FieldSchema, PlainReader, snake_case
from metashell.common.errors import DecodeError

SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
DELETE_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


class RecordText(NamedTuple):
    """A record's text. `data` is JSON text, `null` without a value; `fault` says what is wrong, if anything.

    `type_id`, `type_name` and `version` are None if they could not be read. `derived` holds further JSON members that follow from the
    data, each with a comma before it; `frame_version` is 0 for a record of KIP-631.
    """

    type_id: int | None
    type_name: str | None
    version: int | None
    data: str
    fault: str | None = None
    derived: str = ""
    frame_version: int = FRAME_VERSION


class FramedTexts:
    """The texts of records in frames; `log` is `metadata` or `remote_log`."""

    def __init__(self, log: str, *, show_secrets: bool) -> None:
        self.is_remote_log = log == "remote_log"
        self.show_secrets = show_secrets
        self._writers: dict[tuple[str, str, int], JsonText] = {}

    def text(self, value: bytes | None) -> RecordText:
        """The text of a value; never raises for its content."""
        if value is None:
            return RecordText(None, None, None, "null", NO_VALUE)
        try:
            frame = read_frame(value, 0, len(value))
        except FrameError as error:
            return RecordText(None, None, None, hex_text(value, show_secrets=self.show_secrets), str(error))
        type_id, version = frame.type_id, frame.version
        message = self.message(type_id, frame.family)
        name = self.type_name(type_id, frame.family)
        fault = unknown_type(type_id) if message is None else version_fault(message, version)
        derived = ""
        try:
            if message is None:
                raise DecodeError(str(fault))
            data = self.writer(message, version)(value, frame.body_start, len(value))
            if self.is_remote_log:
                derived = f',"decoded":{{"stateName":"{_remote_state(message.read(value, version, frame.body_start))}"}}'
        except DecodeError as error:
            data = hex_text(value, frame.body_start, show_secrets=self.show_secrets)
            fault = str(error) if fault in (None, str(error)) else f"{fault}; {error}"
        return RecordText(type_id, name, version, data, fault, derived, frame.frame_version)

    def usual(self, type_id: int, version: int) -> tuple[str, str | None, JsonText]:
        """The name and fault of all records of a type and version, and the writer of one's data from its body.

        Errors: DecodeError for an unknown type.
        """
        message = self.message(type_id)
        if message is None:
            raise DecodeError(unknown_type(type_id))
        return self.type_name(type_id), version_fault(message, version), self.writer(message, version)

    def message(self, type_id: int, family: str = "metadata") -> MessageType | None:
        """The message of a record type; None for an unknown one."""
        if not self.is_remote_log:
            return metadata_message(type_id, family)
        name = REMOTE_LOG_TYPES.get(type_id)
        return None if name is None else message_type("remote_log", name)

    def type_name(self, type_id: int, family: str = "metadata") -> str:
        """Kafka's upper-case name of a record type, or `UNKNOWN_RECORD_<type>`."""
        return remote_log_type_name(type_id) if self.is_remote_log else record_type_name(type_id, family)

    def writer(self, message: MessageType, version: int) -> JsonText:
        """The writer of a message's data."""
        known = (message.family, message.name, version)
        made = self._writers.get(known)
        if made is None:
            made = self._writers[known] = json_writer(message, version, show_secrets=self.show_secrets)
        return made


def remote_log_type_name(type_id: int) -> str:
    """The upper-case name of a record type of the remote log's metadata, or `UNKNOWN_RECORD_<type>`."""
    name = REMOTE_LOG_TYPES.get(type_id)
    return f"UNKNOWN_RECORD_{type_id}" if name is None else snake_case(name).upper()


def _remote_state(body: Any) -> str:
    state = getattr(body, "remote_log_segment_state", None)
    names = DELETE_STATES if state is None else SEGMENT_STATES
    number = body.remote_partition_delete_state if state is None else state
    return names[number] if 0 <= number < len(names) else "UNKNOWN"


def control_text(key: bytes | None, value: bytes | None, *, show_secrets: bool) -> RecordText:
    """The text of a control record; never raises for its content."""
    try:
        record = read_control_record(key, value)
    except DecodeError as error:
        data = "null" if value is None else hex_text(value, show_secrets=show_secrets)
        return RecordText(None, None, None, data, str(error))
    message = record.message
    if message is None:
        data = hex_text(record.body, show_secrets=show_secrets)
    else:
        data = message.object_json(record.body, value_layout(message, record.version))
    return RecordText(record.type, record.type_name, record.version, data, record.fault)


NO_MESSAGE_TEXT = "null"
"""Java's text for a BufferUnderflowException, which has no message."""
_STRING_SIZE_MAX = 0x7FFF
_VARINT_SHIFT_MAX = 28


def java_read_error(message: MessageType, buf: bytes, version: int, start: int, end: int) -> str:
    """The message of the exception that Kafka's reader raises for `buf[start:end]`, which does not decode."""
    try:
        _JavaReader(message.schema, version, message.structs).read(buf, start, end)
    except DecodeError as error:
        return str(error)
    return NO_MESSAGE_TEXT


class _JavaReader(PlainReader):
    """Reads like the plain reader, and fails in Java's words."""

    def _fail(self, reason: str) -> DecodeError:
        return DecodeError(reason, offset=self.pos)

    def _take(self, size: int) -> bytes:
        if size > self.end - self.pos:
            raise self._fail(NO_MESSAGE_TEXT)
        return super()._take(size)

    def _int(self, form: Struct) -> int:
        return int(form.unpack(self._take(form.size))[0])

    def _uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value & 0xFFFFFFFF
            shift += 7
            if shift > _VARINT_SHIFT_MAX:
                shown = value & 0xFFFFFFFF
                raise self._fail(f"Varint is too long, the most significant bit in the 5th byte is set, converted value: {shown:x}")

    def _array(self, field: FieldSchema) -> tuple[Any, ...] | None:
        at = self.pos
        count = self._uvarint() - 1 if self.flexible else self._int(Struct(">i"))
        if count < 0 and self.version not in field.nullable:
            raise self._fail(f"non-nullable field {field.json_name} was serialized as null")
        left = self.end - self.pos
        if count > left:
            raise self._fail(f"Tried to allocate a collection of size {count}, but there are only {left} bytes remaining.")
        self.pos = at
        return super()._array(field)

    def _primitive(self, field: FieldSchema, element: bool = False) -> Any:
        if field.type not in ("string", "bytes"):
            return super()._primitive(field, element)
        at = self.pos
        size = self._size(field)
        name = f"{field.json_name} element" if element else field.json_name
        if size < 0 and (element or self.version not in field.nullable):
            raise self._fail(f"non-nullable field {name} was serialized as null")
        if field.type == "string" and size > _STRING_SIZE_MAX:
            raise self._fail(f"string field {name} had invalid length {size}")
        left = self.end - self.pos
        if size > left:
            raise self._fail(f"Error reading byte array of {size} byte(s): only {left} byte(s) available")
        self.pos = at
        return super()._primitive(field, element)
