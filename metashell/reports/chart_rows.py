"""What a chart draws of an answer that may have a million rows: the few rows that it names, or sums by time and series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.reports.catalog import Chart

if TYPE_CHECKING:
    import pyarrow as pa

COUNT: Final = "rows counted"
"""The column of sums that says how many rows are summed."""


def rows_of_chart(chart: Chart, table: pa.Table) -> pa.Table:
    """The rows that take part, with the columns that the chart is about."""
    from pyarrow import compute

    if chart.kind != "lanes":
        named = (*chart.x, *chart.values, *chart.series, *(name for name, _ in filter(None, (chart.where, chart.open))))
        table = table.select(list(dict.fromkeys(named)))
    if chart.where is not None:
        table = table.filter(compute.equal(table.column(chart.where[0]), chart.where[1]))
    return table if chart.kind == "lanes" else table.filter(table.column(chart.x[0]).is_valid())


def longest_rows(chart: Chart, table: pa.Table, count: int) -> list[dict[str, Any]]:
    """The rows with the most `values[0]`, open ones first; equal ones in their order."""
    import pyarrow as pa
    from pyarrow import compute

    column = table.column(chart.values[0])
    table = table.filter(compute.fill_null(compute.not_equal(column, 0), False))
    keys = {"size": table.column(chart.values[0])}
    if chart.open is not None:
        keys["open"] = compute.fill_null(compute.equal(table.column(chart.open[0]), chart.open[1]).cast(pa.int8()), 0)
    order = compute.sort_indices(pa.table(keys), sort_keys=[(name, "descending") for name in sorted(keys)])
    rows: list[dict[str, Any]] = table.take(order[:count]).to_pylist()
    return rows


def times_of(chart: Chart, table: pa.Table) -> tuple[int, int]:
    """The first and the last time of a chart over time, as Unix milliseconds."""
    from pyarrow import compute

    found = compute.min_max(_ms(table.column(chart.x[0])))
    return found["min"].as_py(), found["max"].as_py()


def summed_rows(chart: Chart, table: pa.Table, start_s: int = 0, step_s: int = 0, *, largest: bool = False) -> list[dict[str, Any]]:
    """A row for each x and series, with the sums or the largest of `values`, and `COUNT`; a step that is given makes x its number."""
    import numpy as np
    import pyarrow as pa

    x = table.column(chart.x[0])
    if step_s:
        x = pa.array((_ms(x).to_numpy() // 1000 - start_s) // step_s, pa.int64())
    by = {chart.x[0]: x, **{name: table.column(name) for name in chart.series}}
    columns = {**by, **{name: table.column(name) for name in chart.values if name not in by}, COUNT: pa.array(np.ones(len(x), np.int64))}
    how = "max" if largest else "sum"
    wanted = [(name, how) for name in chart.values] + [(COUNT, "sum")]
    found = pa.table(columns).group_by(list(by), use_threads=False).aggregate(wanted)
    names = [*by, *chart.values, COUNT]
    found = found.select([*by, *(f"{name}_{kind}" for name, kind in wanted)]).rename_columns(names)
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def _ms(times: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return times.cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
