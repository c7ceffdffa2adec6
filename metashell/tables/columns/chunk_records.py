"""The records of a chunk with all that their tables need: type and version, the place of the body, JSON text, and the columns that a file
shares.

Types are in the frames of the metadata log and in the prefixes of coordinators' logs. Records of one type and version share all of what
`records` shows but the text, which codec writes straight from the bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, CoordinatorText, CoordinatorTexts
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    KIP631_FRAME_VERSION,
    NO_VALUE,
    FrameError,
    UnknownFrameVersionError,
    read_frame,
    unknown_type,
    unknown_version,
)
from metashell.codec.record_text import FramedTexts, RecordText, control_text
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.common.terminal import writable
from metashell.common.uris import shown_uri
from metashell.disk.names import REMOTE_LOG
from metashell.tables.columns.record_walk import NULL, Rows
from metashell.tables.columns.vectors import Array, Buffer, Headers, Ints, Mask, offsets_of, range_positions
from metashell.tables.splits import Piece
from metashell.tables.transactions import OUTCOMES, Markers, marker_outcome


class ChunkRecords:
    """The records of a chunk: `rows` are all, `typed` those that are no control records."""

    def __init__(self, log: str, headers: Headers, buffer: Buffer, rows: Rows, place: Place, outcomes: Outcomes = None) -> None:
        self.headers = headers
        self.buffer = buffer
        self.rows = rows
        self.place = place
        self._outcomes = outcomes
        self.is_control: Mask = headers.is_control[rows.batch]
        data = rows.part(~self.is_control) if self.is_control.any() else rows
        self.typed: TypedRows = (coordinator_rows if log in COORDINATOR_LOGS else framed_rows)(log, buffer, data)

    def envelope(self, rows: Rows, chosen: Ints | None = None, fields: Collection[str] | None = None) -> list[pa.Array]:
        """Return the columns that every record has: cluster, file, offset, epoch and timestamp.

        `fields` names the columns that are wanted: without any name of a place there are nulls instead of those.
        """
        has_names = fields is None or any(name in fields for name in SAME_IN_A_FILE)
        return envelope_arrays(self.headers, rows, np.arange(len(rows)) if chosen is None else chosen, self.place if has_names else None)

    def outcome_arrays(self, chosen: Ints) -> list[pa.Array]:
        """Return producer, whether in a transaction, and outcome of some of the typed rows."""
        batches = self.typed.rows.batch[chosen]
        if self._outcomes is None:
            outcomes = pa.array(np.zeros(len(chosen), np.int32))
        else:
            found = self._outcomes[batches]
            outcomes = pa.array(found, mask=found == NOT_KNOWN)
        words = pa.DictionaryArray.from_arrays(outcomes, pa.array(OUTCOMES, pa.string()))
        return [
            pa.array(self.headers.producer_id[batches]),
            pa.array(self.headers.is_transactional[batches]),
            words.cast(pa.string()),
        ]


def envelope_arrays(headers: Headers, rows: Rows, chosen: Ints, place: Place | None) -> list[pa.Array]:
    """Return the columns that every record has, for the rows `chosen`."""
    batches = rows.batch[chosen]
    names = [pa.nulls(len(chosen), pa.string())] * len(SAME_IN_A_FILE) if place is None else place.arrays(len(chosen), batches)
    return [
        *names,
        pa.array(rows.offset[chosen]),
        pa.array(headers.leader_epoch[batches]),
        pa.array(rows.timestamp[chosen]),
    ]


# ---- how transactions ended

Outcomes = Array | None
"""The outcome of each batch of a chunk by number, NOT_KNOWN in a stream whose rest may have the marker; None where all are committed."""
NOT_KNOWN: Final = -1
Ahead = Callable[[int], Markers | None]
"""Gives the markers behind a batch's file, or behind the chunk in it; None if these cannot be read before the rows are wanted."""


