"""The views that numpy makes are those that their SQL makes: on logs of real clusters, and on whatever rows there may be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.reports import REPORTS
from metashell.tables.reports.catalog import view_text
from metashell.tables.reports.local import DUCKDB_MACROS, as_base, base_schema
from metashell.tables.reports.numpy_views import NUMPY_TABLES, PARTITION_TABLES, PARTITION_VIEWS, STATES_SCHEMA, make_views
from metashell.tables.reports.partition_records import PartitionRecords
from metashell.tables.sql.database import Database
from tests.golden_cases import SUBSET_ROOT

TABLES = (*PARTITION_TABLES, "topic", "remove_topic")
READ = (*TABLES, "control")
Batches = list[tuple[str, pa.RecordBatch]]


def by_sql(batches: Batches) -> Database:
    """A database with the views as their SQL makes them."""
    tables = {name: pa.Table.from_batches([b for table, b in batches if table == name], base_schema(name)) for name in READ}
    database = Database(tables, DUCKDB_MACROS)
    for view in ("topic_names", *PARTITION_VIEWS):
        database.define(view, view_text(view))
    return database


def rows_of(database: Database, view: str) -> list[str]:
    schema, found = database.ask(f"select * from {view}")
    table = pa.Table.from_batches(found, schema)
    return sorted(map(repr, table.select(sorted(table.column_names)).to_pylist()))


def folded(batches: Batches, names: Database, parts: int) -> dict[str, pa.Table]:
    gathered = PartitionRecords(parts)
    for table, batch in batches:
        if table in PARTITION_TABLES:
            gathered.add(table, batch)

    def topic_names() -> pa.Table:
        schema, found = names.ask("select * from topic_names")
        return pa.Table.from_batches(found, schema)

    try:
        return make_views(gathered, topic_names)
    finally:
        gathered.close()


def same_views(batches: Batches, parts: int) -> int:
    database = by_sql(batches)
    views = folded(batches, database, parts)
    ours = Database(views, DUCKDB_MACROS)
    for view in PARTITION_VIEWS:
        assert rows_of(ours, view) == rows_of(database, view)
    return int(views["partition_states"].num_rows)


@cache
def read(paths: tuple[Path, ...]) -> Batches:
    splits = plan_splits([str(path) for path in paths])
    found = (pair for split in splits for pair in read_split(split, ReadOptions(tables=sorted(READ), on_error="skip")))
    return [(name, as_base(name, batch)) for name, batch in found if name in READ]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("cluster", ["4.3.1/main/data/stopped", "3.9.2/main/data/stopped", "3.3.2/default/data/killed"])
def test_states_of_real_clusters(cluster: str, parts: int) -> None:
    assert same_views(read((SUBSET_ROOT / cluster,)), parts) >= 5


TOPICS = [bytes([number]) * 16 for number in range(3)]
BROKERS = st.lists(st.integers(1, 3), max_size=3)
PLACES = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3), st.sampled_from([False, False, False, True]))
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "partition_id": st.integers(0, 1),
    "topic_id": st.sampled_from(TOPICS),
    "topic_name": st.sampled_from(["", "t0", "t1"]),
    "name": st.sampled_from(["t0", "t1"]),
    "epoch": st.integers(0, 2),
    "timestamp": st.integers(0, 5),
    "leader": st.integers(-2, 3),
    "leader_recovery_state": st.integers(-1, 1),
    "replicas": BROKERS,
    "isr": BROKERS,
}


@st.composite
def logs(draw: st.DrawFn) -> Batches:
    """Files of a few records each: copies of one log, checkpoints, changes before their partition and after its topic is gone."""
    batches = []
    for cluster, number, is_checkpoint in draw(st.lists(PLACES, max_size=6, unique=True)):
        file = f"{number}/{'00000000000000000005-0000000001.checkpoint' if is_checkpoint else '00000000000000000000.log'}"
        offsets = draw(st.lists(st.integers(0, 12), max_size=10, unique=True))
        tables = draw(st.lists(st.sampled_from(TABLES), min_size=len(offsets), max_size=len(offsets)))
        for table in TABLES:
            own = sorted(offset for offset, name in zip(offsets, tables, strict=True) if name == table)
            if own and not (is_checkpoint and table in ("partition_change", "clear_elr")):
                batches.append((table, draw(rows(table, cluster, file, own))))
    return batches


def rows(table: str, cluster: str, file: str, offsets: list[int]) -> st.SearchStrategy[pa.RecordBatch]:
    def column(field: pa.Field) -> st.SearchStrategy[list[Any]]:
        fixed = {"cluster_id": [cluster] * len(offsets), "file": [file] * len(offsets), "log_offset": offsets}
        if field.name in fixed:
            return st.just(fixed[field.name])
        values = FIELDS.get(field.name, st.none() | BROKERS)
        if table == "partition_change" and pa.types.is_list(field.type):
            values = st.none() | values
        return st.lists(values, min_size=len(offsets), max_size=len(offsets))

    schema = base_schema(table)
    return st.tuples(*map(column, schema)).map(
        lambda found: pa.RecordBatch.from_arrays(
            [pa.array(values, field.type) for values, field in zip(found, schema, strict=True)], schema=schema
        )
    )


@pytest.mark.slow
@given(batches=logs(), parts=st.integers(1, 3))
def test_states_of_any_rows(batches: Batches, parts: int) -> None:
    same_views(batches, parts)


def test_the_folded_view_has_the_columns_of_its_sql() -> None:
    database = by_sql([])
    schema, _ = database.ask("select * from partition_states")
    assert sorted(schema.names) == sorted(STATES_SCHEMA.names)
    ours = Database({"partition_states": STATES_SCHEMA.empty_table()}, DUCKDB_MACROS)
    assert dict(kinds(ours)) == dict(kinds(database))


def kinds(database: Database) -> Iterator[tuple[str, str]]:
    _, found = database.ask("describe partition_states")
    for batch in found:
        yield from ((row["column_name"], row["column_type"]) for row in batch.to_pylist())


def test_no_question_reads_what_is_folded_but_by_its_views() -> None:
    for report in REPORTS.values():
        assert not set(re.findall(r"\b(?:from|join)\s+(\w+)", report.sql)) & set(NUMPY_TABLES), report.name
