"""Keys and payloads of metadata records as dump-log of 4.4.0 prints them, and the choice among all decoders.

An error inside a decoder never ends the run; its message is printed in place of the payload.
Source: DumpLogSegments.ClusterMetadataLogMessageParser; tools.md 1.11.
"""

from __future__ import annotations

from typing import Protocol, assert_never

from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.frame import (
    FRAME_VERSION,
    KIP631_REFUSED,
    RECORD_TYPE_NAMES,
    FrameError,
    kafka_error,
    read_frame,
    refuse_newer_structs,
    unknown_type_error,
)
from metashell.codec.redaction import REDACTED, json_writer, shown_bytes
from metashell.codec.registry import message_type
from metashell.dump.fast_loop import Made, ValueText, ValueTexts
from metashell.dump.options import DumpOptions
from metashell.errors import DecodeError
from metashell.log.files import OpenFile

_RETIRED_TYPES = frozenset((6,))
"""Types that 3.3 knew and 4.4.0 does not: AccessControlRecord."""
_READABLE_TYPES = METADATA_TYPES.keys() - _RETIRED_TYPES
_ONE_BYTE_MAX = 127


def payload_start(type_id: int, version: int) -> str:
    """The payload's text up to the record's fields."""
    return f'{{"type":"{RECORD_TYPE_NAMES[type_id]}","version":{version},"data":'


def payload_texts(prefix: str, show_secrets: bool) -> ValueTexts:
    """What the tight loop needs to print a metadata record, by frame version, type and version in a byte each."""

    def make(start: bytes) -> tuple[ValueText | None, str]:
        if len(start) < 3 or start[0] != FRAME_VERSION or start[1] not in _READABLE_TYPES or start[2] > _ONE_BYTE_MAX:
            raise DecodeError("not a usual metadata record")
        message = message_type("metadata", METADATA_TYPES[start[1]])
        if start[2] > message.versions[1]:
            raise DecodeError("a version that is not known")
        return json_writer(message, start[2], show_secrets=show_secrets), prefix + payload_start(start[1], start[2])

    return Made(make)


class Payloads(Protocol):
    """From a record's key and value to their texts, None for what is not printed."""

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        """The texts of a record's key and payload. Errors: DecodeError where Kafka ends with a trace."""
        ...


class MetadataPayloads:
    """The texts of metadata records; they have no keys."""

    def __init__(self, show_secrets: bool) -> None:
        self.show_secrets = show_secrets

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        return None, metadata_payload(offset, value, self.show_secrets)


class SparingPayloads:
    """The texts of decoders that read any bytes, but for what could be a record with secrets."""

    def __init__(self, payloads: Payloads, file: OpenFile) -> None:
        self.payloads = payloads
        self.file = file
        self.is_user_data: bool | None = None

    def parse(self, offset: int, key: bytes | None, value: bytes | None) -> tuple[str | None, str | None]:
        if self.is_user_data is None:
            from metashell.dump.user_data import holds_user_data

            self.is_user_data = holds_user_data(self.file, self.file.name, key, value)
        hides_key, hides_value = self._hides(key), self._hides(value)
        key_text, text = self.payloads.parse(offset, None if hides_key else key, None if hides_value else value)
        return REDACTED if hides_key else key_text, REDACTED if hides_value else text

    def _hides(self, raw: bytes | None) -> bool:
        return raw is not None and shown_bytes(raw, is_user_data=bool(self.is_user_data)) is None


def shows_secrets(options: DumpOptions) -> bool:
    """Whether secrets are printed: always in Kafka's voice, under our own name when they are asked for."""
    return options.show_secrets or options.voice == "kafka"


def payloads_of(options: DumpOptions, file: OpenFile | None = None) -> Payloads:
    """The decoder that a command line asks for, for a file. Errors: DecodeError for a class that is not there."""
    match options.decoder:
        case "metadata":
            return MetadataPayloads(shows_secrets(options))
        case "offsets" | "transactions" | "share" as log:
            from metashell.dump.kafka.coordinator import CoordinatorPayloads

            return CoordinatorPayloads(log)
        case "remote_log":
            from metashell.dump.kafka.remote_log import RemoteLogPayloads

            return RemoteLogPayloads()
        case "classes":
            from metashell.dump.kafka.classes import ClassPayloads

            classes = ClassPayloads(options.key_decoder_class, options.value_decoder_class)
            if file is None or shows_secrets(options):
                return classes
            return SparingPayloads(classes, file)
        case decoder:
            assert_never(decoder)


def metadata_payload(offset: int, value: bytes | None, show_secrets: bool) -> str:
    """The payload of a metadata record, or what is printed in its place."""
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
