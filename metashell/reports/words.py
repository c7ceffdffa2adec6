"""An answer's columns and values as people read them, on a page and in a table: one wording for both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from metashell.amounts import duration_text, size_text
from metashell.amounts import time_text as ms_text
from metashell.escape import terminal_line

if TYPE_CHECKING:
    import pyarrow as pa

CLUSTER: Final = "cluster_id"
_DURATION: Final = "_ms"
_SIZE: Final = "bytes"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ROWS_AT_ONCE: Final = 4096
_EXACT_MAX: Final = 1e15
"""Whole numbers above are written with an exponent, as in JSON."""
EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
"""The first and last millisecond of the years 1 to 9999: a log may claim other times, which no calendar and no difference can hold."""


def short_name(column: str) -> str:
    """What a column is called where its values have units: `lasted_ms` is `lasted`."""
    return column.removesuffix(_DURATION)


def heading(column: str) -> str:
    """The same in words."""
    return short_name(column).replace("_", " ")


def shown_columns(answer: pa.Table) -> list[str]:
    """The columns that people see: the cluster's only where there are several."""
    is_one = len(answer.column(CLUSTER).unique()) <= 1
    return [name for name in answer.column_names if not (is_one and name == CLUSTER)]


def plain_rows(answer: pa.Table, convert: Callable[[datetime], object]) -> Iterator[list[object]]:
    """The rows of an answer, its times converted."""
    return ([convert(value) if isinstance(value, datetime) else value for value in row.values()] for row in python_rows(answer))


def python_rows(answer: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of an answer, of which few are Python's objects at one time."""
    return (row for batch in answer.to_batches(max_chunksize=_ROWS_AT_ONCE) for row in batch.to_pylist())


def cell_text(column: str, value: Any) -> str:
    """A value: times in UTC to the second, durations and sizes in units that fit, lists with commas, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return second_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if isinstance(value, str):
        return terminal_line(value)
    if isinstance(value, float) and not (value.is_integer() and abs(value) < _EXACT_MAX):
        return repr(value)
    return number_text(column, value)


def number_text(column: str, value: float) -> str:
    """A number of a column, in its unit."""
    if column.endswith(_DURATION):
        return duration_text(round(value))
    if column == _SIZE:
        return size_text(round(value))
    return f"{value:.0f}" if value == value // 1 else f"{value:g}"


def second_text(value: datetime) -> str:
    """A time in UTC to the second."""
    return f"{time_text(value)[:19]}Z"


def time_text(value: datetime) -> str:
    """A time in UTC to the millisecond."""
    return ms_text(unix_ms(value))


def unix_ms(value: datetime) -> int:
    """A time as Unix milliseconds."""
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def moment(ms: float) -> datetime:
    """The time of Unix milliseconds, or the nearest that a calendar has."""
    return _EPOCH + timedelta(milliseconds=min(max(int(ms), EARLIEST_MS), LATEST_MS))
