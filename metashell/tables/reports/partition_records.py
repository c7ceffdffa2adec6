"""The records of partitions as numbers on disk, and the fold that makes each partition's state of them.

Most of a metadata log is changes of partitions. While the logs are read, each is kept as a few numbers: a topic, a list of brokers or a
file is a number among the distinct ones. The fold then makes the states of some topics at a time, so memory does not grow with the log."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from metashell.common.errors import MetashellError
from metashell.tables.columns.typed_arrays import DistinctNumbers, list_codes
from metashell.tables.reports.catalog import INT64_MAX, checkpoint_end, in_checkpoint
from metashell.tables.reports.uncommitted import Span, are_in
from metashell.tables.sql.sources import Spool

SNAPSHOT, CREATED, CHANGED, CLEARED = range(4)
KINDS: Final = ("snapshot", "created", "changed", "cleared")
LISTS: Final = {
    "replicas": "replicas",
    "adding_replicas": "adding_replicas",
    "isr": "isr",
    "elr": "eligible_leader_replicas",
    "last_known_elr": "last_known_elr",
}
"""The lists of a state, and their columns in the tables."""
_NOT_NULL_IN_PARTITION: Final = ("adding_replicas", "elr", "last_known_elr")
_NO_LEADER_CHANGE, _NO_RECOVERY_CHANGE = -2, -1
GATHERED_SCHEMA: Final = pa.schema(
    [
        ("topic", pa.int32()),
        ("source", pa.int32()),
        ("kind", pa.int8()),
        ("partition_id", pa.int32()),
        ("position", pa.int64()),
        ("log_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("at_ms", pa.int64()),
        ("leader", pa.int32()),
        ("leader_recovery_state", pa.int32()),
        *((name, pa.int32()) for name in LISTS),
    ]
)


class Numbered:
    """Things by number, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def things(self) -> list[Any]:
        return list(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class PartitionRecords:
    """The rows that were read, by part, and what their numbers stand for.

    Shape: `topics` are (number of the cluster, topic id), `lists` the bytes of int32 items, `clears` the records that clear ELRs.
    """

    def __init__(self, parts: int) -> None:
        self.clusters, self.files, self.topics, self.lists = Numbered(), Numbered(), Numbered(), Numbered()
        self.clears: list[dict[str, Any]] = []
        self._closing = ExitStack()
        self._spools = [self._closing.enter_context(closing(Spool())) for _ in range(parts)]
        self._counts = [0] * parts

    def close(self) -> None:
        self._closing.close()

    def add(self, table: str, batch: pa.RecordBatch) -> None:
        """Take the rows of a base table, all of one file."""
        if not batch.num_rows:
            return
        if table == "clear_elr":
            self.clears += [
                {**row, "cluster": self.clusters.number(row["cluster_id"]), "source": self.files.number(row["file"])}
                for row in batch.to_pylist()
            ]
            return
        rows = self._numbered(table, batch)
        parts = len(self._spools)
        topics = rows.column(0).to_numpy()
        for part in range(parts):
            some = rows if parts == 1 else rows.filter(pa.array(topics % parts == part))
            if some.num_rows:
                self._spools[part].add_as_is(some)
                self._counts[part] += some.num_rows

    def parts(self, undone: Sequence[Span]) -> Iterator[pa.Table]:
        """Yield the rows of each part that have happened."""
        for spool, count in zip(self._spools, self._counts, strict=True):
            yield self._without(spool.table(), undone) if count else GATHERED_SCHEMA.empty_table()

    def clears_without(self, undone: Sequence[Span]) -> list[dict[str, Any]]:
        """Return the records that clear ELRs and have happened."""
        return [
            clear
            for clear in self.clears
            if not any(span.cluster_id == clear["cluster_id"] and are_in(span, clear["log_offset"], clear["epoch"]) for span in undone)
        ]

    def _without(self, rows: pa.Table, undone: Sequence[Span]) -> pa.Table:
        if not undone:
            return rows
        clusters = np.array([cluster for cluster, _ in self.topics.things()], np.int64)[rows.column("topic").to_numpy()]
        offsets, epochs = rows.column("log_offset").to_numpy(), rows.column("epoch").to_numpy()
        is_gone = np.zeros(len(offsets), bool)
        for span in undone:
            is_gone |= (clusters == self.clusters.number(span.cluster_id)) & are_in(span, offsets, epochs)
        return rows.filter(pa.array((rows.column("kind").to_numpy() == SNAPSHOT) | ~is_gone))

    def _numbered(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        count = batch.num_rows
        cluster, file = (batch.column(name)[0].as_py() for name in ("cluster_id", "file"))
        cluster_number = self.clusters.number(cluster)
        offsets = batch.column("log_offset").to_numpy()
        kind = CHANGED if table == "partition_change" else SNAPSHOT if in_checkpoint(file) else CREATED
        leader, recovery = batch.column("leader"), batch.column("leader_recovery_state").cast(pa.int32())
        lists = {name: batch.column(column) for name, column in LISTS.items()}
        if kind == CHANGED:
            leader, recovery = _unless(leader, _NO_LEADER_CHANGE), _unless(recovery, _NO_RECOVERY_CHANGE)
        columns = {
            "topic": self._topics(batch.column("topic_id"), cluster_number),
            "source": np.full(count, self.files.number(file), np.int32),
            "kind": np.full(count, kind, np.int8),
            "partition_id": batch.column("partition_id"),
            "position": _positions(offsets, file, kind),
            "log_offset": offsets,
            "epoch": batch.column("epoch"),
            "at_ms": batch.column("timestamp"),
            "leader": leader,
            "leader_recovery_state": recovery,
            **{name: self._lists(column) for name, column in lists.items()},
        }
        if kind != CHANGED:
            empty = pa.scalar(self.lists.number(b""), pa.int32())
            columns |= {name: columns[name].fill_null(empty) for name in _NOT_NULL_IN_PARTITION}
        return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in GATHERED_SCHEMA], schema=GATHERED_SCHEMA)

    def _topics(self, ids: pa.Array, cluster: int) -> DistinctNumbers:
        found = ids.cast(pa.binary()).dictionary_encode()
        numbers = np.array([self.topics.number((cluster, one)) for one in found.dictionary.to_pylist()], np.int32)
        places: DistinctNumbers = found.indices.to_numpy()
        return numbers[places]

    def _lists(self, lists: pa.ListArray) -> pa.Array:
        if lists.null_count == len(lists):
            return pa.nulls(len(lists), pa.int32())
        codes, distinct = list_codes(lists)
        width = lists.type.value_type.bit_width // 8
        items = distinct.values.to_numpy().tobytes()
        offsets = (distinct.offsets.to_numpy() * width).tolist()
        numbers = np.array([self.lists.number(items[start:end]) for start, end in pairwise(offsets)], np.int32)
        return pa.array(numbers[codes], mask=codes < 0)


