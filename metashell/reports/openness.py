"""What an answer says of things that had not ended when the log did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.amounts import duration_text
from metashell.forms import counted
from metashell.reports.catalog import Report
from metashell.reports.words import cell_text, moment, second_text, unix_ms

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


def open_rows(report: Report, answer: pa.Table) -> list[dict[str, Any]]:
    """The rows of what had not ended."""
    if report.open is None:
        return []
    from pyarrow import compute

    column, value = report.open
    rows: list[dict[str, Any]] = answer.filter(compute.equal(answer.column(column), value)).to_pylist()
    return rows


def open_words(report: Report, answer: pa.Table) -> str:
    """How many had not ended, when that was, and how long the longest had lasted by then; the empty text where all had."""
    rows = [row for row in open_rows(report, answer) if row["lasted_ms"] is not None and row[report.open_since] is not None]
    if not rows:
        return ""
    longest = max(rows, key=lambda row: row["lasted_ms"])
    end_ms = max(unix_ms(row[report.open_since]) + row["lasted_ms"] for row in rows)
    at = second_text(moment(end_ms))
    were = f"{counted(len(rows), 'row')} {'was' if len(rows) == 1 else 'were'} open"
    return f"{were} at {at}, the end of the log; the longest for {duration_text(longest['lasted_ms'])} by then."
