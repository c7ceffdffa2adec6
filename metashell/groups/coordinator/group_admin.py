"""FindCoordinator, ListGroups and DeleteGroups for groups of every kind; descriptions of groups of one kind with their members.

One node coordinates all groups here. A share group, which only a broker's log has, is deleted like the others: nobody keeps its share
state here. A description of a group of another kind says that it is not found. Partitions of deleted topics are left out of it.
Source: kafka.server.KafkaApis.handleFindCoordinatorRequest, org.apache.kafka.coordinator.group.GroupCoordinatorService.listGroups and
deleteGroups, GroupMetadataManager.describeGroups, consumerGroupDescribe and streamsGroupDescribe; golden scenarios
list-groups, delete-groups, describe-and-list, missing-group, empty-group-id, share-life and streams-life in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    INVALID_REQUEST,
    NONE,
)
from metashell.codec.java import string_hash, string_hash_order, timeline_order, timeline_slots, uuid_hash_order
from metashell.codec.messages import ConsumerGroupDescribeResponse, DescribeGroupsResponse
from metashell.common.values import uuid_from_text
from metashell.groups.assignors import in_java_order
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.consumer import ConsumerGroupMember, most_wanted
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.leave import known_group
from metashell.groups.coordinator.offset_fetch import offset_tombstones_of_group
from metashell.groups.decision import (
    ALL_OPERATIONS,
    Answer,
    Decision,
    GroupError,
    Record,
    Request,
    coordinator_error,
    refuse_request,
)
from metashell.groups.share import ShareGroup
from metashell.groups.state import Context, Group, Handler, Settings
from metashell.groups.streams import NO_TASKS, StreamsGroupMember, TaskId, TaskOffsets, Tasks, task_entries
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.topics import Topics


def list_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """List the groups of this shard, filtered by state and type, ignoring case. An unknown state or type matches nothing."""
    states = {state.lower() for state in request.body.states_filter}
    types = {type.lower() for type in request.body.types_filter}
    kind = messages.ListGroupsResponse
    known = context.state.groups
    ids = [id for id, group in known.items() if (not types or group.type in types) and (not states or group.state_name().lower() in states)]
    # Kafka lists groups in the order of its hash table of groups.
    slots = timeline_slots(len(known))
    groups = tuple(
        kind.ListedGroup(group_id=id, protocol_type=known[id].protocol_type, group_state=known[id].state_name(), group_type=known[id].type)
        for id in timeline_order(ids, {id: string_hash(id) for id in ids}, slots)
    )
    return Decision(answers=[Answer(request.ticket, kind(groups=groups))])


def delete_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """Delete groups with their offsets, each independently. A repeated name counts once."""
    kind = messages.DeleteGroupsResponse
    records: list[Record] = []
    results = []
    names = string_hash_order(request.body.groups_names)
    # As in Kafka, share groups are checked first, so their errors come first in the answer.
    refused = [name for name in names if isinstance(group := context.state.groups.get(name), ShareGroup) and not group.is_empty]
    for group_id in dict.fromkeys([*refused, *names]):
        code = NONE
        try:
            group = _deletable(context, group_id)
            records += [*offset_tombstones_of_group(context.state, group_id), *group.tombstones()]
        except GroupError as error:
            code = error.code
        results.append(kind.DeletableGroupResult(group_id=group_id, error_code=code))
    return Decision(records, [Answer(request.ticket, kind(results=tuple(results)))])


def _deletable(context: Context, group_id: str) -> Group:
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND)
    group.check_delete()
    return group


GROUP, TRANSACTION, SHARE = 0, 1, 2
_SHARE_FROM: Final = 6
_MANY_KEYS_FROM: Final = 4


def find_coordinator(context: Context, request: Request, now_ms: int) -> Decision:
    """Answer FindCoordinator with this node, or with an error."""
    body = request.body
    if body.key_type not in (GROUP, TRANSACTION, SHARE):
        return Decision(answers=[refuse_request(request, GroupError(INVALID_REQUEST))])
    if request.version < _MANY_KEYS_FROM:
        code = _code(context.settings, body.key_type, body.key, request.version)
        if code != NONE:
            return Decision(answers=[refuse_request(request, GroupError(code))])
        settings = context.settings
        found = messages.FindCoordinatorResponse(error_message="NONE", node_id=settings.node_id, host=settings.host, port=settings.port)
        return Decision(answers=[Answer(request.ticket, found)])
    coordinators = tuple(_coordinator(context.settings, body.key_type, key, request.version) for key in body.coordinator_keys)
    return Decision(answers=[Answer(request.ticket, messages.FindCoordinatorResponse(coordinators=coordinators))])


def _coordinator(settings: Settings, key_type: int, key: str, version: int) -> messages.FindCoordinatorResponse.Coordinator:
    code = _code(settings, key_type, key, version)
    if code != NONE:
        return coordinator_error(key, code, "")
    return messages.FindCoordinatorResponse.Coordinator(
        key=key, node_id=settings.node_id, host=settings.host, port=settings.port, error_message=""
    )


def _code(settings: Settings, key_type: int, key: str, version: int) -> int:
    match key_type:
        case 0:
            return NONE
        case 1:
            return NONE if settings.has_transactions else COORDINATOR_NOT_AVAILABLE
        case _:
            # There is no share coordinator here; a malformed key is the client's error.
            return COORDINATOR_NOT_AVAILABLE if version >= _SHARE_FROM and _names_share_partition(key) else INVALID_REQUEST


def _names_share_partition(key: str) -> bool:
    """Return whether a key is `group:topic id:partition`; as in Kafka, the group may not contain colons."""
    parts = key.split(":")
    if len(parts) != 3 or not parts[0].strip():
        return False
    try:
        uuid_from_text(parts[1])
        return int(parts[2]) >= 0
    except ValueError:
        return False


_StreamsResponse = messages.StreamsGroupDescribeResponse


NOT_STORED: Final = 1
"""The status of a requested topology description: a plug-in of the broker would store it, and there is none."""


def describe_streams_group(context: Context, group: StreamsGroup) -> _StreamsResponse.DescribedGroup:
    """Describe a streams group with its topology and members. Internal topics have their current numbers of partitions."""
    return _StreamsResponse.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name(),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=None if group.topology is None else _describe_topology(group),
        members=tuple(
            _describe_streams_member(
                member, group.targets.get(member.member_id, NO_TASKS), group.task_offsets.get(member.member_id, TaskOffsets())
            )
            for member in group.members.values()
        ),
        assignor_name=context.settings.streams.assignors[0],
    )


def _describe_topology(group: StreamsGroup) -> _StreamsResponse.Topology:
    configured = group.configured
    counts = configured.partition_counts if configured is not None and configured.fault is None else {}
    return _StreamsResponse.Topology(
        epoch=group.topology.epoch,
        subtopologies=tuple(
            _StreamsResponse.Subtopology(
                subtopology_id=part.subtopology_id,
                source_topics=tuple(sorted(part.source_topics)),
                repartition_sink_topics=tuple(sorted(part.repartition_sink_topics)),
                state_changelog_topics=_describe_internal_topics(part.state_changelog_topics, counts),
                repartition_source_topics=_describe_internal_topics(part.repartition_source_topics, counts),
            )
            for part in group.topology.subtopologies
        ),
    )


def _describe_internal_topics(topics: Any, counts: dict[str, int]) -> tuple[_StreamsResponse.TopicInfo, ...]:
    return tuple(
        _StreamsResponse.TopicInfo(
            name=topic.name,
            partitions=counts.get(topic.name, topic.partitions),
            replication_factor=topic.replication_factor,
            topic_configs=tuple(_StreamsResponse.KeyValue(key=config.key, value=config.value) for config in topic.topic_configs),
        )
        for topic in topics
    )


def _describe_streams_member(member: StreamsGroupMember, target: Tasks, offsets: TaskOffsets) -> _StreamsResponse.Member:
    endpoint = member.endpoint
    return _StreamsResponse.Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else _StreamsResponse.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=tuple(_StreamsResponse.KeyValue(key=key, value=value) for key, value in member.client_tags),
        task_offsets=_task_offsets(offsets.current),
        task_end_offsets=_task_offsets(offsets.end),
        assignment=_streams_assignment(member.assigned),
        target_assignment=_streams_assignment(target),
    )


def _task_offsets(offsets: Mapping[TaskId, int]) -> tuple[_StreamsResponse.TaskOffset, ...]:
    return tuple(
        _StreamsResponse.TaskOffset(subtopology_id=id, partition=partition, offset=at) for (id, partition), at in sorted(offsets.items())
    )


def _streams_assignment(tasks: Tasks) -> _StreamsResponse.Assignment:
    active, standby, warmup = (task_entries(_StreamsResponse.TaskIds, own) for own in tasks)
    return _StreamsResponse.Assignment(active_tasks=active, standby_tasks=standby, warmup_tasks=warmup)


_DescribeOne = Callable[[Context, Any], Any]


def _handler(response: Any, kind: type[Group], described: _DescribeOne) -> Handler:
    def describe(context: Context, request: Request, now_ms: int) -> Decision:
        groups = [_describe_one(context, group_id, response, kind, described) for group_id in request.body.group_ids]
        if request.body.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = ALL_OPERATIONS
        if getattr(request.body, "include_topology_description", False):
            for group in groups:
                group.topology_description_status = 0 if group.error_code else NOT_STORED
        return Decision(answers=[Answer(request.ticket, response(groups=tuple(groups)))])

    return describe


def _describe_one(context: Context, group_id: str, response: Any, kind: type[Group], described: _DescribeOne) -> Any:
    if not group_id:
        return response.DescribedGroup(group_id=group_id, error_code=INVALID_GROUP_ID)
    group = context.state.groups.get(group_id)
    if isinstance(group, kind):
        return described(context, group)
    fault = "not found" if group is None else f"is not a {kind.type} group"
    return response.DescribedGroup(group_id=group_id, error_code=GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {fault}.")


describe_streams_groups = _handler(messages.StreamsGroupDescribeResponse, StreamsGroup, describe_streams_group)


_NAMES_MISSING_GROUPS_SINCE: Final = 6
_ClassicDescription = DescribeGroupsResponse.DescribedGroup


def describe_groups(context: Context, request: Request, now_ms: int) -> Decision:
    groups = tuple(_describe_or_refuse_classic(context, group_id, request.version) for group_id in request.body.groups)
    if request.body.include_authorized_operations:
        for group in groups:
            group.authorized_operations = ALL_OPERATIONS if group.error_code == NONE else group.authorized_operations
    return Decision(answers=[Answer(request.ticket, DescribeGroupsResponse(groups=groups))])


def _describe_or_refuse_classic(context: Context, group_id: str, version: int) -> _ClassicDescription:
    group = context.state.groups.get(group_id)
    if isinstance(group, ClassicGroup):
        return describe_classic_group(group)
    missing = _ClassicDescription(group_id=group_id, group_state=ClassicState.DEAD.value)
    if version >= _NAMES_MISSING_GROUPS_SINCE:
        missing.error_code = GROUP_ID_NOT_FOUND
        missing.error_message = f"Group {group_id} {'not found' if group is None else 'is not a classic group'}."
    return missing


def describe_classic_group(group: ClassicGroup) -> _ClassicDescription:
    """Describe a classic group, members in Java's order. Their metadata and assignments are shown only while it is Stable, as in Kafka."""
    is_stable = group.state is ClassicState.STABLE
    protocol = (group.protocol_name or "") if is_stable else ""
    members = tuple(
        DescribeGroupsResponse.DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=(member.metadata(protocol) or b"") if is_stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    )
    return _ClassicDescription(
        group_id=group.group_id,
        group_state=group.state_name(),
        protocol_type=group.protocol_type,
        protocol_data=protocol,
        members=members,
    )


