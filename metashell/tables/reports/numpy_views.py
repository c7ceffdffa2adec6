"""The views that numpy makes while the logs are read: `partition_states`, `unknown_changes` and `record_sums`.

They have the same rows as their SQL (`sql/views`), in a fraction of its time and memory. Spark makes them by their SQL; a test compares
both.

`record_sums` counts the records of each type and hour, and their bytes, each record once. Records of one copy of a log are summed as they
come. Their numbers are also kept on disk, and are read again only where two files have the same offsets: of copies the one of the newest
epoch counts, then the one whose file's name is first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from metashell.tables.columns.typed_arrays import DistinctNumbers
from metashell.tables.reports.catalog import INT64_MAX
from metashell.tables.reports.partition_records import (
    CLEARED,
    CREATED,
    GATHERED_SCHEMA,
    KINDS,
    LISTS,
    MISSING,
    PartitionRecords,
    States,
    filled_column,
    fold_states,
    require_position,
)
from metashell.tables.reports.uncommitted import Span
from metashell.tables.sql.sources import Spool

STATES, UNKNOWN = "partition_states", "unknown_changes"
PARTITION_VIEWS: Final = (STATES, UNKNOWN)
_ROWS: Final = 1 << 17
_BROKERS: Final = pa.list_(pa.int32())
_FIELDS: Final = ("replicas", "adding_replicas", "isr", "leader", "leader_recovery_state", "elr", "last_known_elr")
_BEFORE: Final = {
    "previous_replicas": "replicas",
    "previous_adding_replicas": "adding_replicas",
    "previous_isr": "isr",
    "previous_leader": "leader",
    "previous_recovery_state": "leader_recovery_state",
    "previous_elr": "elr",
    "previous_last_known_elr": "last_known_elr",
}


def _kind_of(field: str) -> pa.DataType:
    return _BROKERS if field in LISTS else pa.int32()


UNKNOWN_SCHEMA: Final = pa.schema([("cluster_id", pa.string()), ("at_ms", pa.int64())])
STATES_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("topic_id", pa.binary()),
        ("partition_id", pa.int32()),
        ("position", pa.int64()),
        ("kind", pa.string()),
        ("log_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("at_ms", pa.int64()),
        *(
            (name, _kind_of(name))
            for name in ("replicas", "adding_replicas", "isr", "leader", "leader_recovery_state", "elr", "last_known_elr")
        ),
        *((name, _kind_of(field)) for name, field in _BEFORE.items()),
        ("is_last", pa.bool_()),
    ]
)
"""The columns of the view, as its SQL has them; texts, ids and lists are written as Arrow's dictionaries."""


def make_views(gathered: PartitionRecords, topic_names: Callable[[], pa.Table], undone: Sequence[Span] = ()) -> dict[str, pa.Table]:
    """Both views. `topic_names` gives the view of that name; it is called only if a record clears ELRs. `undone` records are left out.

    Errors: MetashellError for offsets that no log can reach; OSError where the disk is full.
    """
    files = gathered.files.things()
    ranks = np.empty(len(files), np.int64)
    ranks[sorted(range(len(files)), key=files.__getitem__)] = np.arange(len(files))
    clears = gathered.clears_without(undone)
    clearing = Clearing(gathered, clears, topic_names()) if clears else None
    with closing(Spool()) as states, closing(Spool()) as unknown:
        is_empty = dict.fromkeys(PARTITION_VIEWS, True)
        for part in gathered.parts(undone):
            rows = part if clearing is None else pa.concat_tables([part, clearing.rows_for(part)])
            folded = fold_states(rows, ranks)
            for name, spool, batches in (
                (STATES, states, _state_batches(rows, folded.states, gathered)),
                (UNKNOWN, unknown, _unknown_batches(rows, folded.unknown, gathered)),
            ):
                for batch in batches:
                    spool.add_as_is(batch)
                    is_empty[name] = False
        return {
            STATES: STATES_SCHEMA.empty_table() if is_empty[STATES] else states.table(),
            UNKNOWN: UNKNOWN_SCHEMA.empty_table() if is_empty[UNKNOWN] else unknown.table(),
        }


