"""The fold: rows of some topics as they were gathered become each partition's state after every record, and the state before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.reports.distinct import Numbers
from metashell.reports.partitions.gathering import CHANGED, LISTS

FIELDS: Final = ("leader", "leader_recovery_state", *LISTS)
"""What a state consists of."""
MISSING: Final = -(1 << 40)
"""A value of no field: it is not set yet."""


@dataclass(slots=True)
class States:
    """Partitions in order of topic, partition and position: where each row was gathered, its fields (`has` says where they are known), and
    for each the row before it of the same partition, -1 for none."""

    rows: Numbers
    fields: dict[str, Numbers]
    before: Numbers

    def has(self, name: str) -> Numbers:
        found: Numbers = self.fields[name] != MISSING
        return found


@dataclass(slots=True)
class Folded:
    """The states, and the gathered rows of changes of which the state before is not known."""

    states: States
    unknown: Numbers


def fold(part: pa.Table, file_ranks: Numbers) -> Folded:
    """The states of a part. `file_ranks` tells the order of files' names by number."""
    order, keys = _ordered(part, file_ranks)
    is_change = column(part, "kind")[order] == CHANGED
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


def column(part: pa.Table, name: str) -> Numbers:
    """A column without nulls."""
    found: Numbers = part.column(name).to_numpy()
    return found


def _values(part: pa.Table, name: str) -> Numbers:
    """A column, with `MISSING` for null."""
    found: Numbers = part.column(name).cast(pa.int64()).fill_null(MISSING).to_numpy()
    return found


def _ordered(part: pa.Table, file_ranks: Numbers) -> tuple[Numbers, Numbers]:
    """The rows in order of topic, partition and position, each record once however many copies of it there are; and their keys.

    Of copies the one of the newest epoch counts, then the one whose file's name is first.
    """
    keys = (column(part, "topic").astype(np.int64) << 32) + column(part, "partition_id")
    positions = column(part, "position")
    order = np.argsort(keys, kind="stable")
    if not _is_ascending((keys[order], positions[order])):
        order = np.lexsort((file_ranks[column(part, "source")], -column(part, "epoch").astype(np.int64), positions, keys))
    keys, positions = keys[order], positions[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (keys[1:] != keys[:-1]) | (positions[1:] != positions[:-1])
    return order[is_first], keys[is_first]


def _is_ascending(columns: Sequence[Numbers]) -> bool:
    keys, positions = columns
    return bool(np.all((keys[1:] > keys[:-1]) | (positions[1:] > positions[:-1])))


def _starts(keys: Numbers) -> Numbers:
    """For each row the number of the first one with its key; keys are in order."""
    numbers = np.arange(len(keys))
    is_start = np.ones(len(keys), bool)
    is_start[1:] = keys[1:] != keys[:-1]
    found: Numbers = np.maximum.accumulate(np.where(is_start, numbers, 0))
    return found


def _filled(values: Numbers, starts: Numbers) -> Numbers:
    """Each value or, where it is missing, the last one before it of the same partition."""
    last = np.maximum.accumulate(np.where(values != MISSING, np.arange(len(values)), -1))
    found: Numbers = np.where(last >= starts, values[last], MISSING)
    return found
