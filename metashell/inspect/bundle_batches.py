"""Writes batches again: the same records at the same offsets, without secrets, unknown fields and, if wanted, names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, Final, NamedTuple

from metashell.codec.batch_writer import WrittenRecords, control_type, read_control_record, write_control_record
from metashell.codec.batches import BatchHeader, Record, RecordBatch
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    FrameError,
    metadata_message,
    read_frame,
    record_type_name,
    write_metadata_record,
)
from metashell.codec.redaction import REDACTED, holds_secrets, redact
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import StructSchema
from metashell.common.errors import DecodeError, EncodeError
from metashell.inspect.bundle_names import Names, prefixed_pattern

_ACL: Final = "AccessControlEntryRecord"
_CONTROL_KEY: Final = Struct(">hh")
_TEXTS: Final = ("string", "bytes", "records")
_NO_OP: Final = write_metadata_record(message_type("metadata", "NoOpRecord").cls())
Pieces = tuple[bytes | bytearray, ...]
"""The bytes of a batch in their order, nothing for one that is left out. They are not joined, since a copy would take as much memory."""
_FILLED_MAX: Final = 1 << 20
"""The most NoOpRecords that replace a batch that does not decode: its header's count may be wrong."""


class Left(NamedTuple):
    """Something left out of the copy: the file, the offset, and the reason, in words that quote nothing of it."""

    file: str
    offset: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {f'offset {self.offset}: ' if self.offset >= 0 else ''}{self.what}"


