"""The names of all tables, without what it takes to make them."""

from __future__ import annotations

from functools import cache

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.schema import snake_case
from metashell.log.kinds import KNOWN_LOGS, METADATA, LogKind

COMMON_TABLES = ("records", "control", "batches", "faults")
STATE_TABLES = ("topics", "partitions", "brokers", "controllers", "configs", "acls", "quotas", "features", "voters", "sources")
"""The tables of the current state; all others are of events."""


def table_names() -> list[str]:
    """The tables of events: those that every log has, then those of each log."""
    return [*COMMON_TABLES, *_logs_of_tables()]


def log_of_table(table: str) -> LogKind | None:
    """The log whose records a table holds, None for those that every log has."""
    return _logs_of_tables().get(table)


@cache
def _logs_of_tables() -> dict[str, LogKind]:
    return {name: log for log in KNOWN_LOGS for name in record_tables(log).values()}


def record_tables(log: str) -> dict[int, str]:
    """The names of the tables of one kind of log by record type."""
    if log in COORDINATOR_LOGS:
        coordinator = COORDINATOR_LOGS[log]
        return {type_id: key_table_name(name) for type_id, name in coordinator.keys.items() if type_id in coordinator.values}
    names = METADATA_TYPES if log == METADATA else REMOTE_LOG_TYPES
    return {type_id: record_table_name(name) for type_id, name in names.items()}


def record_table_name(message: str) -> str:
    """`PartitionChangeRecord` is in the table `partition_change`."""
    return snake_case(message.removesuffix("Record"))


def key_table_name(message: str) -> str:
    """`OffsetCommitKey` is in the table `offset_commit`."""
    return snake_case(message.removesuffix("Key"))
