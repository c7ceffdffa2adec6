"""The reports as data: what each asks, answers and draws; and the base tables under the names that their SQL uses.

A report NAME is one SELECT, `sql/NAME.sql`, and its description, `sql/NAME.toml`; `Report` and `Chart` say what stands in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from metashell.log.kinds import METADATA, LogKind
from metashell.options.shared import REPORT_SUMMARIES
from metashell.reports.places import with_places

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
    """A text from `sql/`, as both engines read it."""
    return with_places((files("metashell.reports") / "sql" / path).read_text(encoding="utf-8"))


def view_text(name: str) -> str:
    """The SELECT that a view stands for."""
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
"""What several questions are built on, each after those that it reads itself."""


def _report(name: str) -> Report:
    described = tomllib.loads(sql_text(f"{name}.toml"))
    charts = tuple(Chart(**{key: _as_tuple(value) for key, value in chart.items()}) for chart in described.pop("charts", ()))
    sql = sql_text(f"{name}.sql")
    read = _all_read(sql)
    tables = tuple(table for table in (*BASES, *DERIVED) if table in read)
    described = {key: _as_tuple(value) for key, value in described.items()}
    return Report(name=name, sql=sql, tables=tables, views=tuple(view for view in VIEWS if view in read), charts=charts, **described)


def _all_read(sql: str, *, folded: Collection[str] = ()) -> set[str]:
    """The tables and views that a question needs, but for the tables of views that are `folded`, for which no SQL is asked."""
    read = _names_read(sql)
    for view in reversed(VIEWS):
        if view in read:
            found = _names_read(view_text(view))
            read |= found & set(VIEWS) if view in folded else found
    return read


def tables_in_sql(reports: Iterable[Report], folded: Collection[str]) -> list[str]:
    """The base tables that the SQL of these reports reads where some views are not made by SQL."""
    read = {name for report in reports for name in _all_read(report.sql, folded=folded)}
    return [table for table in (*BASES, *DERIVED) if table in read]


def _names_read(sql: str) -> set[str]:
    """What stands after FROM and JOIN: tables, views, and names of the question's own."""
    return set(re.findall(r"\b(?:from|join)\s+(\w+)", sql))


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


REPORTS: Final = {name: _report(name) for name in REPORT_SUMMARIES}
"""Every report by its name, in the order in which the command line lists them."""