class Rewriter:
    """Writes batches again. `names` replaces the names in them, None keeps them; `left` takes what was left out.

    `counts` has how many `records` were written, and how much was removed or replaced: `secrets`, `texts_replaced`, `unknown_tags`
    (tagged fields), `record_keys` (records that had a key or headers).
    """

    def __init__(self, names: Names | None, left: Callable[[Left], object], max_decompressed: int) -> None:
        self._names = names
        self._left = left
        self._max_decompressed = max_decompressed
        self._kept: bytes | None = None
        """The last value that was kept as it is. A batch of millions of records has few others."""
        self.counts: Counter[str] = Counter()

    def batch(self, batch: RecordBatch, file: str) -> Pieces:
        """The bytes of a batch, with NoOpRecords for records that cannot be read."""
        header = batch.header
        write = self._control if header.is_control else self._data
        written = WrittenRecords(header)
        trouble = ""
        try:
            for record in batch.records(self._max_decompressed):
                if record.offset != header.base_offset + written.count:
                    trouble = "a record is not at the offset that follows"
                    break
                written.add(write(record, file))
        except DecodeError:
            trouble = "the records do not decode"
        expected = header.last_offset_delta + 1
        if written.count > expected or (written.count < expected and not 0 < expected <= _FILLED_MAX):
            self._left(Left(file, header.base_offset, "a batch whose numbers do not fit each other"))
            return ()
        if written.count < expected:
            if header.is_control:
                # NoOpRecords replace records of this control batch. They are no control records, so the whole batch becomes a data batch.
                written.clear()
            self._fill(header, written, file, trouble or "fewer records than the batch says")
        return written.batch(is_control=header.is_control and written.has_key)

    def bad_batch(self, batch: RecordBatch, file: str, expected: int | None, reason: str) -> Pieces:
        """NoOpRecords at the offsets of a batch that fails its checks; nothing if its header makes no sense."""
        header = batch.header
        count = header.last_offset_delta + 1
        is_credible = header.count == count and 0 < count <= min(header.size_bytes, _FILLED_MAX) and expected in (None, header.base_offset)
        if not is_credible:
            self._left(Left(file, header.base_offset if expected is None else expected, f"{reason}: the batch and its offsets"))
            return ()
        written = WrittenRecords(header)
        self._fill(header, written, file, reason)
        return written.batch(is_control=False)

    def _fill(self, header: BatchHeader, written: WrittenRecords, file: str, reason: str) -> None:
        """Add NoOpRecords after the records, up to the end of the batch."""
        count = header.last_offset_delta + 1
        first = header.base_offset + written.count
        more = count - written.count
        self._left(Left(file, first, f"{reason}: {more} record{'s' if more > 1 else ''}"))
        for offset in range(first, header.base_offset + count):
            written.add(Record(offset, header.base_timestamp, None, _NO_OP))

    # ---- records

    def _control(self, record: Record, file: str) -> Record:
        control = read_control_record(record.key, record.value)
        message = control.message
        if message is None:
            self._left(Left(file, record.offset, f"the value of a control record of unknown type {control.type}"))
            return Record(record.offset, record.timestamp, _CONTROL_KEY.pack(0, control_type(record.key)), b"")
        low, high = message.versions
        version = min(max(control.version, low), high)
        self._clean(message, version, control.body)
        key, value = write_control_record(control.type, control.body, version)
        self.counts["records"] += 1
        return Record(record.offset, record.timestamp, key, value)

    def _data(self, record: Record, file: str) -> Record:
        if record.key is None and record.value == self._kept is not None and not (record.headers or record.attributes):
            self.counts["records"] += 1
            return record
        if record.key is not None or record.headers:
            self.counts["record_keys"] += 1
        try:
            value = self._value(record.value)
        except (FrameError, DecodeError, EncodeError) as error:
            reason = str(error) if isinstance(error, _RefusedError) else "a record that does not decode"
            self._left(Left(file, record.offset, reason))
            value = _NO_OP
        else:
            self.counts["records"] += 1
        return Record(record.offset, record.timestamp, None, value)

    def _value(self, value: bytes | None) -> bytes:
        if value is None:
            raise _RefusedError("a record without a value")
        frame = read_frame(value, 0, len(value))
        message = metadata_message(frame.type_id)
        if frame.frame_version != FRAME_VERSION or message is None:
            raise _RefusedError(f"a record of unknown type {frame.type_id}")
        low, high = message.versions
        if not low <= frame.version <= high:
            raise _RefusedError(f"a {record_type_name(frame.type_id)} of unknown version {frame.version}")
        body = message.reader(frame.version)(value, frame.body_start, len(value))
        if not body.unknown_tags and _is_plain(message):
            self._kept = value
            return value
        self._clean(message, frame.version, body)
        return write_metadata_record(body, frame.version)

    # ---- fields

    def _clean(self, message: MessageType, version: int, body: Any) -> None:
        """Remove secrets and unknown fields from an object, and replace names."""
        shown: dict[str, Any] = {}
        if holds_secrets(message):
            shown = redact(message.name, message.to_json_value(body, version))
        self._clean_struct(message, message.schema, version, body, shown)

    def _clean_struct(self, message: MessageType, struct: StructSchema, version: int, owner: Any, shown: dict[str, Any]) -> None:
        if owner.unknown_tags:
            self.counts["unknown_tags"] += len(owner.unknown_tags)
            owner.unknown_tags = ()
        changed: dict[str, Any] = {}
        for field in struct.at(version):
            value = getattr(owner, field.attribute)
            if value is None:
                continue
            beside = shown.get(field.json_name)
            if field.is_struct:
                items = value if field.is_array else (value,)
                besides = beside if isinstance(beside, list) else [beside or {}] * len(items)
                for item, item_shown in zip(items, besides, strict=True):
                    self._clean_struct(message, message.schema.structs[field.type], version, item, item_shown)
            elif field.type in _TEXTS:
                place = (message.name, struct.name, field.name)
                if field.is_array:
                    changed[field.attribute] = [self._text(place, owner, item, beside == REDACTED) for item in value]
                else:
                    changed[field.attribute] = self._text(place, owner, value, beside == REDACTED)
        # The texts are replaced last, since the meaning of a field may depend on its neighbours' original values.
        for attribute, value in changed.items():
            setattr(owner, attribute, value)

    def _text(self, place: tuple[str, str, str], owner: Any, value: str | bytes, is_secret: bool) -> str | bytes:
        if is_secret:
            self.counts["secrets"] += 1
            return b"" if isinstance(value, bytes) else REDACTED
        if self._names is None:
            return value
        # Names are never bytes.
        other = b"" if isinstance(value, bytes) else self._names.text(*place, owner, value)
        self.counts["texts_replaced"] += other != value
        return other


class _RefusedError(DecodeError):
    """A record is left out; the message is the reason, and quotes nothing of it."""


_known_plain: dict[str, bool] = {}


def _is_plain(message: MessageType) -> bool:
    """Return whether records of this type hold only numbers and ids, and no struct that could hide an unknown field."""
    found = _known_plain.get(message.name)
    if found is None:
        fields = message.schema.fields
        found = _known_plain[message.name] = not any(field.is_struct or field.type in _TEXTS for field in fields)
    return found


def prefixed_patterns(batch: RecordBatch, max_decompressed: int) -> Iterator[tuple[str, str]]:
    """The kinds and texts of all prefixed ACL patterns in a batch, as far as it can be read."""
    if batch.header.is_control:
        return
    try:
        for record in batch.records(max_decompressed):
            if record.value is None:
                continue
            frame = read_frame(record.value, 0, len(record.value))
            message = metadata_message(frame.type_id)
            if frame.frame_version != FRAME_VERSION or message is None or message.name != _ACL:
                continue
            body = message.reader(frame.version)(record.value, frame.body_start, len(record.value))
            found = prefixed_pattern(body.resource_type, body.pattern_type, body.resource_name)
            if found is not None:
                yield found
    except DecodeError:
        return  # The copy omits the rest of this batch too.
