"""The base table `group_topics`: what groups are, and the topics that their members are subscribed to.

One row with `is_group` for each record about a group as a whole, and one for each record about a part of it: a member, a regular
expression that the coordinator resolved, or a topology. `topics` is null where a classic group's subscriptions are not known.
Kafka decides by these whether a committed offset is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from metashell.codec.blobs.consumer_protocol import read_subscription
from metashell.errors import DecodeError
from metashell.reports.group_members import Row

GROUP_TOPICS_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("file", pa.string()),
        ("log_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", pa.int64()),
        ("group_id", pa.string()),
        ("kind", pa.string()),
        ("is_group", pa.bool_()),
        ("is_gone", pa.bool_()),
        ("part", pa.string()),
        ("is_member", pa.bool_()),
        ("has_members", pa.bool_()),
        ("protocol_type", pa.string()),
        ("state_ms", pa.int64()),
        ("topics", pa.list_(pa.string())),
    ]
)


def _topics_row(row: Row, group_id: str, kind: str, **more: Any) -> Row:
    place = {name: row[name] for name in ("cluster_id", "file", "epoch", "timestamp")}
    flags = {"is_group": False, "is_gone": row["tombstone"], "is_member": False, "has_members": False}
    found: Row = {**flags, "part": "", "protocol_type": None, "state_ms": None, "topics": []}
    return {**place, "log_offset": row["offset"], "group_id": group_id, "kind": kind, **found, **more}


def _topics_of_classic(row: Row) -> Iterator[Row]:
    members = row["members"] or ()
    yield _topics_row(
        row,
        row["group"],
        "classic",
        is_group=True,
        has_members=bool(members),
        protocol_type=row["protocol_type"] or None,
        state_ms=row["current_state_timestamp"],
        topics=_subscribed(members) if row["protocol_type"] == "consumer" else None,
    )


def _subscribed(members: list[Row] | tuple[Row, ...]) -> list[str] | None:
    """The topics of all members; None where one of them cannot be read."""
    topics: dict[str, None] = {}
    for member in members:
        try:
            topics.update(dict.fromkeys(read_subscription(member["subscription"] or b"").topics))
        except DecodeError:
            return None
    return list(topics)


def _group_of(kind: str) -> Callable[[Row], Iterator[Row]]:
    def make(row: Row) -> Iterator[Row]:
        yield _topics_row(row, row["group_id"], kind, is_group=True)

    return make


def _member_topics_of(kind: str) -> Callable[[Row], Iterator[Row]]:
    def make(row: Row) -> Iterator[Row]:
        yield _topics_row(
            row, row["group_id"], kind, part=f"member {row['member_id']}", is_member=True, topics=row.get("subscribed_topic_names") or []
        )

    return make


def _expression(row: Row) -> Iterator[Row]:
    yield _topics_row(row, row["group_id"], "consumer", part=f"expression {row['regular_expression']}", topics=row["topics"] or [])


def _topology(row: Row) -> Iterator[Row]:
    topics = [
        topic
        for part in row["subtopologies"] or ()
        for topic in (*(part["source_topics"] or ()), *(one["name"] for one in part["repartition_source_topics"] or ()))
    ]
    yield _topics_row(row, row["group_id"], "streams", part="topology", topics=topics)


GROUP_TOPICS_SOURCES: Final[dict[str, Callable[[Row], Iterator[Row]]]] = {
    "group_metadata": _topics_of_classic,
    "consumer_group_metadata": _group_of("consumer"),
    "consumer_group_member_metadata": _member_topics_of("consumer"),
    "consumer_group_regular_expression": _expression,
    "share_group_metadata": _group_of("share"),
    "streams_group_metadata": _group_of("streams"),
    "streams_group_member_metadata": _member_topics_of("streams"),
    "streams_group_topology": _topology,
}
"""The tables of columns/ that group_topics is made of."""