def batch_outcomes(headers: Headers, buffer: Buffer, rows: Rows, file_of_batch: Ints | None, ahead: Ahead) -> Outcomes:
    """Return how the transactions of a chunk ended: as the next marker of their producer in the same log says."""
    is_control = headers.is_control
    in_transaction = headers.is_transactional & ~is_control
    if not in_transaction.any():
        return None
    keys: dict[int, list[bytes | None]] = {}
    for row in np.flatnonzero(is_control[rows.batch]).tolist():
        keys.setdefault(int(rows.batch[row]), []).append(rows.record(buffer, row)[0])
    outcomes = np.zeros(len(headers), np.int32)
    known: dict[int, int] = {}
    markers: Markers | None = None
    file, before = -1, None
    producers, offsets = headers.producer_id, headers.base_offset
    for number in np.flatnonzero(in_transaction | is_control)[::-1].tolist():
        file = 0 if file_of_batch is None else int(file_of_batch[number])
        if file != before:
            known, before, markers = {}, file, None
        producer = int(producers[number])
        if is_control[number]:
            if (outcome := marker_outcome(keys.get(number, ()))) is not None:
                known[producer] = outcome
            continue
        if producer not in known:
            markers = markers or ahead(file)
            known[producer] = NOT_KNOWN if markers is None else markers.outcome(producer, int(offsets[number]))
        outcomes[number] = known[producer]
    return outcomes


# ---- the text of records

_NO_VERSION = 1 << 20
Texts = FramedTexts | CoordinatorTexts


def texts_of_log(log: str, *, show_secrets: bool) -> Texts:
    """Return what writes the text of a log's records."""
    return (CoordinatorTexts if log in COORDINATOR_LOGS else FramedTexts)(log, show_secrets=show_secrets)


@dataclass(slots=True)
class _Columns:
    """The columns on their way: names as indexes of `names`, -1 for none."""

    codes: Array
    versions: Array
    payloads: list[str | None]
    faults: list[str | None]
    names: dict[str, int] = field(default_factory=dict)

    def put_all(self, rows: Ints, name: str, version: int, fault: str | None) -> None:
        """Return what the records of one type and version share."""
        self.codes[rows] = self._code(name)
        self.versions[rows] = version
        if fault is not None:
            for row in rows.tolist():
                self.faults[row] = fault

    def put(self, row: int, text: RecordText | CoordinatorText, payload: str | None) -> None:
        self.codes[row] = self._code(text.type_name)
        self.versions[row] = _NO_VERSION if text.version is None else text.version
        self.payloads[row] = payload
        self.faults[row] = text.fault

    def _code(self, name: str | None) -> int:
        return -1 if name is None else self.names.setdefault(name, len(self.names))

    def arrow(self, is_control: Mask, *, with_payloads: bool) -> list[pa.Array]:
        count = len(self.codes)
        kinds = pa.DictionaryArray.from_arrays(pa.array(is_control.astype(np.int8)), ["record", "control"])
        names = pa.DictionaryArray.from_arrays(pa.array(self.codes, mask=self.codes < 0), pa.array(list(self.names), pa.string()))
        return [
            kinds.cast(pa.string()),
            names.cast(pa.string()),
            pa.array(self.versions.astype(np.int16), mask=self.versions == _NO_VERSION),
            pa.array(self.payloads, pa.string()) if with_payloads else pa.nulls(count, pa.string()),
            pa.array(self.faults, pa.string()),
        ]


