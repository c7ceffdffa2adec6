"""A report as one HTML file: charts, the first rows, and how to read them; nothing is loaded, nothing is run.

The page forbids itself scripts and connections by a Content-Security-Policy; jinja2 escapes every text that comes from data.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from metashell.escape import terminal_line
from metashell.reports.catalog import Report
from metashell.reports.charts import draw

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 1000
"""Rows of the table in a page; the other forms of the answer hold all."""


def render_page(report: Report, answer: pa.Table, *, sources: str, notes: tuple[str, ...] = ()) -> str:
    """The HTML of a report's answer. `sources` says what was read, `notes` what a reader must know of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("metashell.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    charts = [drawn for number, chart in enumerate(report.charts) if (drawn := draw(chart, answer, f"chart-{number}"))]
    shown = answer.slice(0, ROWS_MAX)
    rows = [[cell_text(value) for value in row.values()] for row in shown.to_pylist()]
    return environment.get_template("page.html.jinja").render(
        report=report,
        charts=charts,
        header=list(report.columns),
        numeric=[kind == "integer" for kind in report.columns.values()],
        rows=rows,
        row_count=answer.num_rows,
        sources=terminal_line(sources),
        notes=notes,
    )


def cell_text(value: Any) -> str:
    """A value as the page shows it: times in UTC to the millisecond, lists with commas, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return terminal_line(value) if isinstance(value, str) else str(value)


def time_text(value: datetime) -> str:
    """A time in UTC to the millisecond."""
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
