"""The type and version of each record, and where its body is: frames of the metadata log, prefixes of coordinators' logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.frame import (
    FRAME_VERSION,
    KIP631_FRAME_VERSION,
    NO_VALUE,
    FrameError,
    UnknownFrameVersionError,
    read_frame,
    unknown_type,
    unknown_version,
)
from metashell.codec.registry import message_type
from metashell.columns.decode.rows import NULL, Rows
from metashell.columns.decode.vectors import Buffer, Ints
from metashell.log.kinds import REMOTE_LOG

OTHER = -(1 << 20)
"""The type of a row whose type is missing or not known."""
_USUAL_MASK = 0x8080FF
"""Of the first three bytes: all of the frame's version, and whether type and version go on in another byte."""


OddRow = tuple[int, str, bool]
"""A row, what is odd about it, and whether that is serious: that a newer release wrote it is not."""


@dataclass(slots=True)
class TypedRows:
    """Rows with their types; bodies go from `starts` to `ends` in the buffer, keys from `key_starts` to `key_ends`.

    `types` is OTHER for rows without a known type, `versions` NULL for tombstones. `odd` are (row, reason, whether that is serious).
    """

    rows: Rows
    types: Ints
    versions: Ints
    starts: Ints
    ends: Ints
    key_starts: Ints
    key_ends: Ints
    odd: list[OddRow] = field(default_factory=list)

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
    """The distinct numbers of a column with long runs: only the first of a run is looked at."""
    if not len(numbers):
        return []
    turns = np.flatnonzero(numbers[1:] != numbers[:-1])
    return sorted({int(numbers[0]), *numbers[turns + 1].tolist()})


def framed_rows(log: str, buffer: Buffer, rows: Rows) -> TypedRows:
    """Records in frames: a varint each of frame version, type and version before the body."""
    frame = np.minimum(rows.value_start, buffer.size)
    heads = buffer.words(frame)
    types = heads >> 8 & 0xFF
    versions = heads >> 16 & 0xFF
    usual = (rows.value_size >= 3) & (heads & _USUAL_MASK == FRAME_VERSION)
    starts = rows.value_start + 3
    typed = TypedRows(rows, types, versions, starts, rows.value_start + rows.value_size, starts, starts)
    for row in np.flatnonzero(~usual).tolist():
        _read_odd_frame(typed, buffer, row)
    known = REMOTE_LOG_TYPES if log == REMOTE_LOG else METADATA_TYPES
    for type_id in distinct(types):
        if type_id not in known and type_id != OTHER:
            for row in np.flatnonzero(types == type_id).tolist():
                typed.odd.append((row, unknown_type(type_id), False))
                types[row] = OTHER
    return typed


def _read_odd_frame(typed: TypedRows, buffer: Buffer, row: int) -> None:
    """A frame of multi-byte varints, of KIP-631, or none at all."""
    rows = typed.rows
    start, size = int(rows.value_start[row]), int(rows.value_size[row])
    typed.types[row] = OTHER
    if size < 0:
        typed.odd.append((row, NO_VALUE, True))
        return
    try:
        frame = read_frame(buffer.data, start, start + size)
    except FrameError as error:
        typed.odd.append((row, str(error), not isinstance(error, UnknownFrameVersionError)))
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
            reason = unknown_version(messages[type_id], version) if is_known else unknown_type(type_id)
            for row in np.flatnonzero((types == type_id) & (versions == version)).tolist():
                typed.odd.append((row, reason, False))
                types[row] = OTHER
    return typed
