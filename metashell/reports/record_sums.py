"""The view `record_sums` made by numpy while the logs are read: how many records of each type and hour, and their bytes, each counted once.

Records of one copy of a log are summed as they come. Their numbers are also put aside on disk, and are read again only where two files have
the same offsets: of copies the one of the newest epoch counts, then the one whose file's name is first. On Spark the view is its SQL.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from metashell.columns.sql.spool import Spool
from metashell.reports.distinct import Numbers

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
    """Rows of one file that were put aside together: whose they are, their offsets, and whether each has one of its own."""

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
        """The view."""
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
        """The pieces of a log that have offsets in common, in groups."""
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


def _arrays(rows: pa.RecordBatch) -> dict[str, Numbers]:
    return {name: rows.column(name).to_numpy() for name in _SUMMED.names}


def _sum_up(sums: Sums, log: Log, rows: dict[str, Numbers]) -> None:
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
