"""What type and version each record is of, and where its body lies: frames of the metadata log, prefixes of coordinators' logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, int16_at
from metashell.codec.dispatch import REMOTE_LOG_TYPES
from metashell.codec.frame import (
    FRAME_VERSION,
    KIP631_FRAME_VERSION,
    FrameError,
    metadata_message,
    read_frame,
    record_type_name,
    version_fault,
)
from metashell.codec.redaction import JsonText, hex_text, json_writer
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import snake_case
from metashell.columns.decode.rows import NULL, Rows
from metashell.columns.decode.vectors import Buffer, Ints
from metashell.errors import DecodeError
from metashell.log.kinds import METADATA, REMOTE_LOG

OTHER = -(1 << 20)
"""The type of a row that has none that we know."""
_ONE_BYTE_MAX = 127


@dataclass(slots=True)
class TypedRows:
    """Rows with their types; bodies lie from `starts` to `ends` in the buffer, keys' fields likewise.

    `types` is OTHER for rows without a known type, `versions` NULL for tombstones. `odd` are (row, reason, whether that is serious).
    """

    rows: Rows
    types: Ints
    versions: Ints
    starts: Ints
    ends: Ints
    key_starts: Ints
    key_ends: Ints
    odd: list[tuple[int, str, bool]] = field(default_factory=list)

    def groups(self) -> Iterator[tuple[tuple[int, int], Ints]]:
        """The rows of each (type, version), in order."""
        codes = (self.types << 20) + self.versions
        for code in distinct(codes):
            chosen = np.flatnonzero(codes == code)
            first = int(chosen[0])
            type_id = int(self.types[first])
            if type_id != OTHER:
                yield (type_id, int(self.versions[first])), chosen


def distinct(numbers: Ints) -> list[int]:
    """The different numbers among many of which few differ: of neighbours that are equal only one is looked at."""
    if not len(numbers):
        return []
    turns = np.flatnonzero(numbers[1:] != numbers[:-1])
    return sorted({int(numbers[0]), *numbers[turns + 1].tolist()})


def framed_rows(log: str, buffer: Buffer, rows: Rows) -> TypedRows:
    """Records in frames: a varint each of frame version, type and version before the body."""
    frame = np.minimum(rows.value_start, buffer.size)
    types = buffer.bytes[frame + 1].astype(np.int64)
    versions = buffer.bytes[frame + 2].astype(np.int64)
    usual = (rows.value_size >= 3) & (buffer.bytes[frame] == FRAME_VERSION) & (types <= _ONE_BYTE_MAX) & (versions <= _ONE_BYTE_MAX)
    starts = rows.value_start + 3
    typed = TypedRows(rows, types, versions, starts, rows.value_start + rows.value_size, starts, starts)
    known = _messages(log)
    for row in np.flatnonzero(~usual).tolist():
        _read_odd_frame(typed, buffer, row, known)
    for type_id in distinct(types):
        if type_id not in known and type_id != OTHER:
            for row in np.flatnonzero(types == type_id).tolist():
                typed.odd.append((row, f"record type {type_id} is not known", False))
                types[row] = OTHER
    return typed


def _messages(log: str) -> dict[int, MessageType]:
    if log == REMOTE_LOG:
        return {key: message_type(log, name) for key, name in REMOTE_LOG_TYPES.items()}
    from metashell.columns.schemas import tables_of_log

    return {key: table.value for key, table in tables_of_log(log).items()}


def _read_odd_frame(typed: TypedRows, buffer: Buffer, row: int, known: dict[int, MessageType]) -> None:
    """A frame of multi-byte varints, of KIP-631, or none at all."""
    rows = typed.rows
    start, size = int(rows.value_start[row]), int(rows.value_size[row])
    typed.types[row] = OTHER
    if size < 0:
        typed.odd.append((row, "the record has no value", True))
        return
    try:
        frame = read_frame(buffer.data, start, start + size)
    except FrameError as error:
        typed.odd.append((row, str(error), True))
        return
    typed.starts[row] = frame.body_start
    if frame.frame_version == KIP631_FRAME_VERSION:
        return  # its own schemas, which only `records` shows
    typed.types[row] = frame.type_id
    typed.versions[row] = frame.version


def coordinator_rows(log: str, buffer: Buffer, rows: Rows) -> TypedRows:
    """Records of a coordinator: an int16 type before the key's fields, an int16 version before the value's."""
    limit = buffer.size
    types = buffer.take("int16", np.clip(rows.key_start, 0, limit)).astype(np.int64)
    versions = buffer.take("int16", np.clip(rows.value_start, 0, limit)).astype(np.int64)
    versions[rows.value_size < 0] = NULL
    key_starts, starts = rows.key_start + PREFIX_SIZE, rows.value_start + PREFIX_SIZE
    key_ends, ends = rows.key_start + rows.key_size, rows.value_start + rows.value_size
    typed = TypedRows(rows, types, versions, starts, ends, key_starts, key_ends)
    known = COORDINATOR_LOGS[log]
    messages = {key: message_type(known.family, known.values[key]) for key in known.keys if key in known.values}
    for row in np.flatnonzero((rows.key_size < PREFIX_SIZE) | ((rows.value_size >= 0) & (rows.value_size < PREFIX_SIZE))).tolist():
        typed.odd.append((row, "the record has no key" if rows.key_size[row] < 0 else "key or value are too short", True))
        types[row] = OTHER
    for type_id, version in {(int(kind), int(number)) for kind, number in zip(types.tolist(), versions.tolist(), strict=True)}:
        if type_id == OTHER:
            continue
        low, high = messages[type_id].versions if type_id in messages else (0, -1)
        if type_id not in messages or (version != NULL and not low <= version <= high):
            is_known = type_id in messages
            reason = f"{messages[type_id].name} version {version} is not known" if is_known else f"record type {type_id} is not known"
            for row in np.flatnonzero((types == type_id) & (versions == version)).tolist():
                typed.odd.append((row, reason, False))
                types[row] = OTHER
    return typed


class RowText:
    """The JSON text of records, and what is odd about them: the payloads of `records`."""

    def __init__(self, log: str, show_secrets: bool) -> None:
        self.log = log
        self.show_secrets = show_secrets
        self._writers: dict[tuple[str, str, int], JsonText] = {}

    def metadata(self, buf: bytes, start: int, size: int) -> tuple[str | None, int | None, str | None, str | None]:
        """Type, version, payload and fault of a framed value; bytes that do not decode are hex text, unless they could hold a secret."""
        if size < 0:
            return None, None, None, "the record has no value"
        end = start + size
        try:
            frame = read_frame(buf, start, end)
        except FrameError as error:
            return None, None, self._hex(buf[start:end]), str(error)
        family = self._family(frame.frame_version)
        message = metadata_message(frame.type_id, family) if family != REMOTE_LOG else _messages(family).get(frame.type_id)
        name = self._type_name(frame.type_id, family, message)
        if message is None:
            return name, frame.version, self._hex(buf[start:end], frame.body_start - start), f"record type {frame.type_id} is not known"
        fault = version_fault(message, frame.version)
        try:
            return name, frame.version, self._writer(message, frame.version)(buf, frame.body_start, end), fault
        except DecodeError as error:
            reason = str(error) if fault is None else f"{fault}; {error}"
            return name, frame.version, self._hex(buf[start:end], frame.body_start - start), reason

    def group(self, type_id: int, version: int) -> tuple[str, str | None, JsonText]:
        """Type and fault of all framed records of a known type and a version, and what writes the payload of one from where it lies."""
        family = REMOTE_LOG if self.log == REMOTE_LOG else METADATA
        message = _messages(family)[type_id]
        return self._type_name(type_id, family, message), version_fault(message, version), self._writer(message, version)

    def _family(self, frame_version: int) -> str:
        if self.log == REMOTE_LOG:
            return REMOTE_LOG
        return "kip631" if frame_version == KIP631_FRAME_VERSION else METADATA

    @staticmethod
    def _type_name(type_id: int, family: str, message: MessageType | None) -> str:
        if family == REMOTE_LOG:
            return snake_case(message.name).upper() if message is not None else f"UNKNOWN_RECORD_{type_id}"
        return record_type_name(type_id, family)

    def _hex(self, raw: bytes, start: int = 0) -> str:
        return hex_text(raw, start, show_secrets=self.show_secrets)

    def coordinator(
        self, buf: bytes, key_start: int, key_size: int, start: int, size: int
    ) -> tuple[str | None, int | None, str | None, str | None]:
        """The same of a coordinator's record; the payload has `key` and `value`, null for a tombstone."""
        log = COORDINATOR_LOGS[self.log]
        key, value = buf[key_start : key_start + key_size], buf[start : start + max(size, 0)]
        if key_size < PREFIX_SIZE or 0 <= size < PREFIX_SIZE:
            return None, None, None, "the record has no key" if key_size < 0 else "key or value are too short"
        type_id = int16_at(key, 0)
        version = int16_at(value, 0) if size >= 0 else None
        key_message, value_message = log.key_message(type_id), log.value_message(type_id)
        if key_message is None or value_message is None:
            return f"UNKNOWN_{type_id}", version, None, f"record type {type_id} is not known"
        name = snake_case(log.type_name(type_id) or "").upper()
        try:
            key_text = self._writer(key_message, 0)(key, PREFIX_SIZE, key_size)
            value_text = "null"
            if version is not None:
                low, high = value_message.versions
                if not low <= version <= high:
                    return name, version, None, f"{value_message.name} version {version} is not known"
                value_text = self._writer(value_message, version)(value, PREFIX_SIZE, size)
        except DecodeError as error:
            return name, version, None, str(error)
        return name, version, f'{{"key":{key_text},"value":{value_text}}}', None

    def _writer(self, message: MessageType, version: int) -> JsonText:
        known = (message.family, message.name, version)
        made = self._writers.get(known)
        if made is None:
            made = self._writers[known] = json_writer(message, version, show_secrets=self.show_secrets)
        return made
