"""Decodes records to the members of a JSON line: one decoder for each kind of log, and the texts for the tight loops.

A decoder returns `Members` for any key and value, and never raises. `codec/record_text.py` and `codec/coordinator.py` make the text of
Kafka's own records. Bytes that no decoder reads are shown as text or base64, unless they could hold a secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from metashell.codec.coordinator import PREFIX_SIZE, CoordinatorTexts, int16_at
from metashell.codec.java import bytes_text, string_text
from metashell.codec.metadata_records import FRAME_VERSION
from metashell.codec.record_text import FramedTexts, RecordText, control_text
from metashell.codec.redaction import REDACTED, shown_bytes
from metashell.common.errors import DecodeError, UsageError
from metashell.disk.files import OpenFile
from metashell.inspect.dump.inputs import begins_as_metadata, holds_user_data
from metashell.inspect.dump.options import DumpOptions
from metashell.inspect.dump.writer import KeyTexts, Made, ValueText, ValueTexts, Versions

Headers = tuple[tuple[str, bytes | None], ...]
WantsType = Callable[[int], bool]
_ONE_BYTE_MAX = 127


class Members(NamedTuple):
    """`text` are the members; `key` and `value` are the texts that patterns see, None if missing.

    `type_id` is None if there is no type, or if it cannot be read.
    """

    text: str
    type_id: int | None
    key: str | None
    value: str | None
    fault: str | None = None


class Decoder(Protocol):
    """Decodes the records of one kind of log. `shows_headers` says whether it needs the headers of records."""

    shows_headers: bool

    def members(self, key: bytes | None, value: bytes | None, headers: Headers) -> Members: ...


class FramedDecoder:
    """Decodes framed records: those of the metadata log and of the remote log metadata."""

    shows_headers = False

    def __init__(self, texts: FramedTexts) -> None:
        self.texts = texts

    def members(self, key: bytes | None, value: bytes | None, headers: Headers) -> Members:
        shown = self.texts.text(value)
        text = _framed_members(shown)
        if key is None:
            return Members(text, shown.type_id, None, shown.data, shown.fault)
        is_shown = _is_shown(key, self.texts.show_secrets)
        text = f"{text},{bytes_member('key', key, is_shown=is_shown)}"
        return Members(text, shown.type_id, _text(key, is_shown), shown.data, shown.fault)


def control_members(key: bytes | None, value: bytes | None, *, show_secrets: bool) -> Members:
    """The members of a control record."""
    shown = control_text(key, value, show_secrets=show_secrets)
    return Members(_framed_members(shown), shown.type_id, None, shown.data, shown.fault)


def _framed_members(shown: RecordText) -> str:
    frame = "" if shown.frame_version == FRAME_VERSION else f',"frame_version":{shown.frame_version}'
    name, version = name_text(shown.type_name), number_text(shown.version)
    return f'"type":{name},"version":{version},{_member("data", shown.data)}{shown.derived}{frame}{fault_text(shown.fault)}'


def _member(name: str, text: str) -> str:
    """The member of a decoded object; the text of bytes that do not decode stands in `NAME_hex`, so that each key has one type."""
    return f'"{name}":null,"{name}_hex":{text}' if text.startswith('"') else f'"{name}":{text}'


class ClassDecoder:
    """Decodes records of a log without a decoder: keys and values by Kafka's decoder classes, or only their sizes.

    `is_user_data` is None until the first record is shown.
    """

    shows_headers = True

    def __init__(self, options: DumpOptions, label: str, file: OpenFile) -> None:
        self.show_secrets = options.show_secrets
        self.label = label
        self.file = file
        self.is_user_data: bool | None = None
        self.prints_contents = options.prints_contents
        if self.prints_contents:
            self.is_user_data = False if begins_as_metadata(file) else None
        classes = {"key": options.key_decoder_class, "value": options.value_decoder_class}
        self._shown = [class_member(name, class_name) for name, class_name in classes.items()]
        self._hidden = [_hidden_member(name, class_name) for name, class_name in classes.items()]

    def members(self, key: bytes | None, value: bytes | None, headers: Headers) -> Members:
        if self.is_user_data is None:
            self.is_user_data = holds_user_data(self.file, self.label, key, value)
        text, fault = f'"key_size":{_size(key)},"value_size":{_size(value)}', None
        if self.prints_contents:
            shown = [
                member(raw) if self._is_shown(raw) else (hidden, None)
                for member, hidden, raw in zip(self._shown, self._hidden, (key, value), strict=True)
            ]
            text = ",".join(member for member, _ in shown)
            fault = "; ".join(odd for _, odd in shown if odd is not None) or None
        if headers:
            items = [f'{{"name":{string_text(name)},{bytes_member("value", raw, is_shown=self._is_shown(raw))}}}' for name, raw in headers]
            text = f'{text}{fault_text(fault)},"headers":[{",".join(items)}]'
        else:
            text += fault_text(fault)
        key_text, value_text = (_text(raw, self._is_shown(raw)) for raw in (key, value))
        return Members(text, None, key_text, value_text, fault)

    def _is_shown(self, raw: bytes | None) -> bool:
        return _is_shown(raw, self.show_secrets, bool(self.is_user_data))


def name_text(name: str | None) -> str:
    return "null" if name is None else f'"{name}"'


def number_text(number: int | None) -> str:
    return "null" if number is None else str(number)


def fault_text(fault: str | None) -> str:
    return "" if fault is None else f',"fault":{string_text(fault)}'


def _size(raw: bytes | None) -> int:
    return -1 if raw is None else len(raw)


# ---- bytes of unknown meaning ----------------------------------------------------------------------------------------


def _is_shown(raw: bytes | None, show_secrets: bool, is_user_data: bool = False) -> bool:
    """Return whether bytes without a decoder may be shown."""
    return raw is None or shown_bytes(raw, show_secrets=show_secrets, is_user_data=is_user_data) is not None


def _text(raw: bytes | None, is_shown: bool) -> str | None:
    """The text that patterns see of bytes without a decoder."""
    if raw is None:
        return None
    return raw.decode("utf-8", "replace") if is_shown else REDACTED


def bytes_member(name: str, raw: bytes | None, *, is_shown: bool = True) -> str:
    """A JSON member for bytes of unknown meaning: text where they are UTF-8, else base64 under `NAME_base64`."""
    if raw is None:
        return f'"{name}":null'
    if not is_shown:
        return f'"{name}":"{REDACTED}"'
    try:
        return f'"{name}":{string_text(raw.decode())}'
    except UnicodeDecodeError:
        return f'"{name}_base64":{bytes_text(raw)}'


Member = Callable[[bytes | None], tuple[str, str | None]]
"""Makes the JSON member of some bytes, and their fault, None for none."""
_NUMBER_SIZES = {"Integer": 4, "Long": 8}


def class_member(name: str, class_name: str | None) -> Member:
    """The function that shows a key or value as one of Kafka's decoder classes does; as text if no class is named.

    Errors: UsageError for another class.
    """
    kind = _decoder_kind(class_name)
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
        return f'"{name}":null,"{name}_base64":{bytes_text(raw)}', f"the {name} of {len(raw)} byte(s) is no {kind}"

    return number


def _decoder_kind(class_name: str | None) -> str:
    return (class_name or "String").removeprefix("org.apache.kafka.tools.api.").removesuffix("Decoder")


def _hidden_member(name: str, class_name: str | None) -> str:
    """The member of bytes that could hold a secret. Where a decoder of numbers is named, `NAME` is null, so that it has one type."""
    kind = _decoder_kind(class_name)
    if kind == "String":
        return f'"{name}":"{REDACTED}"'
    return f'"{name}_base64":"{REDACTED}"' if kind == "Default" else f'"{name}":null,"{name}_base64":"{REDACTED}"'


# ---- the tight loop --------------------------------------------------------------------------------------------------


def metadata_loop_texts(texts: FramedTexts, wants_type: WantsType) -> ValueTexts:
    """The texts with which the tight loop writes metadata records, by frame version, type and version (one byte each).

    Records of unwanted types are left out without being decoded.
    """

    def make(start: bytes) -> tuple[ValueText | None, str]:
        if len(start) < 3 or start[0] != FRAME_VERSION or start[1] > _ONE_BYTE_MAX or start[2] > _ONE_BYTE_MAX:
            raise DecodeError("not a usual metadata record")
        type_id, version = start[1], start[2]
        if not wants_type(type_id):
            return None, ""
        name, fault, write = texts.usual(type_id, version)
        if fault is not None:
            raise DecodeError(fault)
        return write, f'"type":"{name}","version":{version},"data":'

    return Made(make)


class KeyedDecoder:
    """Decodes records of a coordinator's log."""

    shows_headers = False

    def __init__(self, texts: CoordinatorTexts) -> None:
        self.texts = texts

    def members(self, key: bytes | None, value: bytes | None, headers: Headers) -> Members:
        shown = self.texts.text(key, value)
        text = (
            f'"type":{name_text(shown.type_name)},"type_id":{number_text(shown.type_id)},{_member("key", shown.key)},'
            f'"version":{number_text(shown.version)},{_member("data", shown.data)}{shown.derived}'
        )
        if value is None and shown.fault is None:
            return Members(f'{text},"tombstone":true', shown.type_id, shown.key, None)
        return Members(f"{text}{fault_text(shown.fault)}", shown.type_id, shown.key, f"{shown.data}{shown.derived}", shown.fault)


def keyed_loop_texts(texts: CoordinatorTexts, wants_type: WantsType) -> KeyTexts:
    """The texts for the tight loop over a coordinator's log: that of a key, and the writers of its values; None for unwanted types."""

    def versions(type_id: bytes) -> Versions | None:
        number = int16_at(type_id, 0)
        return Made(lambda version: _keyed_value(texts, number, version)) if wants_type(number) else None

    values = Made(versions)

    def make(key: bytes) -> tuple[str, Versions | None]:
        name, key_text = texts.usual_key(key)
        return f'"type":"{name}","type_id":{int16_at(key, 0)},"key":{key_text},"version":', values[key[:PREFIX_SIZE]]

    return KeyTexts(make)


def _keyed_value(texts: CoordinatorTexts, type_id: int, raw_version: bytes) -> tuple[ValueText | None, str]:
    if len(raw_version) < PREFIX_SIZE:
        raise DecodeError("no usual value")
    version = int16_at(raw_version, 0)
    return texts.usual_value(type_id, version), f'{version},"data":'