class Clearing:
    """Records that clear the eligible leader replicas of a topic's partitions, or of all: they name no partition."""

    def __init__(self, gathered: PartitionRecords, clears: list[dict[str, Any]], topic_names: pa.Table) -> None:
        named = {(row["cluster_id"], row["topic_id"]): row for row in topic_names.to_pylist()}
        clusters = gathered.clusters.things()
        topics = gathered.topics.things()
        rows = [named.get((clusters[cluster], topic)) for cluster, topic in topics]
        self._clusters = np.array([cluster for cluster, _ in topics], np.int64)
        self._names = np.array([row["topic"] if row else None for row in rows], object)
        self._first = np.array([row["first_position"] if row else INT64_MAX for row in rows], np.int64)
        removed = [row["removed_position"] if row else None for row in rows]
        self._removed = np.array([INT64_MAX if position is None else position for position in removed], np.int64)
        self._clears = clears
        self._no_list = gathered.lists.number(b"")

    def rows_for(self, part: pa.Table) -> pa.Table:
        """Return the rows of partitions that a table `partition` has, one for each record that clears their ELR."""
        is_told = filled_column(part, "kind") <= CREATED
        keys = np.unique((filled_column(part, "topic")[is_told].astype(np.int64) << 32) + filled_column(part, "partition_id")[is_told])
        partitions = keys.astype(np.int32)
        topics = (keys - partitions) >> 32
        made = []
        for clear in self._clears:
            position = 2 * require_position(clear["log_offset"], clear["file"]) + 1
            of_it = (self._clusters[topics] == clear["cluster"]) & (self._first[topics] < position) & (self._removed[topics] > position)
            if clear["topic_name"]:
                of_it &= self._names[topics] == clear["topic_name"]
            made.append(self._rows(topics[of_it], partitions[of_it], clear, position))
        return pa.concat_tables(made)

    def _rows(self, topics: DistinctNumbers, partitions: DistinctNumbers, clear: dict[str, Any], position: int) -> pa.Table:
        same = {
            "kind": CLEARED,
            "position": position,
            "at_ms": clear["timestamp"],
            "elr": self._no_list,
            "last_known_elr": self._no_list,
            **{name: clear[name] for name in ("source", "log_offset", "epoch")},
        }
        columns: dict[str, Any] = {"topic": topics, "partition_id": partitions}
        for field in GATHERED_SCHEMA:
            if field.name not in columns:
                value = same.get(field.name)
                columns[field.name] = pa.nulls(len(topics), field.type) if value is None else np.full(len(topics), value)
        return pa.table([pa.array(columns[field.name], field.type) for field in GATHERED_SCHEMA], schema=GATHERED_SCHEMA)


def _state_batches(rows: pa.Table, states: States, gathered: PartitionRecords) -> Iterator[pa.RecordBatch]:
    """Yield the states as rows of the view."""
    clusters, topics = _Topics(gathered), gathered.topics.things()
    lists, fields = _compact(states, gathered)
    place = {name: filled_column(rows, name) for name in ("topic", "partition_id", "position", "kind", "log_offset", "epoch", "at_ms")}
    is_last = np.ones(len(states.rows), bool)
    is_last[states.before[states.before >= 0]] = False
    for start in range(0, len(states.rows), _ROWS):
        some = slice(start, start + _ROWS)
        at, before = states.rows[some], states.before[some]
        found = {name: values[at] for name, values in place.items()}
        columns: dict[str, pa.Array] = {
            "cluster_id": clusters.ids(found["topic"]),
            "topic_id": _taken(found["topic"], [topic for _, topic in topics], pa.binary()),
            "kind": pa.DictionaryArray.from_arrays(found["kind"], pa.array(KINDS)),
        }
        for name in ("partition_id", "position", "log_offset", "epoch", "at_ms"):
            columns[name] = pa.array(found[name])
        columns["is_last"] = pa.array(is_last[some])
        for name in STATES_SCHEMA.names:
            if name not in columns:
                field = _BEFORE.get(name, name)
                values = fields[field][some] if name == field else np.where(before < 0, MISSING, fields[field][before])
                codes = pa.array(values.astype(np.int32), mask=values == MISSING)
                columns[name] = pa.DictionaryArray.from_arrays(codes, lists) if field in LISTS else codes
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in STATES_SCHEMA.names})


def _unknown_batches(rows: pa.Table, unknown: DistinctNumbers, gathered: PartitionRecords) -> Iterator[pa.RecordBatch]:
    clusters = _Topics(gathered)
    for start in range(0, len(unknown), _ROWS):
        at = unknown[start : start + _ROWS]
        yield pa.RecordBatch.from_pydict(
            {"cluster_id": clusters.ids(filled_column(rows, "topic")[at]), "at_ms": filled_column(rows, "at_ms")[at]}
        )


class _Topics:
    """The clusters of topics by number."""

    def __init__(self, gathered: PartitionRecords) -> None:
        self._numbers = np.array([cluster for cluster, _ in gathered.topics.things()], np.int32)
        self._clusters = pa.array(gathered.clusters.things(), pa.string())

    def ids(self, topics: DistinctNumbers) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(self._numbers[topics], self._clusters)