CLASSIC_MEMBER_TYPE: Final = 0
CONSUMER_MEMBER_TYPE: Final = 1

ConsumerDescription = ConsumerGroupDescribeResponse.DescribedGroup
ConsumerAssignment = ConsumerGroupDescribeResponse.Assignment


def describe_consumer_groups(context: Context, request: Request, now_ms: int) -> Decision:
    groups = tuple(_describe_consumer_group(context, group_id) for group_id in request.body.group_ids)
    return Decision(answers=[Answer(request.ticket, ConsumerGroupDescribeResponse(groups=groups))])


def _describe_consumer_group(context: Context, group_id: str) -> ConsumerDescription:
    try:
        if not group_id:
            raise GroupError(INVALID_GROUP_ID)
        group = known_group(context, group_id)
    except GroupError as error:
        return ConsumerDescription(group_id=group_id, error_code=error.code, error_message=error.message)
    topics = context.state.topics
    return ConsumerDescription(
        group_id=group_id,
        group_state=group.state_name(),
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=most_wanted(group.assignors) or context.settings.consumer.assignors[0],
        members=tuple(_describe_consumer_member(group, member, topics) for member in group.members.values()),
    )


def _describe_consumer_member(group: ConsumerGroup, member: ConsumerGroupMember, topics: Topics) -> ConsumerGroupDescribeResponse.Member:
    """Describe a member. Partitions that it still has to revoke are included in its assignment."""
    held = {topic_id: tuple(epochs) for topic_id, epochs in member.assigned.items()}
    for topic_id, epochs in member.revoking.items():
        held[topic_id] = (*held.get(topic_id, ()), *epochs)
    return ConsumerGroupDescribeResponse.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.names,
        subscribed_topic_regex=member.regex,
        assignment=_consumer_assignment({topic_id: held[topic_id] for topic_id in uuid_hash_order(reversed(held))}, topics),
        target_assignment=_consumer_assignment(in_java_order(group.target_of(member.member_id)), topics),
        member_type=CONSUMER_MEMBER_TYPE if member.classic is None else CLASSIC_MEMBER_TYPE,
    )


def _consumer_assignment(partitions: Mapping[bytes, Iterable[int]], topics: Topics) -> ConsumerAssignment:
    """Return partitions by topic, without deleted topics."""
    made = ConsumerGroupDescribeResponse.TopicPartitions
    named = ((topics.with_id(topic_id), numbers) for topic_id, numbers in partitions.items())
    return ConsumerAssignment(
        topic_partitions=tuple(
            made(topic_id=topic.id, topic_name=topic.name, partitions=tuple(numbers)) for topic, numbers in named if topic is not None
        )
    )
