"""The reports as data: what each reads, asks, answers and draws; and the base tables under the names that their SQL uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from metashell.log.kinds import METADATA, OFFSETS, LogKind

ColumnType = Literal["string", "integer", "boolean", "time", "integers"]
ChartKind = Literal["bars over time", "lines over time", "longest bars"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart of a report.

    `bars over time` stacks the sums of `values` by `x`, a time, one series for each of several values or for each text in `series`;
    `lines over time` draws the largest `values[0]` of each `series` instead; `longest bars` draws the rows with the most `values[0]`,
    called by the columns of `x`. Only rows that have `where[1]` in column `where[0]` take part.
    """

    title: str
    kind: ChartKind
    x: tuple[str, ...]
    values: tuple[str, ...]
    series: tuple[str, ...] = ()
    where: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report: `tables` of columns/ and `views` in the order of their making, then the question itself.

    `log` is the one whose rows it wants, also of the tables that every log has. `wants_checkpoints` asks for every checkpoint of a
    directory, not only the one that replay needs.
    """

    name: str
    title: str
    summary: str
    how_to_read: str
    tables: tuple[str, ...]
    views: tuple[str, ...] = ()
    columns: dict[str, ColumnType] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    wants_checkpoints: bool = False
    log: LogKind = METADATA

    @property
    def sql(self) -> str:
        """The question, one SELECT."""
        return sql_text(f"{self.name}.sql")


@cache
def sql_text(path: str) -> str:
    """A text from `sql/`."""
    return (files("metashell.reports") / "sql" / path).read_text(encoding="utf-8")


def view_text(name: str) -> str:
    """The SELECT that a view stands for."""
    return sql_text(f"views/{name}.sql")


_PLACE = {"cluster_id": "cluster_id", "file": "file", "offset": "log_offset", "epoch": "epoch", "timestamp": "timestamp"}


def _base(*names: str, **renamed: str) -> dict[str, str]:
    """Columns of a base table: those of every row, those that keep their names, and those that get another one."""
    return {**_PLACE, **{name: name for name in names}, **renamed}


# `offset` and `group` are words of SQL, which the dialects quote differently, so nothing is called so.
BASES: Final[dict[str, dict[str, str]]] = {
    "batches": _base("count", "size"),
    "records": _base("kind", "type", "size", "checkpoint"),
    "control": _base("type", "leader_id"),
    "topic": _base("name", "topic_id"),
    "remove_topic": _base("topic_id"),
    "clear_elr": _base("topic_name"),
    "partition": _base(
        "topic_id",
        "partition_id",
        "replicas",
        "adding_replicas",
        "isr",
        "leader",
        "leader_recovery_state",
        "eligible_leader_replicas",
        "last_known_elr",
    ),
    "partition_change": _base(
        "topic_id",
        "partition_id",
        "replicas",
        "adding_replicas",
        "isr",
        "leader",
        "leader_recovery_state",
        "eligible_leader_replicas",
        "last_known_elr",
    ),
    "config": _base("resource_type", "resource_name", "name", "value"),
    "register_broker": _base("broker_id", "broker_epoch", "rack", "fenced", "in_controlled_shutdown"),
    "unregister_broker": _base("broker_id", "broker_epoch"),
    "broker_registration_change": _base("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown"),
    "fence_broker": _base("id", value_epoch="value_epoch"),
    "unfence_broker": _base("id", value_epoch="value_epoch"),
    "offset_commit": _base("topic", "tombstone", "value_offset", group="group_id", partition="partition_id"),
}
"""The columns of each table that reports read, and what the SQL calls them."""

PARTITION_TABLES: Final = ("topic", "remove_topic", "clear_elr", "partition", "partition_change")
GROUP_MEMBERS: Final = "group_members"
"""A table that is derived in Python, from the sources that `group_members.SOURCES` names: assignments of classic groups are blobs."""

_REPORTS: Final = (
    Report(
        name="leadership_churn",
        title="Leadership and ISR churn",
        summary="leaders won and lost, ISR shrinks and expands, per broker and hour",
        how_to_read="A broker that loses leaders and leaves ISRs in the same hour was away or slow; one that only leaves and joins ISRs "
        "cannot keep up. Of a partition whose earlier state was not read it cannot be told what changed: such changes stand in rows "
        "without a broker, counted as changes_left_out; with the checkpoint before the log there are none.",
        tables=PARTITION_TABLES,
        views=("topic_names", "partition_states"),
        columns={
            "cluster_id": "string",
            "hour": "time",
            "broker_id": "integer",
            "leaders_gained": "integer",
            "leaders_lost": "integer",
            "isr_shrinks": "integer",
            "isr_expands": "integer",
            "changes_left_out": "integer",
        },
        charts=(
            Chart(title="Leaders lost by broker", kind="bars over time", x=("hour",), values=("leaders_lost",), series=("broker_id",)),
            Chart(title="ISR shrinks by broker", kind="bars over time", x=("hour",), values=("isr_shrinks",), series=("broker_id",)),
            Chart(title="ISR shrinks and expands", kind="bars over time", x=("hour",), values=("isr_shrinks", "isr_expands")),
        ),
    ),
    Report(
        name="unclean_elections",
        title="Unclean elections and eligible leader replicas",
        summary="unclean elections, elections from the ELR, partitions without leader, changes of the ELR",
        how_to_read="An unclean election may have lost records; an election from the ELR has not. A partition without leader waits for a "
        "replica of its ISR or ELR to return.",
        tables=PARTITION_TABLES,
        views=("topic_names", "partition_states"),
        columns={
            "cluster_id": "string",
            "at": "time",
            "log_offset": "integer",
            "topic": "string",
            "partition": "integer",
            "event": "string",
            "previous_leader": "integer",
            "leader": "integer",
            "previous_isr": "integers",
            "isr": "integers",
            "previous_elr": "integers",
            "elr": "integers",
            "last_known_elr": "integers",
        },
        charts=(Chart(title="Events over time", kind="bars over time", x=("at",), values=(), series=("event",)),),
    ),
    Report(
        name="under_replicated",
        title="Under-replicated partitions",
        summary="intervals in which a partition lacked in-sync replicas, longest first",
        how_to_read="isr_size_min is the smallest ISR within the interval, missing_at_start the replicas that were not in it when it "
        "began. An interval that is open had not ended when the log that was read did.",
        tables=(*PARTITION_TABLES, "batches"),
        views=("topic_names", "partition_states"),
        columns={
            "cluster_id": "string",
            "topic": "string",
            "partition": "integer",
            "started_at": "time",
            "ended_at": "time",
            "lasted_ms": "integer",
            "ended_by": "string",
            "replicas": "integer",
            "isr_size_min": "integer",
            "was_leaderless": "boolean",
            "missing_at_start": "integers",
        },
        charts=(
            Chart(title="Longest intervals, ms", kind="longest bars", x=("topic", "partition"), values=("lasted_ms",)),
            Chart(title="Intervals that began", kind="bars over time", x=("started_at",), values=(), series=("ended_by",)),
        ),
    ),
    Report(
        name="topic_history",
        title="Topics and configurations",
        summary="topics created, grown and removed; every configuration set and removed",
        how_to_read="One row for each change, in the order of the log. Secret values are shown as [redacted].",
        tables=(*PARTITION_TABLES, "config"),
        views=("topic_names", "partition_states"),
        columns={
            "cluster_id": "string",
            "at": "time",
            "log_offset": "integer",
            "resource": "string",
            "name": "string",
            "event": "string",
            "setting": "string",
            "value_before": "string",
            "value": "string",
        },
        charts=(Chart(title="Changes over time", kind="bars over time", x=("at",), values=(), series=("event",)),),
    ),
    Report(
        name="broker_sessions",
        title="Broker sessions",
        summary="registrations of brokers, fencing, controlled shutdowns",
        how_to_read="A session without a controlled shutdown that was followed by another one ended by a crash or a kill. Many unfencings "
        "within one session mean missed heartbeats.",
        tables=("register_broker", "unregister_broker", "broker_registration_change", "fence_broker", "unfence_broker"),
        columns={
            "cluster_id": "string",
            "broker_id": "integer",
            "broker_epoch": "integer",
            "rack": "string",
            "registered_at": "time",
            "first_unfenced_at": "time",
            "fenced_count": "integer",
            "unfenced_count": "integer",
            "controlled_shutdown_at": "time",
            "ended_at": "time",
            "ended_by": "string",
            "lasted_ms": "integer",
        },
        charts=(
            Chart(title="Registrations by broker", kind="bars over time", x=("registered_at",), values=(), series=("broker_id",)),
            Chart(title="Longest ended sessions, ms", kind="longest bars", x=("broker_id", "broker_epoch"), values=("lasted_ms",)),
        ),
    ),
    Report(
        name="controller_elections",
        title="Controller elections",
        summary="leaders of the metadata quorum: when elected, how long they led, the silence before",
        how_to_read="silence_ms is the time from the last batch of the epoch before to the election: how long nothing could be changed. "
        "Epochs without a row had candidates but no leader that wrote.",
        tables=("control", "batches"),
        columns={
            "cluster_id": "string",
            "elected_at": "time",
            "epoch": "integer",
            "log_offset": "integer",
            "previous_leader_id": "integer",
            "leader_id": "integer",
            "led_ms": "integer",
            "silence_ms": "integer",
            "records": "integer",
            "batches": "integer",
        },
        charts=(
            Chart(title="Elections by winner", kind="bars over time", x=("elected_at",), values=(), series=("leader_id",)),
            Chart(title="Time led, ms", kind="longest bars", x=("leader_id", "epoch"), values=("led_ms",)),
        ),
    ),
    Report(
        name="metadata_growth",
        title="Metadata growth",
        summary="records and bytes of the metadata log by type and hour, sizes of checkpoints",
        how_to_read="bytes are those of values, without keys and batch headers. A type that grows in the log but not in "
        "checkpoints is churn.",
        tables=("records",),
        wants_checkpoints=True,
        columns={
            "cluster_id": "string",
            "source": "string",
            "checkpoint": "string",
            "hour": "time",
            "type": "string",
            "records": "integer",
            "bytes": "integer",
        },
        charts=(
            Chart(
                title="Bytes in the log by type",
                kind="bars over time",
                x=("hour",),
                values=("bytes",),
                series=("type",),
                where=("source", "log"),
            ),
            Chart(
                title="Records in the log by type",
                kind="bars over time",
                x=("hour",),
                values=("records",),
                series=("type",),
                where=("source", "log"),
            ),
            Chart(
                title="Bytes of checkpoints by type",
                kind="bars over time",
                x=("checkpoint",),
                values=("bytes",),
                series=("type",),
                where=("source", "snapshot"),
            ),
        ),
    ),
    Report(
        name="group_rebalances",
        title="Rebalances of groups",
        summary="generations of groups: members that joined and left, partitions that moved",
        how_to_read="generation is the generation of a classic group and the group epoch of the others. settled_ms is the time from "
        "its first to its last record. Read it over __consumer_offsets.",
        tables=(GROUP_MEMBERS,),
        log=OFFSETS,
        views=("group_history",),
        columns={
            "cluster_id": "string",
            "group_id": "string",
            "protocol": "string",
            "generation": "integer",
            "started_at": "time",
            "settled_ms": "integer",
            "joined": "integer",
            "departed": "integer",
            "members": "integer",
            "partitions_moved": "integer",
        },
        charts=(
            Chart(title="Generations by group", kind="bars over time", x=("started_at",), values=(), series=("group_id",)),
            Chart(title="Members joined and departed", kind="bars over time", x=("started_at",), values=("joined", "departed")),
            Chart(
                title="Partitions moved by group",
                kind="bars over time",
                x=("started_at",),
                values=("partitions_moved",),
                series=("group_id",),
            ),
        ),
    ),
    Report(
        name="group_offsets",
        title="Committed offsets of groups",
        summary="commits, first and last committed offset, rewinds and deletions by partition and hour",
        how_to_read="A partition whose last_offset stays while others advance is stuck or idle; a rewind is a commit below the one before.",
        tables=("offset_commit",),
        log=OFFSETS,
        columns={
            "cluster_id": "string",
            "group_id": "string",
            "topic": "string",
            "partition": "integer",
            "hour": "time",
            "commits": "integer",
            "first_offset": "integer",
            "last_offset": "integer",
            "rewinds": "integer",
            "deletions": "integer",
        },
        charts=(
            Chart(title="Commits by group", kind="bars over time", x=("hour",), values=("commits",), series=("group_id",)),
            Chart(
                title="Highest committed offset", kind="lines over time", x=("hour",), values=("last_offset",), series=("group_id", "topic")
            ),
        ),
    ),
)

REPORTS: Final[dict[str, Report]] = {report.name: report for report in _REPORTS}
"""Every report by its name, in the order of their list."""
