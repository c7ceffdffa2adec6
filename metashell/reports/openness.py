"""What an answer says of things that had not ended when the log did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.amounts import duration_text
from metashell.forms import counted
from metashell.reports.catalog import Report
from metashell.reports.words import cell_text, moment, second_text

if TYPE_CHECKING:
    import pyarrow as pa


def is_open(report: Report, row: Mapping[str, Any]) -> bool:
    """Whether what the row tells of lasts beyond the end of the log."""
    return report.open is not None and row[report.open[0]] == report.open[1]


def openness(report: Report, row: Mapping[str, Any]) -> str:
    """What the column says that tells open rows from others: `open`, or how it ended where that is known."""
    assert report.open is not None
    value = row[report.open[0]]
    return "open" if is_open(report, row) else "" if value is None or isinstance(value, bool) else cell_text(report.open[0], value)


def open_rows(report: Report, answer: pa.Table) -> pa.Table:
    """The rows of what had not ended."""
    if report.open is None:
        return answer.slice(0, 0)
    from pyarrow import compute

    column, value = report.open
    return answer.filter(compute.equal(answer.column(column), value))


def open_words(report: Report, answer: pa.Table) -> str:
    """How many had not ended, when that was, and how long the longest had lasted by then; the empty text where all had."""
    if report.open is None:
        return ""
    import pyarrow as pa
    from pyarrow import compute

    rows = open_rows(report, answer).select(["lasted_ms", report.open_since])
    rows = rows.filter(compute.and_(rows.column(0).is_valid(), rows.column(1).is_valid()))
    if not rows.num_rows:
        return ""
    lasted = rows.column(0)
    since_ms = rows.column(1).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    end_ms = compute.max(compute.add(since_ms, lasted)).as_py()
    at = second_text(moment(end_ms))
    were = f"{counted(rows.num_rows, 'row')} {'was' if rows.num_rows == 1 else 'were'} open"
    return f"{were} at {at}, the end of the log; the longest for {duration_text(compute.max(lasted).as_py())} by then."
