"""Base tables that are made in Python, from rows of several tables: what SQL cannot read, such as blobs inside records.

`group_members` has every group of `__consumer_offsets`, its generations and assignments. Classic groups keep assignments as blobs of the
consumer protocol inside one record for the whole group; the newer protocols write a record for each member, which names topics by id.
Both become rows of one kind: one with `is_group` for each generation, and one for each member.

`group_topics` has the topics that groups are subscribed to: one row with `is_group` for each record about a group as a whole, and one for
each member, resolved regular expression or topology. `topics` is null where a classic group's subscriptions are not known. Kafka decides
by these whether a committed offset is kept.

`group_transactions` has transactional batches of `__consumer_offsets` and the markers that commit or abort them. Offsets that are
committed in a transaction are in the log long before it is decided whether they count (KIP-98).

`quota_records`, `acl_records` and `scram_records` have words for codes and no secrets. All these are few, so objects are good enough."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute

from metashell.codec.codes import ACL_OPERATIONS, ACL_PATTERN_TYPES, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES, SCRAM_MECHANISMS, code_name
from metashell.codec.consumer_protocol import read_assignment, read_subscription
from metashell.common.errors import DecodeError
from metashell.common.forms import compact_json
from metashell.tables.reports.catalog import (
    ACL_RECORDS,
    EARLIEST_MS,
    GROUP_MEMBERS,
    GROUP_TOPICS,
    GROUP_TRANSACTIONS,
    LATEST_MS,
    QUOTA_RECORDS,
    SCRAM_RECORDS,
)

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
    """Yield the rows of a generation of a classic group: one for it and one for each member."""
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
    """Return `topic-partition` for each one that the consumer protocol's assignment names; nothing where it is none."""
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
    """Current assignments of the newer protocols; a member that left has a tombstone or a negative epoch."""

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
"""The tables of events that group_members is made of."""


# ---- topics of groups

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
    """Return the topics of all members; None where one of them cannot be read."""
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
"""The tables of events that group_topics is made of."""


# ---- transactions of groups

GROUP_TRANSACTIONS_SCHEMA: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("file", pa.string()),
        ("log_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", pa.int64()),
        ("producer_id", pa.int64()),
        ("marker", pa.string()),
    ]
)
_MARKERS: Final = ("COMMIT", "ABORT")


def _transaction_row(row: Row, last_offset: int, marker: str | None) -> Row:
    place = {name: row[name] for name in ("cluster_id", "file", "epoch", "timestamp", "producer_id")}
    return {**place, "log_offset": row["offset"], "last_offset": last_offset, "marker": marker}


def _batch(row: Row) -> Iterator[Row]:
    yield _transaction_row(row, row["last_offset"], None)


def _marker(row: Row) -> Iterator[Row]:
    yield _transaction_row(row, row["offset"], row["type"])


