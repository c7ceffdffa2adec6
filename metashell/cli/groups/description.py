"""Groups of a live cluster, as their coordinators describe them, and the text form of a group from any source."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from metashell.cli.admin.cluster import describe_cluster
from metashell.cli.admin.group_changes import first_batches, newest_epoch
from metashell.cli.admin.groups import (
    CLASSIC,
    CONSUMER,
    committed_of_groups,
    committed_offsets,
    describe_group,
    list_groups,
    with_ends,
    with_members,
)
from metashell.cli.admin.topics import describe_topics, unseen_groups, unseen_topics
from metashell.cli.connection import CONTROLLER_VARIABLE, SERVER_VARIABLE, client_config_of, cluster_of
from metashell.codec.consumer_protocol import NOTE
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import aligned, counted, plain_text
from metashell.common.terminal import terminal_line
from metashell.common.values import duration_text, time_text
from metashell.groups.notes import assignment_notes, rebalance_notes, since_note
from metashell.groups.topics import KnownTopics, Topic
from metashell.groups.view import part_count, parts_text
from metashell.net.addresses import Address
from metashell.net.security import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.cli.admin.group_changes import EpochRecord
    from metashell.cli.cluster.noun_tool import Work
    from metashell.common.errors import MetashellError
    from metashell.groups.notes import ServerLog
    from metashell.groups.topics import Topics
    from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, OffsetRow
    from metashell.metadata.image import MetadataImage


LIST_COLUMNS = ("group", "group_type", "state", "protocol_type", "coordinator")
_SHARE = "share"
_WITHOUT_MEMBERS = ("Empty", "Dead")
SHOWN = 5
_FEW = 10


def asks_cluster(work: Work) -> bool:
    """Return whether to ask a cluster: the command line names no log, and it or the environment names a cluster. Errors: UsageError."""
    values = work.values
    is_named = bool(values.bootstrap_server or values.bootstrap_controller)
    if values.paths:
        if is_named:
            raise UsageError(f"{values.paths[0]}: logs are read, or a cluster is asked (-b, -C), not both", values.paths[0])
        return False
    if not is_named and not any(os.environ.get(name) for name in (SERVER_VARIABLE, CONTROLLER_VARIABLE)):
        raise UsageError("name log directories (PATH), or a cluster: brokers (-b HOST:PORT) or controllers (-C HOST:PORT)", "PATH")
    return True


def list_live_groups(work: Work) -> None:
    find_brokers(work)
    groups, failed = list_groups(work.admin)
    work.miss(*unseen_groups(work.admin), *(f"the groups that broker {node} coordinates: {error}" for node, error in failed))
    wanted = work.values
    rows = (
        group.as_object()
        for group in groups
        if wanted.group_type in (None, group.kind) and (wanted.state is None or wanted.state.lower() == group.state.lower())
    )
    work.rows(rows, LIST_COLUMNS, none=none_text(work))


def none_text(work: Work) -> str:
    """Return the text to show if there is no group to list."""
    wanted = work.values
    kind = f"{wanted.group_type} group" if wanted.group_type else "group"
    return f"no {kind} is in state {wanted.state}" if wanted.state else f"no {kind}s"


class WatchedState:
    """When a watch first saw the state that a group is in."""

    def __init__(self) -> None:
        self._state: tuple[object, ...] = ()
        self._since_s = self._since_ms = 0.0
        self._looks = 0

    def seen(self, description: GroupDescription) -> str:
        """Note the state; return since when it was seen, as text, empty at the first look."""
        summary = description.summary
        state = (summary.state, summary.epoch)
        if state != self._state:
            self._state, self._since_s, self._since_ms, self._looks = state, time.monotonic(), time.time() * 1000, 0
        self._looks += 1
        if self._looks == 1:
            return ""
        return f"at {time_text(round(self._since_ms))}, {duration_text(round(1000 * (time.monotonic() - self._since_s)))} ago"


def describe_live_group(work: Work, watched: WatchedState, log: ServerLog | None) -> GroupDescription:
    """Return the group with its members, and notes on its rebalance and its assignment. Errors: MetashellError."""
    find_brokers(work)
    description = describe_group(work.admin, work.values.group)
    notes = rebalance_notes(description, is_live=True, since=watched.seen(description), log=log)
    if not notes:
        notes = assignment_notes(description, _topics_of(work, description))
    if description.members and (record := _newest_epoch(work)) is not None:
        place = f"offset {record.offset} of __consumer_offsets-{record.partition}"
        notes = (since_note(description, epoch=record.epoch, ms=record.ms, place=place), *notes)
    return replace(description, notes=tuple(note.as_object() for note in notes))


def _newest_epoch(work: Work) -> EpochRecord | None:
    """Return the newest generation or epoch of the group in its log; None if the log cannot be read, which takes a right of its own."""
    try:
        return newest_epoch(work.admin, work.values.group)
    except MetashellError:
        return None


def _topics_of(work: Work, description: GroupDescription) -> Topics:
    """Return the topics of a group with the racks of their replicas; none that the cluster does not describe."""
    members = description.members
    names = {name for member in members for name in (*member.topics, *(topic for topic, _ in member.assigned))}
    if description.summary.kind not in (CLASSIC, CONSUMER) or not names:
        return KnownTopics()
    try:
        racks = {node.id: node.rack for node in describe_cluster(work.admin).nodes} if any(member.rack for member in members) else {}
        topics, _ = describe_topics(work.admin, sorted(names))
    except MetashellError as error:
        work.note(f"the assignment is not judged: {error}")
        return KnownTopics()
    return KnownTopics(
        Topic(
            topic.id,
            topic.name,
            tuple(tuple(sorted({racks[id] or "" for id in one.replicas if racks.get(id)})) for one in topic.partitions),
        )
        for topic in topics
    )


def offset_rows(work: Work) -> list[OffsetRow]:
    """Return the group's committed offsets with the owner of each partition, and with --lag the log end offsets. Errors: MetashellError."""
    find_brokers(work)
    group_id = work.values.group
    group = describe_group(work.admin, group_id)
    if group.summary.kind == _SHARE:
        raise share_commits_nothing(group_id)
    committed = committed_offsets(work.admin, group_id)
    # The cluster leaves out topics that the client may not describe.
    work.miss(*unseen_topics(work.admin, {row.topic for row in committed}))
    rows = with_members(committed, group)
    if work.values.lag:
        rows = with_ends(work.admin, rows)
        # A lag of a few records may be markers, which no consumer reads.
        few = [row for row in rows if 0 < (row.lag or 0) <= _FEW]
        if few:
            marked, _ = with_first_batches(work, few, _FEW)
            rows = [next((one for one in marked if (one.topic, one.partition) == (row.topic, row.partition)), row) for row in rows]
        unknown = [f"{row.topic}:{row.partition}" for row in rows if row.end_offset is None]
        if unknown:
            shown = ", ".join(unknown[:SHOWN]) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
            work.miss(f"where the logs end of {shown}: their leaders do not say (it needs DESCRIBE on the topic)")
    return rows