def _unless(column: pa.Array, value: int) -> pa.Array:
    return compute.if_else(compute.equal(column, value), pa.scalar(None, pa.int32()), column)


def _positions(offsets: DistinctNumbers, file: str, kind: int) -> DistinctNumbers:
    """Return the positions of rows: those of a checkpoint stand just before the first record that it does not hold."""
    if kind == SNAPSHOT:
        return np.full(len(offsets), 2 * require_position(checkpoint_end(file), file), np.int64)
    require_position(int(offsets.max()), file)
    return 2 * offsets + 1


def require_position(offset: int, file: str) -> int:
    """Return an offset that has a position. Errors: MetashellError for one that no log can reach."""
    if offset > (INT64_MAX - 1) // 2:
        raise MetashellError(f"{file}: offset {offset} is out of range: no log reaches it")
    return offset


# ---- from rows to states

FIELDS: Final = ("leader", "leader_recovery_state", *LISTS)
"""The columns of a state."""
MISSING: Final = -(1 << 40)
"""A value of no field: it is not set yet."""


@dataclass(slots=True)
class States:
    """Partitions in order of topic, partition and position: where each row was gathered, its fields (`has` says where they are known), and
    for each the row before it of the same partition, -1 for none."""

    rows: DistinctNumbers
    fields: dict[str, DistinctNumbers]
    before: DistinctNumbers

    def has(self, name: str) -> DistinctNumbers:
        found: DistinctNumbers = self.fields[name] != MISSING
        return found


