"""Records are summed while the logs are read as the SQL of the view sums them, however many copies there are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metashell.tables.reports.catalog import view_text
from metashell.tables.reports.local import DUCKDB_MACROS, base_schema
from metashell.tables.reports.numpy_views import RecordSums
from metashell.tables.sql.database import Database

HOUR = 3_600_000
SCHEMA = base_schema("records")
LOGS = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "", "", "x.checkpoint"]), st.sampled_from(["f1", "f2", "f3"]))


@st.composite
def batches(draw: st.DrawFn) -> list[pa.RecordBatch]:
    """Pieces of files; a file has no offset twice."""
    found = []
    for cluster, checkpoint, file in draw(st.lists(LOGS, max_size=6, unique=True)):
        offsets = iter(draw(st.lists(st.integers(0, 15), max_size=12, unique=True)))
        for size in draw(st.lists(st.integers(1, 6), max_size=3)):
            rows = [{**row_of(draw), "log_offset": offset} for offset, _ in zip(offsets, range(size), strict=False)]
            same: dict[str, Any] = {"cluster_id": cluster, "checkpoint": checkpoint, "file": f"{checkpoint}{file}"}
            found.append(pa.RecordBatch.from_pylist([{**row, **same} for row in rows], schema=SCHEMA))
    return found


def row_of(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "timestamp": draw(st.sampled_from([-HOUR - 1, -1, 0, 5, HOUR, HOUR + 7])),
        "type": draw(st.sampled_from(["TOPIC_RECORD", "PARTITION_RECORD", None])),
        "size": draw(st.integers(0, 9)),
        "epoch": draw(st.integers(0, 2)),
    }


@given(batches())
def test_sums_are_those_of_the_sql(found: list[pa.RecordBatch]) -> None:
    database = Database({"records": pa.Table.from_batches(found, SCHEMA)}, DUCKDB_MACROS)
    schema, answer = database.ask(view_text("record_sums"))
    known = pa.Table.from_batches(answer, schema)
    sums = RecordSums()
    for batch in found:
        sums.add(batch)
    ours = sums.table()
    sums.close()
    assert ours.column_names == known.column_names
    assert sorted(map(repr, ours.to_pylist())) == sorted(map(repr, known.cast(ours.schema).to_pylist()))