def _taken(numbers: DistinctNumbers, things: list[Any], kind: pa.DataType) -> pa.DictionaryArray:
    """Return the things of these numbers, of which a dictionary holds those that occur; equal numbers lie together."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), pa.array([things[number] for number in distinct.tolist()], kind))


def _compact(states: States, gathered: PartitionRecords) -> tuple[pa.ListArray, dict[str, DistinctNumbers]]:
    """Return the lists that occur in these states, and the fields with the numbers that the lists have here."""
    occurs = np.zeros(len(gathered.lists), bool)
    for name in LISTS:
        values = states.fields[name]
        occurs[values[values != MISSING]] = True
    here = np.cumsum(occurs) - 1
    everything = gathered.lists.things()
    items = [np.frombuffer(everything[number], np.int32) for number in np.flatnonzero(occurs).tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in items])]).astype(np.int32)
    values = np.concatenate([np.zeros(0, np.int32), *items])
    fields = dict(states.fields)
    for name in LISTS:
        known = fields[name] != MISSING
        fields[name] = np.where(known, here[np.where(known, fields[name], 0)], MISSING) if len(here) else fields[name]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=_BROKERS), fields


# ---- sums of records

RECORD_SUMS: Final = "record_sums"
RECORD_SUMS_TABLE: Final = "records"
RECORD_SUMS_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("checkpoint", pa.string()),
        ("hour", pa.int64()),
        ("type", pa.string()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("first_ms", pa.int64()),
    ]
)
_HOUR_MS: Final = 3_600_000
_SUMMED: Final = pa.schema(
    [("offset", pa.int64()), ("at_ms", pa.int64()), ("epoch", pa.int32()), ("type", pa.int32()), ("size", pa.int32())]
)
Log = tuple[str, str]
"""A cluster, and the name of a checkpoint or the empty text."""
Sums = dict[tuple[str, str, int, int], list[int]]


class Piece(NamedTuple):
    """Rows of one file that were kept together: their owner, their offsets, and whether each has one of its own."""

    log: Log
    file: str
    first: int
    last: int
    is_ascending: bool
    sums: Sums


class RecordSums:
    """Takes the rows of `records`, then gives the view."""

    def __init__(self) -> None:
        self._types: dict[str | None, int] = {}
        self._pieces: list[Piece] = []
        self._spool = Spool()

    def close(self) -> None:
        self._spool.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take rows of one file."""
        if not batch.num_rows:
            return
        log = (batch.column("cluster_id")[0].as_py(), batch.column("checkpoint")[0].as_py())
        types = batch.column("type").dictionary_encode()
        # The number of null, of records that say no type, is the last: that of index -1.
        known = [*types.dictionary.to_pylist(), *([None] if types.null_count else [])]
        numbers = np.array([self._types.setdefault(name, len(self._types)) for name in known], np.int32)
        columns = {
            "offset": batch.column("log_offset"),
            "at_ms": batch.column("timestamp"),
            "epoch": batch.column("epoch"),
            "type": numbers[types.indices.fill_null(-1).to_numpy()],
            "size": batch.column("size").fill_null(0),
        }
        rows = pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in _SUMMED], schema=_SUMMED)
        self._spool.add_as_is(rows)
        found = _arrays(rows)
        offsets = found["offset"]
        sums: Sums = {}
        _sum_up(sums, log, found)
        is_ascending = bool(np.all(offsets[1:] > offsets[:-1]))
        self._pieces.append(Piece(log, batch.column("file")[0].as_py(), int(offsets.min()), int(offsets.max()), is_ascending, sums))

    def table(self) -> pa.Table:
        """Return the view."""
        sums: Sums = {}
        by_log: dict[Log, list[int]] = defaultdict(list)
        for number, piece in enumerate(self._pieces):
            by_log[piece.log].append(number)
        shared = [group for numbers in by_log.values() for group in self._overlapping(numbers)]
        alone = set(range(len(self._pieces))) - {number for group in shared for number in group}
        for number in alone:
            _merge(sums, self._pieces[number].sums)
        if shared:
            batches = self._spool.table().to_batches()
            for group in shared:
                self._sum_copies(sums, group, batches)
        names = list(self._types)
        rows = [(*log, hour, names[kind], *found) for (*log, hour, kind), found in sums.items()]
        return pa.Table.from_pylist([dict(zip(RECORD_SUMS_SCHEMA.names, row, strict=True)) for row in rows], schema=RECORD_SUMS_SCHEMA)

    def _overlapping(self, numbers: list[int]) -> list[list[int]]:
        """Return the pieces of a log that have offsets in common, in groups."""
        groups: list[list[int]] = []
        end = -1
        for number in sorted(numbers, key=lambda number: self._pieces[number].first):
            piece = self._pieces[number]
            if groups and piece.first <= end:
                groups[-1].append(number)
            else:
                groups.append([number])
            end = max(end, piece.last)
        return [group for group in groups if len(group) > 1 or not self._pieces[group[0]].is_ascending]

    def _sum_copies(self, sums: Sums, group: list[int], batches: list[pa.RecordBatch]) -> None:
        """Add the rows of pieces that have offsets in common; from where one begins to where the next does, at one time."""
        files = {file: rank for rank, file in enumerate(sorted({self._pieces[number].file for number in group}))}
        starts = sorted({self._pieces[number].first for number in group})
        left = list(group)
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            left = [number for number in left if self._pieces[number].last >= start]
            parts = []
            for number in left:
                piece = self._pieces[number]
                if end is None or piece.first < end:
                    rows = _arrays(batches[number])
                    inside = (rows["offset"] >= start) & (end is None or rows["offset"] < end)
                    part = {name: values[inside] for name, values in rows.items()}
                    parts.append({**part, "file": np.full(len(part["offset"]), files[piece.file])})
            rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
            order = np.lexsort((rows["file"], -rows["epoch"].astype(np.int64), rows["offset"]))
            offsets = rows["offset"][order]
            is_first = np.ones(len(order), bool)
            is_first[1:] = offsets[1:] != offsets[:-1]
            _sum_up(sums, self._pieces[group[0]].log, {name: values[order[is_first]] for name, values in rows.items()})