@dataclass(slots=True)
class Folded:
    """The states, and the gathered rows of changes of which the state before is not known."""

    states: States
    unknown: DistinctNumbers


def fold_states(part: pa.Table, file_ranks: DistinctNumbers) -> Folded:
    """Return the states of a part. `file_ranks` tells the order of files' names by number."""
    order, keys = _ordered(part, file_ranks)
    is_change = filled_column(part, "kind")[order] == CHANGED
    # Before its replicas are known a partition has no state.
    replicas = _filled(_values(part, "replicas")[order], _starts(keys))
    known = replicas != MISSING
    unplaced = order[is_change & ~known]
    order, keys, replicas, is_change = order[known], keys[known], replicas[known], is_change[known]
    starts = _starts(keys)
    fields = {"replicas": replicas}
    for name in FIELDS:
        if name not in fields:
            fields[name] = _filled(_values(part, name)[order], starts)
    numbers = np.arange(len(order))
    before = np.where(numbers > starts, numbers - 1, -1)
    states = States(order, fields, before)
    unknown = is_change & ((before < 0) | ~states.has("isr")[before])
    return Folded(states, np.sort(np.append(unplaced, order[unknown])))


def filled_column(part: pa.Table, name: str) -> DistinctNumbers:
    """Return a column without nulls."""
    found: DistinctNumbers = part.column(name).to_numpy()
    return found


def _values(part: pa.Table, name: str) -> DistinctNumbers:
    """Return a column, with `MISSING` for null."""
    found: DistinctNumbers = part.column(name).cast(pa.int64()).fill_null(MISSING).to_numpy()
    return found


def _ordered(part: pa.Table, file_ranks: DistinctNumbers) -> tuple[DistinctNumbers, DistinctNumbers]:
    """Return the rows in order of topic, partition and position, each record once however many copies of it there are; and their keys.

    Of copies the one of the newest epoch counts, then the one whose file's name is first.
    """
    keys = (filled_column(part, "topic").astype(np.int64) << 32) + filled_column(part, "partition_id")
    positions = filled_column(part, "position")
    order = np.argsort(keys, kind="stable")
    if not _is_ascending((keys[order], positions[order])):
        order = np.lexsort((file_ranks[filled_column(part, "source")], -filled_column(part, "epoch").astype(np.int64), positions, keys))
    keys, positions = keys[order], positions[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (keys[1:] != keys[:-1]) | (positions[1:] != positions[:-1])
    return order[is_first], keys[is_first]


def _is_ascending(columns: Sequence[DistinctNumbers]) -> bool:
    keys, positions = columns
    return bool(np.all((keys[1:] > keys[:-1]) | (positions[1:] > positions[:-1])))


def _starts(keys: DistinctNumbers) -> DistinctNumbers:
    """For each row the number of the first one with its key; keys are in order."""
    numbers = np.arange(len(keys))
    is_start = np.ones(len(keys), bool)
    is_start[1:] = keys[1:] != keys[:-1]
    found: DistinctNumbers = np.maximum.accumulate(np.where(is_start, numbers, 0))
    return found


def _filled(values: DistinctNumbers, starts: DistinctNumbers) -> DistinctNumbers:
    """Return each value or, where it is missing, the last one before it of the same partition."""
    last = np.maximum.accumulate(np.where(values != MISSING, np.arange(len(values)), -1))
    found: DistinctNumbers = np.where(last >= starts, values[last], MISSING)
    return found
