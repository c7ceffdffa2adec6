"""The base table `group_members`: every group of `__consumer_offsets`, its generations and what its members were assigned.

Classic groups keep assignments as blobs of the consumer protocol inside one record for the whole group; the newer protocols write a
record for each member, which names topics by id. Here both become rows of one kind: one with `is_group` for each generation,
and one for each member. Groups are few and their records small, so objects are good enough.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from metashell.codec.blobs.consumer_protocol import read_assignment
from metashell.errors import DecodeError

GROUP_MEMBERS_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("file", pa.string()),
        ("log_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", pa.int64()),
        ("group_id", pa.string()),
        ("protocol", pa.string()),
        ("generation", pa.int64()),
        ("is_group", pa.bool_()),
        ("is_gone", pa.bool_()),
        ("member_id", pa.string()),
        ("assigned", pa.list_(pa.string())),
    ]
)
Row = dict[str, Any]


def _member_row(row: Row, group: str, protocol: str, **more: Any) -> Row:
    place = {name: row[name] for name in ("cluster_id", "file", "epoch", "timestamp")}
    found: Row = {"generation": None, "is_group": False, "is_gone": False, "member_id": None, "assigned": []}
    return {**place, "log_offset": row["offset"], "group_id": group, "protocol": protocol, **found, **more}


def _members_of_classic(row: Row) -> Iterator[Row]:
    """A generation of a classic group: a row for it and one for each member."""
    group, generation = row["group"], row["generation"]
    if row["tombstone"]:
        yield _member_row(row, group, "classic", is_group=True, is_gone=True)
        return
    protocol = "cooperative" if (row["protocol"] or "").startswith("cooperative") else "classic"
    yield _member_row(row, group, protocol, generation=generation, is_group=True)
    for member in row["members"] or ():
        assigned = _assigned_by_blob(member["assignment"], row["protocol_type"])
        yield _member_row(row, group, protocol, generation=generation, member_id=member["member_id"], assigned=assigned)


def _assigned_by_blob(blob: bytes | None, protocol_type: str | None) -> list[str]:
    """`topic-partition` of all that the consumer protocol's assignment names; nothing where it is none."""
    if not blob or protocol_type != "consumer":
        return []
    try:
        assignment = read_assignment(blob)
    except DecodeError:
        return []
    return [f"{topic}-{number}" for topic, number in assignment.partitions]


def _epoch_of(protocol: str) -> Callable[[Row], Iterator[Row]]:
    """Group records of the newer protocols: their epoch is the generation."""

    def make(row: Row) -> Iterator[Row]:
        yield _member_row(row, row["group_id"], protocol, is_group=True, is_gone=row["tombstone"], generation=row.get(_EPOCH))

    return make


def _member_of(protocol: str, fields: tuple[str, ...], part_name: str) -> Callable[[Row], Iterator[Row]]:
    """Current assignments of the newer protocols; a member that left says so by a tombstone or a negative epoch."""

    def make(row: Row) -> Iterator[Row]:
        is_gone = row["tombstone"] or (row["member_epoch"] or 0) < 0
        assigned = [] if is_gone else [text for field in fields for text in _assigned(row[field], part_name)]
        yield _member_row(
            row,
            row["group_id"],
            protocol,
            generation=row["member_epoch"],
            is_gone=is_gone,
            member_id=row["member_id"],
            assigned=assigned,
        )

    return make


def _assigned(parts: list[Row] | None, name: str) -> Iterator[str]:
    for part in parts or ():
        label = part[name]
        text = urlsafe_b64encode(label).decode().rstrip("=") if isinstance(label, bytes) else label
        yield from (f"{text}-{number}" for number in part["partitions"])


# The envelope has a column `epoch` already.
_EPOCH: Final = "value_epoch"
GROUP_MEMBERS_SOURCES: Final[dict[str, Callable[[Row], Iterator[Row]]]] = {
    "group_metadata": _members_of_classic,
    "consumer_group_metadata": _epoch_of("consumer"),
    "consumer_group_current_member_assignment": _member_of("consumer", ("assigned_partitions",), "topic_id"),
    "share_group_metadata": _epoch_of("share"),
    "share_group_current_member_assignment": _member_of("share", ("assigned_partitions",), "topic_id"),
    "streams_group_metadata": _epoch_of("streams"),
    "streams_group_current_member_assignment": _member_of("streams", ("active_tasks",), "subtopology_id"),
}
"""The tables of columns/ that group_members is made of."""
