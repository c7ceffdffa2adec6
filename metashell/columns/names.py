"""The names of all tables, without what it takes to make them."""

from __future__ import annotations

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.schema import snake_case

COMMON_TABLES = ("records", "control", "batches", "faults")


def table_names() -> list[str]:
    """In the order of `tables()`."""
    names = [*COMMON_TABLES, *(record_table_name(name) for name in METADATA_TYPES.values())]
    for log in COORDINATOR_LOGS.values():
        names += [key_table_name(name) for key, name in log.keys.items() if key in log.values]
    return [*names, *(record_table_name(name) for name in REMOTE_LOG_TYPES.values())]


def record_table_name(message: str) -> str:
    """`PartitionChangeRecord` is in the table `partition_change`."""
    return snake_case(message.removesuffix("Record"))


def key_table_name(message: str) -> str:
    """`OffsetCommitKey` is in the table `offset_commit`."""
    return snake_case(message.removesuffix("Key"))
