"""The body of a record as the own voice shows it: its type, its version, JSON text of its data, and what is odd.

Nothing that was read is dropped: what is not known, or does not decode, is shown as hex with a `fault`, unless it could hold a
secret. Secrets are replaced here, before any text exists, so that filters and searches never see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from metashell.codec.control import read_control_record, value_layout
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.frame import (
    FRAME_VERSION,
    KIP631_FRAME_VERSION,
    RECORD_TYPE_NAMES,
    FrameError,
    metadata_message,
    read_frame,
    record_type_name,
    version_fault,
)
from metashell.codec.json_forms import bytes_text, string_text
from metashell.codec.jsontext import object_json
from metashell.codec.redaction import hex_text, json_writer
from metashell.codec.registry import MessageType, message_type
from metashell.dump.fast_loop import ValueText
from metashell.dump.own.filters import Filters
from metashell.errors import DecodeError, UsageError

_ONE_BYTE_MAX = 127


class Body(NamedTuple):
    """A decoded body. `data` is JSON text; `fault` says what is odd; `frame_version` is told where it is not 1."""

    type_id: int
    type_name: str | None
    version: int | None
    data: str
    fault: str | None = None
    frame_version: int = FRAME_VERSION


def metadata_body(value: bytes | None, show_secrets: bool) -> Body:
    """The body of a metadata record; never raises for what a value holds."""
    if value is None:
        return Body(-1, None, None, "null", "the record has no value")
    try:
        frame = read_frame(value, 0, len(value))
    except FrameError as error:
        return Body(-1, None, None, hex_text(value, show_secrets=show_secrets), str(error))
    family = "kip631" if frame.frame_version == KIP631_FRAME_VERSION else "metadata"
    message = metadata_message(frame.type_id, family)
    name = record_type_name(frame.type_id, family)
    data: str
    fault: str | None
    if message is None:
        data, fault = hex_text(value, frame.body_start, show_secrets=show_secrets), f"record type {frame.type_id} is not known"
    else:
        data, fault = _message_text(message, frame.version, value, frame.body_start, show_secrets)
    return Body(frame.type_id, name, frame.version, data, fault, frame.frame_version)


def _message_text(message: MessageType, version: int, value: bytes, start: int, show_secrets: bool) -> tuple[str, str | None]:
    """The JSON text of a message, or its bytes as hex, and what is odd about it."""
    fault = version_fault(message, version)
    try:
        return json_writer(message, version, show_secrets=show_secrets)(value, start, len(value)), fault
    except DecodeError as error:
        return hex_text(value, start, show_secrets=show_secrets), str(error) if fault is None else f"{fault}; {error}"


def version_is_known(message: MessageType, version: int) -> bool:
    low, high = message.versions
    return low <= version <= high


def control_body(key: bytes | None, value: bytes | None, show_secrets: bool) -> Body:
    """The body of a control record; never raises for what it holds."""
    try:
        record = read_control_record(key, value)
    except DecodeError as error:
        return Body(-1, None, None, "null" if value is None else hex_text(value, show_secrets=show_secrets), str(error))
    message = record.message
    if message is None:
        return Body(record.type, record.type_name, record.version, hex_text(record.body, show_secrets=show_secrets), record.fault)
    text = object_json(message, record.body, value_layout(message, record.version))
    return Body(record.type, record.type_name, record.version, text, record.fault)


class OwnTexts(dict[bytes, tuple[ValueText | None, str]]):
    """What the tight loop needs to write a metadata record, by frame version, type and version in a byte each.

    Records of types that are not wanted are left out without being decoded.
    """

    def __init__(self, filters: Filters, show_secrets: bool) -> None:
        super().__init__()
        self.filters = filters
        self.show_secrets = show_secrets

    def __missing__(self, start: bytes) -> tuple[ValueText | None, str]:
        if len(start) < 3 or start[0] != FRAME_VERSION or start[1] > _ONE_BYTE_MAX or start[2] > _ONE_BYTE_MAX:
            raise DecodeError("not a usual metadata record")
        type_id, version = start[1], start[2]
        made: tuple[ValueText | None, str]
        if not self.filters.wants_type(type_id):
            made = (None, "")
        else:
            name = METADATA_TYPES.get(type_id)
            if name is None or not version_is_known(message_type("metadata", name), version):
                raise DecodeError("a metadata record with a fault")
            writer = json_writer(message_type("metadata", name), version, show_secrets=self.show_secrets)
            made = (writer, f'"type":"{RECORD_TYPE_NAMES[type_id]}","version":{version},"data":')
        self[start] = made
        return made


def bytes_member(name: str, raw: bytes | None) -> str:
    """A JSON member for bytes of unknown meaning: text where they are UTF-8, else base64 under `NAME_base64`."""
    if raw is None:
        return f'"{name}":null'
    try:
        return f'"{name}":{string_text(raw.decode())}'
    except UnicodeDecodeError:
        from binascii import b2a_base64

        return f'"{name}_base64":"{b2a_base64(raw, newline=False).decode("ascii")}"'


Member = Callable[[bytes | None], tuple[str, str | None]]
"""From bytes to their JSON member, and what is odd about them."""


def class_member(name: str, class_name: str | None) -> Member:
    """What shows a key or a value as one of Kafka's decoder classes would read it; text where no class is named.

    Errors: UsageError for another class.
    """
    kind = (class_name or "String").removeprefix("org.apache.kafka.tools.api.").removesuffix("Decoder")
    if kind == "String":
        return lambda raw: (bytes_member(name, raw), None)
    if kind == "Default":
        return lambda raw: (f'"{name}":null' if raw is None else f'"{name}_base64":{bytes_text(raw)}', None)
    size = _NUMBER_SIZES.get(kind)
    if size is None:
        raise UsageError(f"{class_name}: is no decoder of Kafka's own: String, Integer, Long, Default", class_name or "")

    def number(raw: bytes | None) -> tuple[str, str | None]:
        if raw is None or len(raw) == size:
            return f'"{name}":{"null" if raw is None else int.from_bytes(raw, "big", signed=True)}', None
        return bytes_member(name, raw), f"the {name} of {len(raw)} byte(s) is no {kind}"

    return number


_NUMBER_SIZES = {"Integer": 4, "Long": 8}
