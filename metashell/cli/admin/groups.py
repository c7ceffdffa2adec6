"""Groups of a live cluster: the list of groups, their members, their committed offsets, and the end offsets of logs. Through brokers only.

A request about a group goes to its coordinator. If the coordinator has moved or is loading its log, it is sent again until the deadline.
Source: org.apache.kafka.clients.admin.KafkaAdminClient (listGroups, describeConsumerGroups, listConsumerGroupOffsets); KIP-1043.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from metashell.cli.admin.protocol import AdminError, UnsupportedError, check_answer
from metashell.cli.admin.topics import long_transactions
from metashell.codec import messages
from metashell.codec.codes import CONSUMER_GROUP_DESCRIBE, FIND_COORDINATOR, OFFSET_FETCH
from metashell.codec.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, GROUP_ID_NOT_FOUND, NONE, NOT_COORDINATOR
from metashell.common.errors import MetashellError
from metashell.groups.view import GroupDescription, GroupSummary, Holder, MemberDescription, OffsetRow, Parts, classic_member

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin

T = TypeVar("T")
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
STREAMS: Final = "streams"
INTERNAL_TOPICS: Final = "internal_topics"
"""The detail of a streams group that lists its changelogs and repartition topics, as its topology names them."""
_RETRIED: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
_PAUSE_S: Final = 0.1
_MANY_KEYS_SINCE: Final = 4
_STATES_SINCE: Final = 4
_TYPES_SINCE: Final = 5
_GROUPS_SINCE: Final = 8
_NAMES_UNTIL: Final = 9
_LATEST: Final = -1
_COMMITTED_ONLY: Final = 1
"""The isolation level with which ListOffsets returns the last stable offset."""
_MEMBER_TYPES: Final = {0: CLASSIC, 1: CONSUMER}
_DEAD: Final = "Dead"


# ---- the list of groups


def list_groups(
    admin: Admin, states: Iterable[str] = (), kinds: Iterable[str] = ()
) -> tuple[list[GroupSummary], list[tuple[int, MetashellError]]]:
    """Return all groups of all brokers, ordered by id, and the error of each broker that did not answer.

    Errors: UnsupportedError if a broker is too old for a filter.
    """
    states, kinds = tuple(states), tuple(kinds)
    wanted = max(_STATES_SINCE if states else 0, _TYPES_SINCE if kinds else 0)
    found: list[GroupSummary] = []
    failed: list[tuple[int, MetashellError]] = []
    request = messages.ListGroupsRequest(states_filter=states, types_filter=kinds)
    for node, answer in admin.ask_all({node.id: request for node in admin.nodes()}).items():
        if isinstance(answer, UnsupportedError) and wanted:
            raise answer
        if isinstance(answer, MetashellError):
            failed.append((node, answer))
        elif answer.error_code not in (NONE, *_RETRIED):
            failed.append((node, AdminError(answer.error_code, None, f"broker {node}")))
        elif answer.error_code != NONE:
            found += _listed_when_ready(admin, node, request)
        else:
            found += _summaries(answer, node)
    return sorted(found, key=lambda group: group.group_id), failed


def _listed_when_ready(admin: Admin, node: int, request: Any) -> list[GroupSummary]:
    """Return the groups of a broker once its coordinator has loaded its log. Errors: AdminError."""
    return _until_ready(admin, lambda: admin.ask(request, to=node), f"broker {node}", lambda answer: _summaries(answer, node))


def _summaries(answer: Any, node: int) -> list[GroupSummary]:
    return [
        GroupSummary(
            group_id=group.group_id,
            kind=group.group_type or CLASSIC,
            state=group.group_state,
            protocol_type=group.protocol_type,
            coordinator=node,
        )
        for group in answer.groups
    ]


# ---- coordinators


def find_coordinators(admin: Admin, group_ids: Sequence[str]) -> dict[str, int | AdminError]:
    """Return the id of the broker that coordinates each group, or the error if there is none. Errors: those of `Admin`."""
    ends_at = time.monotonic() + admin.timeout_ms / 1000
    found: dict[str, int | AdminError] = {}
    left = list(dict.fromkeys(group_ids))
    while left:
        found |= dict(_coordinators(admin, left))
        left = [id for id in left if isinstance(error := found[id], AdminError) and error.code in _RETRIED]
        if left and not _pause(ends_at):
            break
    return found


def _coordinators(admin: Admin, group_ids: Sequence[str]) -> Iterable[tuple[str, int | AdminError]]:
    make = messages.FindCoordinatorRequest
    if admin.ranges()[FIND_COORDINATOR][1] >= _MANY_KEYS_SINCE:
        for one in admin.ask(make(coordinator_keys=tuple(group_ids))).coordinators:
            yield one.key, AdminError(one.error_code, one.error_message, one.key) if one.error_code else one.node_id
        return
    for id in group_ids:
        one = admin.ask(make(key=id))
        yield id, AdminError(one.error_code, one.error_message, id) if one.error_code else one.node_id


def ask_coordinator(admin: Admin, group_id: str, request: Any, take: Callable[[Any, int], T], version: int | None = None) -> T:
    """Ask a group's coordinator, and return the result of `take` on its answer and its id.

    Errors: AdminError; those that mean that the coordinator has moved or is loading are raised only after the deadline.
    """

    def ask() -> tuple[Any, int]:
        node = find_coordinators(admin, [group_id])[group_id]
        if isinstance(node, AdminError):
            raise node
        return admin.ask(request, to=node, version=version), node

    return _until_ready(admin, ask, group_id, lambda pair: take(*pair))


def _until_ready(admin: Admin, ask: Callable[[], Any], thing: str, take: Callable[[Any], T]) -> T:
    ends_at = time.monotonic() + admin.timeout_ms / 1000
    while True:
        try:
            answer = ask()
            check_answer(getattr(answer, "error_code", NONE), None, thing)
            return take(answer)
        except AdminError as error:
            if error.code not in _RETRIED or not _pause(ends_at):
                raise


def _pause(ends_at: float) -> bool:
    """Sleep before the next try; return False if the deadline would pass."""
    if time.monotonic() + _PAUSE_S >= ends_at:
        return False
    time.sleep(_PAUSE_S)
    return True


# ---- members


def describe_group(admin: Admin, group_id: str) -> GroupDescription:
    """Return a group of any kind with its members. Errors: AdminError, GROUP_ID_NOT_FOUND for an unknown group; those of `Admin`."""
    kind = _kind_of(admin, group_id)
    request, take = _DESCRIPTIONS[kind]
    return ask_coordinator(admin, group_id, request(group_id), lambda answer, node: take(_only(answer, group_id), node))


def _kind_of(admin: Admin, group_id: str) -> str:
    """Return the kind of a group as its coordinator lists it; classic for a group that is not listed, and on brokers with no other kind."""
    if CONSUMER_GROUP_DESCRIBE not in admin.ranges():
        return CLASSIC

    def take(answer: Any, node: int) -> str:
        check_answer(answer.error_code, None, group_id)
        return next((group.group_type or CLASSIC for group in answer.groups if group.group_id == group_id), CLASSIC)

    kind = ask_coordinator(admin, group_id, messages.ListGroupsRequest(), take)
    return kind if kind in _DESCRIPTIONS else CLASSIC


def _only(answer: Any, group_id: str) -> Any:
    """Return the one group of an answer. Errors: AdminError if it cannot be described."""
    group = answer.groups[0]
    check_answer(group.error_code, getattr(group, "error_message", None), group_id)
    return group


def _classic(group: Any, node: int) -> GroupDescription:
    if group.group_state == _DEAD and not group.members:
        # Before version 6, DescribeGroups describes an unknown group as dead, without an error code.
        raise AdminError(GROUP_ID_NOT_FOUND, None, group.group_id)
    members = tuple(
        classic_member(
            group.protocol_type,
            group.protocol_data or None,
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscription=bytes(member.member_metadata),
            assignment=bytes(member.member_assignment),
        )
        for member in group.members
    )
    return _description(group, node, CLASSIC, members, assignor=group.protocol_data or None, protocol_type=group.protocol_type)


def _consumer(group: Any, node: int) -> GroupDescription:
    members = tuple(
        MemberDescription(
            member_id=member.member_id,
            member_type=_MEMBER_TYPES.get(member.member_type, CONSUMER),
            client_id=member.client_id,
            client_host=member.client_host,
            instance_id=member.instance_id,
            rack=member.rack_id,
            epoch=member.member_epoch,
            topics=tuple(member.subscribed_topic_names),
            regex=member.subscribed_topic_regex or None,
            assigned=_named(member.assignment),
            target=_named(member.target_assignment),
        )
        for member in group.members
    )
    return _modern(group, node, CONSUMER, members, group.assignor_name, CONSUMER)


def _share(group: Any, node: int) -> GroupDescription:
    members = tuple(
        MemberDescription(
            member_id=member.member_id,
            member_type=SHARE,
            client_id=member.client_id,
            client_host=member.client_host,
            rack=member.rack_id,
            epoch=member.member_epoch,
            topics=tuple(member.subscribed_topic_names),
            assigned=_named(member.assignment),
        )
        for member in group.members
    )
    return _modern(group, node, SHARE, members, group.assignor_name, SHARE)


def _streams(group: Any, node: int) -> GroupDescription:
    members = tuple(
        MemberDescription(
            member_id=member.member_id,
            member_type=CLASSIC if member.is_classic else STREAMS,
            client_id=member.client_id,
            client_host=member.client_host,
            instance_id=member.instance_id,
            rack=member.rack_id,
            epoch=member.member_epoch,
            assigned=_tasks(member.assignment.active_tasks),
            target=_tasks(member.target_assignment.active_tasks),
            details={
                "topology_epoch": member.topology_epoch,
                "process": member.process_id,
                "standby": dict(_tasks(member.assignment.standby_tasks)),
                "warmup": dict(_tasks(member.assignment.warmup_tasks)),
            },
        )
        for member in group.members
    )
    found = _modern(group, node, STREAMS, members, None, STREAMS)
    topology = group.topology
    if topology is None:
        return found
    parts = topology.subtopologies or ()
    internal = sorted({topic.name for part in parts for topic in (*part.state_changelog_topics, *part.repartition_source_topics)})
    return replace(found, details={"topology_epoch": topology.epoch, INTERNAL_TOPICS: internal})


def _named(assignment: Any) -> Parts:
    return tuple(sorted((one.topic_name, tuple(sorted(one.partitions))) for one in assignment.topic_partitions))


def _tasks(tasks: Iterable[Any]) -> Parts:
    return tuple(sorted((one.subtopology_id, tuple(sorted(one.partitions))) for one in tasks))


def _modern(
    group: Any, node: int, kind: str, members: tuple[MemberDescription, ...], assignor: str | None, protocol_type: str
) -> GroupDescription:
    found = _description(group, node, kind, members, assignor=assignor or None, protocol_type=protocol_type)
    return replace(found, summary=replace(found.summary, epoch=group.group_epoch), assignment_epoch=group.assignment_epoch)


def _description(
    group: Any, node: int, kind: str, members: tuple[MemberDescription, ...], *, assignor: str | None, protocol_type: str
) -> GroupDescription:
    summary = GroupSummary(
        group_id=group.group_id,
        kind=kind,
        state=group.group_state,
        protocol_type=protocol_type,
        members=len(members),
        coordinator=node,
        findings=sum(len(member.findings) for member in members),
    )
    return GroupDescription(summary=summary, members=members, assignor=assignor)


_DESCRIPTIONS: Final[Mapping[str, tuple[Callable[[str], Any], Callable[[Any, int], GroupDescription]]]] = {
    CLASSIC: (lambda id: messages.DescribeGroupsRequest(groups=(id,)), _classic),
    CONSUMER: (lambda id: messages.ConsumerGroupDescribeRequest(group_ids=(id,)), _consumer),
    SHARE: (lambda id: messages.ShareGroupDescribeRequest(group_ids=(id,)), _share),
    STREAMS: (lambda id: messages.StreamsGroupDescribeRequest(group_ids=(id,)), _streams),
}
"""By kind, the function that makes the request for a group, and the one that reads the answer."""


# ---- committed offsets


def committed_offsets(admin: Admin, group_id: str) -> list[OffsetRow]:
    """Return all committed offsets of a group, ordered by topic and partition. Errors: AdminError; those of `Admin`."""
    high = admin.ranges()[OFFSET_FETCH][1]
    make = messages.OffsetFetchRequest
    # Later versions give only the ids of topics, and the rows need their names.
    version = min(high, _NAMES_UNTIL)
    if version >= _GROUPS_SINCE:
        request = make(groups=(make.OffsetFetchRequestGroup(group_id=group_id, topics=None),))
    else:
        request = make(group_id=group_id, topics=None)

    def take(answer: Any, node: int) -> list[OffsetRow]:
        group = answer.groups[0] if version >= _GROUPS_SINCE else answer
        check_answer(group.error_code, None, group_id)
        rows = [_row(group_id, topic.name, partition) for topic in group.topics for partition in topic.partitions]
        return sorted(rows, key=lambda row: (row.topic, row.partition))

    return ask_coordinator(admin, group_id, request, take, version)


def _row(group_id: str, topic: str, partition: Any) -> OffsetRow:
    """Return the row of one partition. Errors: AdminError if its offset cannot be read."""
    check_answer(partition.error_code, None, f"{topic}-{partition.partition_index}")
    return OffsetRow(
        group_id=group_id,
        topic=topic,
        partition=partition.partition_index,
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.metadata or "",
    )


def with_members(rows: Iterable[OffsetRow], group: GroupDescription) -> list[OffsetRow]:
    """Return the rows with the member that owns each partition. Owned partitions without a commit are added with offset -1."""
    owners = {(topic, partition): member for member in group.members for topic, partitions in member.assigned for partition in partitions}
    found = {(row.topic, row.partition): row for row in rows}
    if group.summary.kind in (CLASSIC, CONSUMER):
        for topic, partition in owners.keys() - found.keys():
            found[topic, partition] = OffsetRow(group_id=group.summary.group_id, topic=topic, partition=partition, offset=-1)
    rows_found = []
    for key, row in sorted(found.items()):
        owner = owners.get(key)
        rows_found.append(row if owner is None else replace(row, member_id=owner.member_id, client_id=owner.client_id))
    return rows_found


def committed_of_groups(admin: Admin, group_ids: Sequence[str]) -> tuple[dict[str, list[OffsetRow]], dict[str, MetashellError]]:
    """Return the committed offsets of many groups, and the errors of those that cannot be read: one request for each `_CHUNK` of them."""
    found: dict[str, list[OffsetRow]] = {}
    failed: dict[str, MetashellError] = {}
    version = min(admin.ranges()[OFFSET_FETCH][1], _NAMES_UNTIL)
    make = messages.OffsetFetchRequest
    by_node: dict[int, list[str]] = {}
    for start in range(0, len(group_ids), _CHUNK):
        for id, node in find_coordinators(admin, group_ids[start : start + _CHUNK]).items():
            if isinstance(node, AdminError):
                failed[id] = node
            else:
                by_node.setdefault(node, []).append(id)
    for node, ids in by_node.items():
        for start in range(0, len(ids), _CHUNK if version >= _GROUPS_SINCE else 1):
            chunk = ids[start : start + _CHUNK] if version >= _GROUPS_SINCE else ids[start : start + 1]
            if version >= _GROUPS_SINCE:
                request = make(groups=tuple(make.OffsetFetchRequestGroup(group_id=id, topics=None) for id in chunk))
            else:
                request = make(group_id=chunk[0], topics=None)
            try:
                answer = admin.ask(request, to=node, version=version)
            except MetashellError as error:
                failed |= dict.fromkeys(chunk, error)
                continue
            groups = answer.groups if version >= _GROUPS_SINCE else (answer,)
            for id, group in zip(chunk, groups, strict=True):
                if group.error_code != NONE:
                    failed[id] = AdminError(group.error_code, None, id)
                else:
                    found[id] = [_row(id, topic.name, one) for topic in group.topics for one in topic.partitions if one.error_code == NONE]
    return found, failed


def with_ends(admin: Admin, rows: Sequence[OffsetRow]) -> list[OffsetRow]:
    """Return the rows with the end and the last stable offset of each log, and with the transaction that holds it back.

    They are None if the partition's leader does not report them. Errors: those of `Admin`.
    """
    ends = end_offsets(admin, {(row.topic, row.partition) for row in rows})
    held: dict[int, dict[str, list[int]]] = {}
    for (topic, partition), end in ends.items():
        if end.stable_offset is not None and end.end_offset is not None and end.stable_offset < end.end_offset:
            held.setdefault(end.leader, {}).setdefault(topic, []).append(partition)
    holders: dict[tuple[str, int], Holder] = {}
    for told in (long_transactions(admin, held, _EVER_MS) if held else {}).values():
        for one in () if isinstance(told, MetashellError) else told:
            holder = Holder(one.producer_id, one.producer_epoch, one.start_offset, one.started_ms, one.transactional_id, one.state)
            known = holders.setdefault((one.topic, one.partition), holder)
            if holder.start_offset < known.start_offset:
                holders[one.topic, one.partition] = holder
    made = []
    for row in rows:
        key = row.topic, row.partition
        end = ends.get(key, _NO_END)
        made.append(replace(row, end_offset=end.end_offset, stable_offset=end.stable_offset, held_by=holders.get(key)))
    return made


class LogEnd(NamedTuple):
    """Where a log ends, as its leader says; None if it does not say it."""

    leader: int
    end_offset: int | None
    stable_offset: int | None


_NO_END: Final = LogEnd(-1, None, None)
_EVER_MS: Final = 1 << 62
_CHUNK: Final = 500


def end_offsets(admin: Admin, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], LogEnd]:
    """Return the end offsets and the last stable offsets of the partitions whose leader answers."""
    wanted = set(partitions)
    if not wanted:
        return {}
    leaders: dict[tuple[str, int], int] = {}
    by_leader: dict[int, dict[str, list[int]]] = {}
    made = messages.MetadataRequest
    topics = tuple(made.MetadataRequestTopic(name=name) for name in sorted({topic for topic, _ in wanted}))
    for topic in admin.ask(made(topics=topics, allow_auto_topic_creation=False)).topics:
        for partition in topic.partitions:
            if (topic.name, partition.partition_index) in wanted and partition.leader_id >= 0:
                leaders[topic.name, partition.partition_index] = partition.leader_id
                by_leader.setdefault(partition.leader_id, {}).setdefault(topic.name, []).append(partition.partition_index)
    # The stable offset first: both only grow, and so it is never behind an end that is older.
    stable, ends = (_offsets(admin, by_leader, level) for level in (_COMMITTED_ONLY, 0))
    return {key: LogEnd(leaders[key], end, stable.get(key)) for key, end in ends.items()}


def _offsets(admin: Admin, by_leader: Mapping[int, Mapping[str, Iterable[int]]], isolation_level: int) -> dict[tuple[str, int], int]:
    answers = admin.ask_all({leader: _ends_request(topics_of, isolation_level) for leader, topics_of in by_leader.items()})
    return {
        (topic.name, partition.partition_index): partition.offset
        for answer in answers.values()
        if not isinstance(answer, MetashellError)
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == NONE and partition.offset >= 0
    }


def _ends_request(topics: Mapping[str, Iterable[int]], isolation_level: int) -> messages.ListOffsetsRequest:
    made = messages.ListOffsetsRequest
    return made(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=tuple(
            made.ListOffsetsTopic(
                name=name, partitions=tuple(made.ListOffsetsPartition(partition_index=id, timestamp=_LATEST) for id in sorted(partitions))
            )
            for name, partitions in topics.items()
        ),
    )