def text_columns(
    records: ChunkRecords, texts: Texts, *, with_payloads: bool, payload_types: Collection[str] | None = None
) -> list[pa.Array]:
    """Return the columns kind, type, version, payload and fault of all records; the payload only of those types, None for all.

    Without payloads the bodies of records are not looked into, so that only what stands before them can be at fault.
    """
    rows, typed, buffer, is_control = records.rows, records.typed, records.buffer, records.is_control
    count = len(rows)
    columns = _Columns(np.full(count, -1, np.int32), np.full(count, _NO_VERSION, np.int32), [None] * count, [None] * count)
    for row in np.flatnonzero(is_control).tolist():
        key, value = rows.record(buffer, row)
        text = control_text(key, value, show_secrets=texts.show_secrets)
        columns.put(row, text, None if value is None else text.data)
    numbers = np.flatnonzero(~is_control)
    careful = numbers[typed.types == OTHER].tolist()
    for (type_id, version), chosen in typed.groups():
        of_group = numbers[chosen]
        if isinstance(texts, CoordinatorTexts):
            columns.put_all(of_group, texts.names[type_id], _NO_VERSION if version == NULL else version, None)
            if with_payloads and (payload_types is None or texts.names[type_id] in payload_types):
                careful += _write_pairs(columns.payloads, buffer.data, texts, typed, type_id, version, chosen, of_group)
            continue
        name, fault, write = texts.usual(type_id, version)
        columns.put_all(of_group, name, version, fault)
        if with_payloads and (payload_types is None or name in payload_types):
            payloads, data = columns.payloads, buffer.data
            for row, start, end in zip(of_group.tolist(), typed.starts[chosen].tolist(), typed.ends[chosen].tolist(), strict=True):
                try:
                    payloads[row] = write(data, start, end)
                except DecodeError:
                    careful.append(row)
    for row in careful:
        _put_one(columns, row, texts, *rows.record(buffer, row))
    return columns.arrow(is_control, with_payloads=with_payloads)


def _write_pairs(
    payloads: list[str | None],
    data: bytes,
    texts: CoordinatorTexts,
    typed: TypedRows,
    type_id: int,
    version: int,
    chosen: Ints,
    of_group: Ints,
) -> list[int]:
    """Write the payloads of a coordinator's records of one type and version; gives the rows that are of another layout."""
    key_message, value_message = texts.log.key_message(type_id), texts.log.value_message(type_id)
    assert key_message is not None and value_message is not None, "rows are in no group unless both are known"
    write_key = texts.writer(key_message, 0)
    write = None if version == NULL else texts.writer(value_message, version)
    places = (typed.key_starts[chosen], typed.key_ends[chosen], typed.starts[chosen], typed.ends[chosen])
    careful = []
    for row, key_start, key_end, start, end in zip(of_group.tolist(), *(place.tolist() for place in places), strict=True):
        try:
            value = "null" if write is None else write(data, start, end)
            payloads[row] = f'{{"key":{write_key(data, key_start, key_end)},"value":{value}}}'
        except DecodeError:
            careful.append(row)
    return careful


def _put_one(columns: _Columns, row: int, texts: Texts, key: bytes | None, value: bytes | None) -> None:
    """Put one unusual record into the columns."""
    if isinstance(texts, CoordinatorTexts):
        text = texts.text(key, value)
        columns.put(row, text, f'{{"key":{text.key},"value":{text.data}}}')
    else:
        framed = texts.text(value)
        columns.put(row, framed, None if value is None else framed.data)


# ---- type, version and body of each record

OTHER = -(1 << 20)
"""The type of a row whose type is missing or not known."""
_USUAL_MASK = 0x8080FF
"""Of the first three bytes: all of the frame's version, and whether type and version go on in another byte."""


OddRow = tuple[int, str, bool]
"""A row, the finding about it, and whether it is serious: a row of a newer release is not."""


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
        """Yield the rows of each (type, version), in order."""
        codes = (self.types << 20) + self.versions
        for code in distinct(codes):
            chosen = np.flatnonzero(codes == code)
            first = int(chosen[0])
            type_id = int(self.types[first])
            if type_id != OTHER:
                yield (type_id, int(self.versions[first])), chosen


def distinct(numbers: Ints) -> list[int]:
    """Return the distinct numbers of a column with long runs: only the first of a run is looked at."""
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
    """Read a frame with varints of several bytes (KIP-631); a row without a whole frame gets the type OTHER."""
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


# ---- columns that all rows of a file share

_FILE = "file"
SAME_IN_A_FILE = ("cluster_id", _FILE)


