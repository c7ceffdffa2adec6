"""The reports as data: what each asks, answers and draws; the base tables under the names that their SQL uses; and how values are written.

A report NAME is one SELECT, `sql/NAME.sql`, and its description, `sql/NAME.toml`; `Report` and `Chart` say what stands in it. The
position of a row comes from its column `file`, by one rule for SQL and Python: a checkpoint is known by its file's name, a log by its
folder. Folders may have any name, `x.checkpoints` too; the query of a URI may have slashes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal

from metashell.common.options import REPORT_SUMMARIES
from metashell.common.terminal import terminal_line
from metashell.common.uris import file_name
from metashell.common.values import duration_text, size_text, time_text
from metashell.disk.names import METADATA, LogKind

if TYPE_CHECKING:
    import pyarrow as pa


ColumnType = Literal["string", "integer", "number", "boolean", "time", "integers"]
ChartKind = Literal["bars over time", "lines over time", "longest bars", "stacked bars", "lanes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart of a report.

    `bars over time` stacks the sums of `values` by `x`, a time, one series for each of several values or for each text in `series`;
    `lines over time` draws the largest `values[0]` of each `series` instead; `longest bars` draws the rows with the most `values[0]`,
    called by the columns of `x`, first and in another colour those that have `open[1]` in column `open[0]`; `stacked bars` adds up
    `values[0]` by `x`, which is no time, and `series`; `lanes` is for the timeline. Only rows that have `where[1]` in column `where[0]`
    take part.
    """

    title: str
    kind: ChartKind
    x: tuple[str, ...]
    values: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    where: tuple[str, str] | None = None
    open: tuple[str, str | bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report: what stands in its description, and its question.

    `tables` and `views` are those that the question reads, views in the order of their making. `log` is the one whose rows it wants, also
    of the tables that every log has. `wants_checkpoints` asks for every checkpoint of a directory, not only the one that replay needs.
    Rows that have `open[1]` in column `open[0]` last beyond the end of the log; `lasted_ms` counts from the time in
    column `open_since` to that end.
    """

    name: str
    title: str
    summary: str
    how_to_read: str
    sql: str
    tables: tuple[str, ...]
    views: tuple[str, ...]
    columns: dict[str, ColumnType]
    charts: tuple[Chart, ...] = ()
    wants_checkpoints: bool = False
    open: tuple[str, str | bool] | None = None
    open_since: str = ""
    log: LogKind = METADATA


@cache
def sql_text(path: str) -> str:
    """Return a text from `sql/`, as both engines read it."""
    return with_places((files("metashell.tables.reports") / "sql" / path).read_text(encoding="utf-8"))


def view_text(name: str) -> str:
    """Return the SELECT that a view stands for."""
    return sql_text(f"views/{name}.sql")


_PLACE = {"cluster_id": "cluster_id", "file": "file", "offset": "log_offset", "epoch": "epoch", "timestamp": "timestamp"}


def _base(*names: str, **renamed: str) -> dict[str, str]:
    """Columns of a base table: those of every row, those that keep their names, and those that get another one."""
    return {**_PLACE, **{name: name for name in names}, **renamed}


_PARTITION = (
    "topic_id",
    "partition_id",
    "replicas",
    "adding_replicas",
    "isr",
    "leader",
    "leader_recovery_state",
    "eligible_leader_replicas",
    "last_known_elr",
)
# `offset` and `group` are words of SQL, which the dialects quote differently, so nothing is called so.
BASES: Final[dict[str, dict[str, str]]] = {
    "batches": _base("count", "size"),
    "records": _base("kind", "type", "size", "checkpoint"),
    "control": _base("type", "leader_id"),
    "topic": _base("name", "topic_id"),
    "remove_topic": _base("topic_id"),
    "clear_elr": _base("topic_name"),
    "partition": _base(*_PARTITION),
    "partition_change": _base(*_PARTITION),
    "config": _base("resource_type", "resource_name", "name", "value"),
    "register_broker": _base("broker_id", "broker_epoch", "rack", "fenced", "in_controlled_shutdown"),
    "unregister_broker": _base("broker_id", "broker_epoch"),
    "broker_registration_change": _base("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown"),
    "fence_broker": _base("id", value_epoch="value_epoch"),
    "unfence_broker": _base("id", value_epoch="value_epoch"),
    "feature_level": _base("name", "feature_level"),
    "begin_transaction": _base(),
    "end_transaction": _base(),
    "abort_transaction": _base(),
    "offset_commit": _base(
        "topic", "tombstone", "value_offset", "commit_timestamp", "expire_timestamp", group="group_id", partition="partition_id"
    ),
}
"""The columns of each table that reports read, and what the SQL calls them."""

GROUP_MEMBERS: Final = "group_members"
GROUP_TOPICS: Final = "group_topics"
QUOTA_RECORDS: Final = "quota_records"
ACL_RECORDS: Final = "acl_records"
SCRAM_RECORDS: Final = "scram_records"
GROUP_TRANSACTIONS: Final = "group_transactions"
DERIVED: Final = (GROUP_MEMBERS, GROUP_TOPICS, GROUP_TRANSACTIONS, QUOTA_RECORDS, ACL_RECORDS, SCRAM_RECORDS)
"""Tables that are made in Python: `derived.TABLES` says from what."""
VIEWS: Final = (
    "log_ends",
    "topic_names",
    "partition_states",
    "unknown_changes",
    "record_sums",
    "elections",
    "registrations",
    "broker_changes",
    "broker_states",
    "isr_storms",
    "feature_changes",
    "config_changes",
    "group_history",
    "offset_commits",
)
"""The views that several questions are built on, each after those that it reads itself."""


def _report(name: str) -> Report:
    described = tomllib.loads(sql_text(f"{name}.toml"))
    charts = tuple(Chart(**{key: _as_tuple(value) for key, value in chart.items()}) for chart in described.pop("charts", ()))
    sql = sql_text(f"{name}.sql")
    read = _all_read(sql)
    tables = tuple(table for table in (*BASES, *DERIVED) if table in read)
    described = {key: _as_tuple(value) for key, value in described.items()}
    return Report(name=name, sql=sql, tables=tables, views=tuple(view for view in VIEWS if view in read), charts=charts, **described)


def _all_read(sql: str, *, folded: Collection[str] = ()) -> set[str]:
    """Return the tables and views that a question needs, but not the tables of views that are `folded`, which need no SQL."""
    read = _names_read(sql)
    for view in reversed(VIEWS):
        if view in read:
            found = _names_read(view_text(view))
            read |= found & set(VIEWS) if view in folded else found
    return read


def tables_in_sql(reports: Iterable[Report], folded: Collection[str]) -> list[str]:
    """Return the base tables that the SQL of these reports reads where some views are not made by SQL."""
    read = {name for report in reports for name in _all_read(report.sql, folded=folded)}
    return [table for table in (*BASES, *DERIVED) if table in read]


def _names_read(sql: str) -> set[str]:
    """Return the names after FROM and JOIN: tables, views, and names of the question's own."""
    return set(re.findall(r"\b(?:from|join)\s+(\w+)", sql))


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_END: Final = "([0-9]{20})-[0-9]{10}[.]checkpoint"
_WITHOUT_QUERY: Final = "(case when file like '%://%' then regexp_extract(file, '^[^?]*', 0) else file end)"
_IN_CHECKPOINT: Final = f"(regexp_extract({_WITHOUT_QUERY}, '[.]checkpoint[^/]*$', 0) <> '')"
_CHECKPOINT_END: Final = f"coalesce(try_cast(regexp_extract({_WITHOUT_QUERY}, '{_END}[^/]*$', 1) as bigint), 0)"
_SQL: Final = {
    "log_of(file)": f"regexp_extract({_WITHOUT_QUERY}, '([^/]+)/[^/]+$', 1)",
    "in_checkpoint(file)": _IN_CHECKPOINT,
    "position_of(file, log_offset)": f"(case when {_IN_CHECKPOINT} then 2 * {_CHECKPOINT_END} else 2 * log_offset + 1 end)",
}
INT64_MAX: Final = (1 << 63) - 1


def with_places(sql: str) -> str:
    """Return a question in which `log_of(file)`, `in_checkpoint(file)` and `position_of(file, log_offset)` are what both engines know.

    Positions: what a checkpoint holds stands just before the first record that it does not hold.
    """
    for name, text in _SQL.items():
        sql = sql.replace(name, text)
    return sql


def in_checkpoint(file: str) -> bool:
    """Return whether a file is a checkpoint."""
    return ".checkpoint" in file_name(file)


def checkpoint_end(file: str) -> int:
    """Return the first offset that a checkpoint does not hold, 0 where its name does not say one."""
    found = re.search(_END, file_name(file))
    end = int(found[1]) if found else 0
    return end if end <= INT64_MAX else 0


# ---- values as people read them

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
    """Return the heading of a column whose values have units: `lasted_ms` is `lasted`."""
    return column.removesuffix(_DURATION)


def heading(column: str) -> str:
    """Return the heading of a column in words, without its unit."""
    return short_name(column).replace("_", " ")


def shown_columns(answer: pa.Table) -> list[str]:
    """Return the columns that people see: the cluster's only if there are several."""
    is_one = len(answer.column(CLUSTER).unique()) <= 1
    return [name for name in answer.column_names if not (is_one and name == CLUSTER)]


def plain_rows(answer: pa.Table, convert: Callable[[datetime], object]) -> Iterator[list[object]]:
    """Yield the rows of an answer, its times converted."""
    return ([convert(value) if isinstance(value, datetime) else value for value in row.values()] for row in python_rows(answer))


def python_rows(answer: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of an answer, of which few are Python's objects at one time."""
    return (row for batch in answer.to_batches(max_chunksize=_ROWS_AT_ONCE) for row in batch.to_pylist())


def cell_text(column: str, value: Any) -> str:
    """Return a value: times in UTC to the second, durations and sizes in units that fit, lists with commas, nothing for null."""
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
    """Return a number of a column, in its unit."""
    if column.endswith(_DURATION):
        return duration_text(round(value))
    if column == _SIZE:
        return size_text(round(value))
    return f"{value:.0f}" if value == value // 1 else f"{value:g}"


def second_text(value: datetime) -> str:
    """Return a time in UTC to the second."""
    return f"{datetime_text(value)[:19]}Z"


def datetime_text(value: datetime) -> str:
    """Return a time in UTC to the millisecond."""
    return time_text(unix_ms(value))


def unix_ms(value: datetime) -> int:
    """Return a time as Unix milliseconds."""
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def datetime_of(ms: float) -> datetime:
    """Return the time of Unix milliseconds, or the nearest that a calendar has."""
    return _EPOCH + timedelta(milliseconds=min(max(int(ms), EARLIEST_MS), LATEST_MS))


REPORTS: Final = {name: _report(name) for name in REPORT_SUMMARIES}
"""Every report by its name, in the order in which the command line lists them."""