def lag_rows(work: Work) -> tuple[list[OffsetRow], dict[str, bool]]:
    """Return the committed offsets, with the ends of the logs, of the named group or of all, and whether each group has members.

    A group that cannot be read is a missing part of the answer. Errors: MetashellError.
    """
    if not work.values.all:
        work.values.lag = True
        rows = offset_rows(work)
        return rows, {work.values.group: any(row.member_id is not None for row in rows)}
    find_brokers(work)
    groups, failed = list_groups(work.admin)
    work.miss(*unseen_groups(work.admin), *(f"the groups that broker {node} coordinates: {error}" for node, error in failed))
    has_members = {group.group_id: group.state not in _WITHOUT_MEMBERS for group in groups if group.kind != _SHARE}
    found, refused = committed_of_groups(work.admin, list(has_members))
    work.miss(*(f"the offsets of {id}: {error}" for id, error in list(refused.items())[:SHOWN]))
    if len(refused) > SHOWN:
        work.miss(f"the offsets of {len(refused) - SHOWN} more groups")
    rows = with_ends(work.admin, [row for rows in found.values() for row in rows])
    return rows, has_members


def with_first_batches(work: Work, rows: Sequence[OffsetRow], most: int) -> tuple[list[OffsetRow], dict[tuple[str, int], int]]:
    """Return the rows, marked where only a marker is left to read, and by partition how old its first batch is that is not committed.

    Batches of the first `most` partitions with a lag are fetched, if they may be read.
    """
    late = [row for row in rows if (row.lag or 0) > 0]
    now_ms = round(time.time() * 1000)
    heads = first_batches(work.admin, {(row.topic, row.partition): row.offset for row in late[:most]})
    made = []
    for row in rows:
        head = heads.get((row.topic, row.partition))
        is_read = head is not None and head.is_control and row.stable_offset is not None and head.last_offset + 1 >= row.stable_offset
        made.append(replace(row, has_only_markers=True) if is_read else row)
    return made, {partition: max(now_ms - head.base_timestamp, 0) for partition, head in heads.items()}


def share_commits_nothing(group_id: str) -> MetashellError:
    """Return the error for a share group, which keeps the state of its partitions elsewhere."""
    return MetashellError(f"{group_id}: a share group commits no offsets")


def find_brokers(work: Work) -> None:
    """Find the brokers in the newest metadata if the command line names controllers. Errors: MetashellError."""
    if work.asks_controllers:
        addresses = brokers_of(work.image(), cluster_of(work.values).command_config, work.place)
        work.values.bootstrap_server, work.values.bootstrap_controller = addresses, None


def brokers_of(image: MetadataImage, command_config: str | None, place: str) -> str:
    """Return the brokers that are up as `HOST:PORT,...`, for the client's security protocol. Errors: MetashellError if there are none."""
    protocol = client_config_of(command_config).security.protocol
    addresses = broker_addresses(image, protocol)
    if not addresses:
        raise MetashellError(f"{place}: no broker is up that listens with {protocol}: groups are known to brokers alone")
    return ",".join(addresses)


