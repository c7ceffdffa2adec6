"""The views as Arrow tables on disk, from what was gathered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final

import numpy as np
import pyarrow as pa

from metashell.columns.sql.spool import Spool
from metashell.reports.distinct import Numbers
from metashell.reports.partitions.folding import MISSING, States, column, fold
from metashell.reports.partitions.gathering import CLEARED, CREATED, KINDS, LISTS, SCHEMA, Gathered, require_position
from metashell.reports.places import INT64_MAX
from metashell.reports.undone import Span

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


def make_views(gathered: Gathered, topic_names: Callable[[], pa.Table], undone: Sequence[Span] = ()) -> dict[str, pa.Table]:
    """Both views. `topic_names` gives the view of that name, and is asked only where a record clears ELRs. What is `undone` is left out.

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
            folded = fold(rows, ranks)
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

    def __init__(self, gathered: Gathered, clears: list[dict[str, Any]], topic_names: pa.Table) -> None:
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
        """The rows of partitions that a table `partition` told of, one for each record that clears them."""
        is_told = column(part, "kind") <= CREATED
        keys = np.unique((column(part, "topic")[is_told].astype(np.int64) << 32) + column(part, "partition_id")[is_told])
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

    def _rows(self, topics: Numbers, partitions: Numbers, clear: dict[str, Any], position: int) -> pa.Table:
        same = {
            "kind": CLEARED,
            "position": position,
            "at_ms": clear["timestamp"],
            "elr": self._no_list,
            "last_known_elr": self._no_list,
            **{name: clear[name] for name in ("source", "log_offset", "epoch")},
        }
        columns: dict[str, Any] = {"topic": topics, "partition_id": partitions}
        for field in SCHEMA:
            if field.name not in columns:
                value = same.get(field.name)
                columns[field.name] = pa.nulls(len(topics), field.type) if value is None else np.full(len(topics), value)
        return pa.table([pa.array(columns[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _state_batches(rows: pa.Table, states: States, gathered: Gathered) -> Iterator[pa.RecordBatch]:
    """The states as rows of the view."""
    clusters, topics = _Topics(gathered), gathered.topics.things()
    lists, fields = _compact(states, gathered)
    place = {name: column(rows, name) for name in ("topic", "partition_id", "position", "kind", "log_offset", "epoch", "at_ms")}
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


def _unknown_batches(rows: pa.Table, unknown: Numbers, gathered: Gathered) -> Iterator[pa.RecordBatch]:
    clusters = _Topics(gathered)
    for start in range(0, len(unknown), _ROWS):
        at = unknown[start : start + _ROWS]
        yield pa.RecordBatch.from_pydict({"cluster_id": clusters.ids(column(rows, "topic")[at]), "at_ms": column(rows, "at_ms")[at]})


class _Topics:
    """The clusters of topics by number."""

    def __init__(self, gathered: Gathered) -> None:
        self._numbers = np.array([cluster for cluster, _ in gathered.topics.things()], np.int32)
        self._clusters = pa.array(gathered.clusters.things(), pa.string())

    def ids(self, topics: Numbers) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(self._numbers[topics], self._clusters)


def _taken(numbers: Numbers, things: list[Any], kind: pa.DataType) -> pa.DictionaryArray:
    """The things of these numbers, of which a dictionary holds those that occur; equal numbers lie together."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), pa.array([things[number] for number in distinct.tolist()], kind))


def _compact(states: States, gathered: Gathered) -> tuple[pa.ListArray, dict[str, Numbers]]:
    """The lists that occur in these states, and the fields with the numbers that the lists have here."""
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
