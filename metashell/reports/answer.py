"""An engine's answer as the report declares it: the same Arrow types whichever engine gave it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar

from metashell.reports.catalog import BASES, Report
from metashell.reports.words import EARLIEST_MS, LATEST_MS

if TYPE_CHECKING:
    import pyarrow as pa

Rows = TypeVar("Rows", "pa.Table", "pa.RecordBatch")


def declared_schema(report: Report) -> pa.Schema:
    """The Arrow schema of a report's answer, with what its columns mean; times are microseconds in UTC, as Spark keeps them."""
    import pyarrow as pa

    from metashell.columns.meanings.comments import commented

    types = {
        "string": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
        "integers": pa.list_(pa.int64()),
    }
    return commented(report.name, pa.schema([(name, types[kind]) for name, kind in report.columns.items()]))


def as_declared(report: Report, answer: Rows) -> Rows:
    """The answer, or some of its rows, with the columns and types of the report; times arrive as Unix milliseconds."""
    import pyarrow as pa

    schema = declared_schema(report)
    columns = []
    for wanted in schema:
        column = answer.column(wanted.name)
        if pa.types.is_timestamp(wanted.type):
            column = column.cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
        columns.append(column.cast(wanted.type))
    return type(answer).from_arrays(columns, schema=schema)


@cache
def base_schema(table: str) -> pa.Schema:
    """The schema of a base table under the names that the SQL uses."""
    import pyarrow as pa

    from metashell import columns
    from metashell.reports.catalog import DERIVED

    if table in DERIVED:
        from metashell.reports.derived import TABLES

        return TABLES[table].schema
    schema = columns.tables()[table]
    return pa.schema([pa.field(name, schema.field(source).type) for source, name in BASES[table].items()])


def as_base(table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of a table's batch that reports read, under their names there. Only times that cannot be are changed."""
    import pyarrow as pa

    schema = base_schema(table)
    return pa.RecordBatch.from_arrays([_possible(source, batch.column(source)) for source in BASES[table]], schema=schema)


def _possible(name: str, column: pa.Array) -> pa.Array:
    if name != "timestamp" or not len(column):
        return column
    from pyarrow import compute

    seen = compute.min_max(column)
    if seen["min"].as_py() >= EARLIEST_MS and seen["max"].as_py() <= LATEST_MS:
        return column
    return compute.max_element_wise(compute.min_element_wise(column, LATEST_MS), EARLIEST_MS)