def _arrays(rows: pa.RecordBatch) -> dict[str, DistinctNumbers]:
    return {name: rows.column(name).to_numpy() for name in _SUMMED.names}


def _sum_up(sums: Sums, log: Log, rows: dict[str, DistinctNumbers]) -> None:
    """Add rows to sums by hour and type."""
    times, types = rows["at_ms"], rows["type"].astype(np.int64)
    hours, hour_places = np.unique(times - np.fmod(times, _HOUR_MS), return_inverse=True)
    count = int(types.max(initial=0)) + 1
    keys, places = np.unique(hour_places * count + types, return_inverse=True)
    counts = np.bincount(places)
    sizes = np.zeros(len(counts), np.int64)
    np.add.at(sizes, places, rows["size"])
    firsts = np.full(len(counts), np.iinfo(np.int64).max)
    np.minimum.at(firsts, places, times)
    keys = np.stack([hours[keys // count], keys % count]) if len(keys) else np.zeros((2, 0), np.int64)
    for hour, kind, *found in zip(*keys.tolist(), counts.tolist(), sizes.tolist(), firsts.tolist(), strict=True):
        _merge(sums, {(*log, hour, kind): found})


def _merge(sums: Sums, others: Sums) -> None:
    for key, (records, size, first_ms) in others.items():
        known = sums.setdefault(key, [0, 0, first_ms])
        known[:] = [known[0] + records, known[1] + size, min(known[2], first_ms)]


NUMPY_VIEWS: Final = (*PARTITION_VIEWS, RECORD_SUMS)
PARTITION_TABLES: Final = ("partition", "partition_change", "clear_elr")
NUMPY_TABLES: Final = (*PARTITION_TABLES, RECORD_SUMS_TABLE)
"""The base tables that the views are made of, besides `topic_names`."""
_PART_BYTES: Final = 32 << 20
"""So much of the logs is folded at one time, where that makes no more than `_PARTS_MAX` parts: each is an open file."""
_PARTS_MAX: Final = 100


class NumpyViews:
    """Takes rows of `NUMPY_TABLES`, then gives `NUMPY_VIEWS`."""

    def __init__(self, bytes_read: int) -> None:
        self._closing = ExitStack()
        self._partitions = self._closing.enter_context(closing(PartitionRecords(min(1 + bytes_read // _PART_BYTES, _PARTS_MAX))))
        self._records = self._closing.enter_context(closing(RecordSums()))

    def close(self) -> None:
        self._closing.close()

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Take rows of one file."""
        if table == RECORD_SUMS_TABLE:
            self._records.add(batch)
        else:
            self._partitions.add(table, batch)

    def make(self, view: str, topic_names: Callable[[], pa.Table], undone: Sequence[Span]) -> dict[str, pa.Table]:
        """Return a view, and those made with it. Errors: MetashellError for offsets that no log can reach; OSError for a full disk."""
        return {view: self._records.table()} if view == RECORD_SUMS else make_views(self._partitions, topic_names, undone)