def broker_addresses(image: MetadataImage, protocol: str) -> list[str]:
    """Return one address per unfenced broker that has a listener with the security protocol."""
    number = PROTOCOLS.index(protocol)
    found = []
    for _, broker in sorted(image.cluster.brokers.items()):
        listener = next((one for one in broker.listeners if one.security_protocol == number), None)
        if listener is not None and not broker.fenced:
            found.append(str(Address(listener.host, listener.port)))
    return found


_AWAY_EPOCH = -2
"""The member epoch of a static member that left temporarily."""
MEMBER_COLUMNS = (
    "group",
    "group_type",
    "state",
    "epoch",
    "member",
    "instance",
    "client",
    "host",
    "rack",
    "member_type",
    "member_epoch",
    "member_state",
    "topics",
    "assigned",
    "target",
    "revoking",
)


def member_rows(description: GroupDescription) -> list[dict[str, object]]:
    """Return a row for each member, or one row with only the group's columns if there are no members."""
    summary = description.summary
    group: dict[str, object] = {
        "type": "member",
        "group": summary.group_id,
        "group_type": summary.kind,
        "state": summary.state,
        "epoch": summary.epoch,
    }
    rows = [
        {
            **group,
            "member": member.member_id,
            "instance": member.instance_id,
            "client": member.client_id,
            "host": member.client_host,
            "rack": member.rack,
            "member_type": member.member_type,
            "member_epoch": member.epoch,
            "member_state": member.state or None,
            "topics": ",".join(member.topics) or member.regex,
            "assigned": parts_text(member.assigned),
            "target": None if member.target is None else parts_text(member.target),
            "revoking": parts_text(member.revoking),
        }
        for member in description.members
    ]
    return rows or [group]


def description_lines(description: GroupDescription) -> Iterator[str]:
    """Yield a group with its members as lines of text."""
    summary = description.summary
    yield terminal_line(f"{summary.group_id}: {summary.kind} group, {summary.state}, {counted(len(description.members), 'member')}")
    for line in aligned([[f"  {name}", value] for name, value in _facts(summary, description)]):
        yield line
    for finding in description.findings:
        yield terminal_line(f"  finding: {finding}")
    for note in description.notes:
        yield terminal_line(f"  note: {note['text']}")
    for member in description.members:
        yield terminal_line(_member_line(member))
        for line in aligned([[f"    {name}", value] for name, value in _member_facts(member)]):
            yield line


def _facts(summary: GroupSummary, description: GroupDescription) -> Iterator[tuple[str, str]]:
    epochs = "" if description.assignment_epoch is None else f", assignment epoch {description.assignment_epoch}"
    if summary.epoch is not None:
        yield ("generation" if summary.kind == "classic" else "epoch"), f"{summary.epoch}{epochs}"
    if summary.protocol_type:
        yield "protocol type", summary.protocol_type
    if description.assignor:
        yield "assignor", description.assignor
    if description.leader:
        yield "leader", description.leader
    if summary.offsets is not None:
        held = f", {summary.pending} held back by open transactions" if summary.pending else ""
        yield "offsets", f"{summary.offsets} partitions{held}"
    if summary.partition is not None:
        yield "log", f"__consumer_offsets-{summary.partition}"
    if summary.coordinator is not None:
        yield "coordinator", f"node {summary.coordinator}"
    for name, value in description.details.items():
        yield _words(name), _short(value)


def _member_line(member: MemberDescription) -> str:
    static = f", static member {member.instance_id}" if member.instance_id is not None else ""
    epoch = f", epoch {member.epoch}" if member.epoch is not None else ""
    if member.epoch == _AWAY_EPOCH:
        epoch += " (it is away, and its place is kept)"
    state = f", {member.state}" if member.state else ""
    return f"  member {member.member_id}{static}: {member.member_type} protocol{epoch}{state}, {part_count(member.assigned)} partitions"


def _member_facts(member: MemberDescription) -> Iterator[tuple[str, str]]:
    yield "client", f"{member.client_id} at {member.client_host}"
    if member.rack:
        yield "rack", member.rack
    if member.topics:
        yield "subscribes to", ", ".join(member.topics)
    if member.regex:
        yield "subscribes to all like", member.regex
    yield "has", parts_text(member.assigned) or "nothing"
    if member.target is not None and member.target != member.assigned:
        yield "is to have", parts_text(member.target) or "nothing"
    if member.revoking:
        yield "has still to give up", parts_text(member.revoking)
    for finding in member.findings:
        yield "finding", finding
    subscription = member.details.get("subscription")
    if isinstance(subscription, dict) and NOTE in subscription:
        yield "note", str(subscription[NOTE])


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(value: object) -> str:
    if isinstance(value, dict) and all(
        isinstance(numbers, list) and all(type(one) is int for one in numbers) for numbers in value.values()
    ):
        return parts_text(tuple((str(topic), tuple(numbers)) for topic, numbers in value.items())) or "nothing"
    return plain_text(value)