def only_transactions(source: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of a source that are about transactions: few, mostly, and found without objects."""
    if source == "control":
        return batch.filter(compute.is_in(batch.column("type"), value_set=pa.array(_MARKERS)))
    return batch.filter(compute.and_(batch.column("is_transactional"), compute.invert(batch.column("is_control"))))


GROUP_TRANSACTIONS_SOURCES: Final[dict[str, Callable[[Row], Iterator[Row]]]] = {"batches": _batch, "control": _marker}
"""The tables of events that group_transactions is made of."""


# ---- quotas, ACLs and SCRAM credentials

_PLACE: Final = [
    ("cluster_id", pa.string()),
    ("file", pa.string()),
    ("log_offset", pa.int64()),
    ("epoch", pa.int32()),
    ("timestamp", pa.int64()),
    ("is_removed", pa.bool_()),
]
QUOTA_SCHEMA: Final = pa.schema(
    [*_PLACE, ("entity_key", pa.string()), ("entity", pa.string()), ("name", pa.string()), ("value", pa.float64())]
)
_ACL_WORDS: Final = {
    "resource_type": ACL_RESOURCE_TYPES,
    "pattern_type": ACL_PATTERN_TYPES,
    "operation": ACL_OPERATIONS,
    "permission_type": ACL_PERMISSION_TYPES,
}
_ACL_TEXTS: Final = ("resource_name", "principal", "host")
ACL_SCHEMA: Final = pa.schema([*_PLACE, ("acl_id", pa.string()), *((name, pa.string()) for name in (*_ACL_WORDS, *_ACL_TEXTS))])
SCRAM_SCHEMA: Final = pa.schema([*_PLACE, ("user_name", pa.string()), ("mechanism", pa.string()), ("iterations", pa.int64())])
_ENTITY_TYPES: Final = ("user", "client-id", "ip")
Make = Callable[[Row], Iterator[Row]]


def _place(row: Row, *, is_removed: bool) -> Row:
    found = {name: row[name] for name in ("cluster_id", "file", "epoch")}
    at_ms = min(max(row["timestamp"], EARLIEST_MS), LATEST_MS)
    return {**found, "log_offset": row["offset"], "timestamp": at_ms, "is_removed": is_removed}


def _quota(row: Row) -> Iterator[Row]:
    parts = [(part["entity_type"], part["entity_name"]) for part in row["entity"]]
    parts.sort(key=lambda part: (_ENTITY_TYPES.index(part[0]) if part[0] in _ENTITY_TYPES else len(_ENTITY_TYPES), part[0]))
    entity = ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in parts)
    value = None if row["remove"] else row["value"]
    yield {**_place(row, is_removed=row["remove"]), "entity_key": compact_json(parts), "entity": entity, "name": row["key"], "value": value}


def _acl_of(*, is_removed: bool) -> Make:
    def make(row: Row) -> Iterator[Row]:
        acl_id = urlsafe_b64encode(row["id"]).decode().rstrip("=")
        said: Row = {}
        if not is_removed:
            said = {name: code_name(words, row[name]) for name, words in _ACL_WORDS.items()} | {name: row[name] for name in _ACL_TEXTS}
        yield {**_place(row, is_removed=is_removed), "acl_id": acl_id, **said}

    return make


def _scram_of(*, is_removed: bool) -> Make:
    def make(row: Row) -> Iterator[Row]:
        mechanism = code_name(SCRAM_MECHANISMS, row["mechanism"])
        yield {
            **_place(row, is_removed=is_removed),
            "user_name": row["name"],
            "mechanism": mechanism,
            "iterations": None if is_removed else row["iterations"],
        }

    return make


QUOTA_SOURCES: Final[dict[str, Make]] = {"client_quota": _quota}
ACL_SOURCES: Final[dict[str, Make]] = {
    "access_control_entry": _acl_of(is_removed=False),
    "remove_access_control_entry": _acl_of(is_removed=True),
}
SCRAM_SOURCES: Final[dict[str, Make]] = {
    "user_scram_credential": _scram_of(is_removed=False),
    "remove_user_scram_credential": _scram_of(is_removed=True),
}


# ---- all derived tables


class Derived(NamedTuple):
    """A table that is made so: its columns, and for each of its sources how a row of that becomes rows of this; and which rows do."""

    schema: pa.Schema
    sources: dict[str, Callable[[Row], Iterator[Row]]]
    wanted: Callable[[str, pa.RecordBatch], pa.RecordBatch] | None = None

    def rows_of(self, source: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that a batch of one of the sources stands for. Groups are few and their records small, so objects will do."""
        make = self.sources[source]
        batch = batch if self.wanted is None else self.wanted(source, batch)
        return pa.RecordBatch.from_pylist([made for row in batch.to_pylist() for made in make(row)], schema=self.schema)


DERIVED_TABLES: Final = {
    GROUP_MEMBERS: Derived(GROUP_MEMBERS_SCHEMA, GROUP_MEMBERS_SOURCES),
    GROUP_TOPICS: Derived(GROUP_TOPICS_SCHEMA, GROUP_TOPICS_SOURCES),
    GROUP_TRANSACTIONS: Derived(GROUP_TRANSACTIONS_SCHEMA, GROUP_TRANSACTIONS_SOURCES, only_transactions),
    QUOTA_RECORDS: Derived(QUOTA_SCHEMA, QUOTA_SOURCES),
    ACL_RECORDS: Derived(ACL_SCHEMA, ACL_SOURCES),
    SCRAM_RECORDS: Derived(SCRAM_SCHEMA, SCRAM_SOURCES),
}