class Place:
    """Makes `cluster_id` and `file` for any number of rows, and `log` and `checkpoint` for the table that has them."""

    def __init__(self, piece: Piece) -> None:
        self.file = shown_uri(piece.path)
        self.log = piece.log
        self.cluster_id = shown_uri(piece.cluster_id)

        self._made = [_repeated(self.cluster_id, 0), _repeated(self.file, 0)]
        self._checkpoint = piece.checkpoint

    def arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        """Cluster and file for `count` rows: slices of the longest arrays made so far. `batches` are those that the rows lie in."""
        if len(self._made[0]) < count:
            count_made = max(count, 2 * len(self._made[0]))
            self._made = [_repeated(self.cluster_id, count_made), _repeated(self.file, count_made)]
        return [made.slice(0, count) for made in self._made]

    def kind_arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        """Return the kind of log and the name of the checkpoint, for `count` rows."""
        return [_repeated(self.log or "", count), _repeated(self._checkpoint, count)]


class Places(Place):
    """The place of rows from several files of one kind of log; `file_of_batch` has the number of each batch's file."""

    def __init__(self, pieces: Sequence[Piece], file_of_batch: Ints) -> None:
        super().__init__(pieces[0])
        self._pieces = pieces
        self._file_of_batch = file_of_batch

    def arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        assert batches is not None, "the rows of several files are told apart by their batches"
        files = self._file_of_batch[batches]
        return [spread([shown_uri(text) for text in texts], files) for texts in self._names()]

    def kind_arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        assert batches is not None, "the rows of several files are told apart by their batches"
        return [_repeated(self.log or "", count), spread([piece.checkpoint for piece in self._pieces], self._file_of_batch[batches])]

    def _names(self) -> tuple[list[str], list[str]]:
        return [piece.cluster_id for piece in self._pieces], [piece.path for piece in self._pieces]


def spread(texts: list[str], numbers: Ints) -> pa.Array:
    """Return the text of each number, in order."""
    raw = [writable(text).encode() for text in texts]
    sizes = np.array([len(each) for each in raw], np.int64)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[numbers]
    data = np.frombuffer(b"".join(raw), np.uint8)[range_positions(starts[numbers], counts, 1)]
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(offsets_of(counts)), pa.py_buffer(data)], 0)


def _repeated(text: str, count: int) -> pa.Array:
    raw = writable(text).encode()
    offsets = np.arange(0, len(raw) * count + 1, len(raw), dtype=np.int32) if raw else np.zeros(count + 1, np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(raw * count)], 0)


def with_names_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with the texts that its rows share stored once."""
    files = batch.column(_FILE) if _FILE in batch.schema.names else None
    for name in SAME_IN_A_FILE:
        at = batch.schema.get_field_index(name)
        if at >= 0:
            batch = batch.set_column(at, name, names_once(batch.column(at), files))
    return batch


def names_once(names: pa.Array, files: pa.Array | None) -> pa.DictionaryArray:
    """Return the names of rows, each stored once; `files` are the rows' log files."""
    if pa.types.is_dictionary(names.type):
        return names
    if only_name(names, files) is None:
        return names.dictionary_encode()
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(names), np.int32)), names.slice(0, 1))


def only_name(names: pa.Array, files: pa.Array | None) -> str | None:
    """Return the name that all rows have; None if they differ, or there are none. `files` are the rows' log files, in any order."""
    text: str | None = None
    if pa.types.is_dictionary(names.type):
        if len(names.dictionary) == 1 and not names.null_count:
            text = names.dictionary[0].as_py()
    elif len(names) and files is not None and _are_alike(files):
        text = names[0].as_py()
    return text


def _are_alike(values: pa.Array) -> bool:
    """Return whether all are equal: one file may come back after another, where batches of several were put together."""
    rest = len(values) - 1
    # To compare each with the next takes 2 ns a row; to look for different ones takes 20.
    return bool(values[0] == values[rest] and values.slice(1).equals(values.slice(0, rest)))
