"""The names of all tables, without what it takes to make them."""

from __future__ import annotations

from functools import cache

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.schema import snake_case
from metashell.log.kinds import KNOWN_LOGS, METADATA, REMOTE_LOG, LogKind

COMMON_TABLES = ("records", "control", "batches", "faults")


def table_names() -> list[str]:
    """In the order of `tables()`."""
    names = [*COMMON_TABLES, *(record_table_name(name) for name in METADATA_TYPES.values())]
    for log in COORDINATOR_LOGS.values():
        names += [key_table_name(name) for key, name in log.keys.items() if key in log.values]
    return [*names, *(record_table_name(name) for name in REMOTE_LOG_TYPES.values())]


def log_of_table(table: str) -> LogKind | None:
    """The log whose records a table holds, None for those that every log has."""
    return _logs_of_tables().get(table)


@cache
def _logs_of_tables() -> dict[str, LogKind]:
    found: dict[str, LogKind] = {record_table_name(name): METADATA for name in METADATA_TYPES.values()}
    found |= {record_table_name(name): REMOTE_LOG for name in REMOTE_LOG_TYPES.values()}
    for log in KNOWN_LOGS:
        if log in COORDINATOR_LOGS:
            keys = COORDINATOR_LOGS[log].keys
            found |= {key_table_name(name): log for key, name in keys.items() if key in COORDINATOR_LOGS[log].values}
    return found


def record_table_name(message: str) -> str:
    """`PartitionChangeRecord` is in the table `partition_change`."""
    return snake_case(message.removesuffix("Record"))


def key_table_name(message: str) -> str:
    """`OffsetCommitKey` is in the table `offset_commit`."""
    return snake_case(message.removesuffix("Key"))
