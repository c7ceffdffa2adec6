"""StreamsGroupHeartbeat: members join with a topology, get tasks, give them up, and leave. Its checks come first.

Order of a batch: the member (19), the topology (23), the group's epoch (17), targets (21, 20), and what the member has (22).
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.streamsGroupHeartbeat of 4.4; golden scenarios streams-life,
streams-validation and watched-streams-refused in tests/golden/groups."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from metashell.groups.decision import Answer, CreateTopics, Decision, Effect, GroupError, Record, Request, error_body
from metashell.groups.state import Context
from metashell.groups.streams import (
    LEAVE_EPOCH,
    NO_TASKS,
    NOT_VALIDATED,
    STATIC_LEAVE_EPOCH,
    Configs,
    Endpoint,
    StreamsGroupMember,
    TaskId,
    TaskOffsets,
    Tasks,
    current_record,
    group_record,
    member_record,
    member_tombstones,
    target_member_record,
    target_record,
    tasks_of,
    topology_record,
)
from metashell.groups.streams.assignor import STANDBYS, Target, compute_target, reconcile_streams_member, standby_count
from metashell.groups.streams.group import (
    ASSIGNMENT_DELAYED,
    SHUTDOWN_APPLICATION,
    STALE_TOPOLOGY,
    Configured,
    Status,
    StreamsGroup,
    configure,
    required_topics,
)
from metashell.groups.streams.timeouts import (
    Inputs,
    answer_of,
    delay_first_assignment,
    keep_delay,
    remove_streams_member,
    start_session,
    watch_revocation,
)
from metashell.groups.topics import group_hash

_NO_UPDATES: Final = "Topology updates are not supported yet."


def handle_streams_heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a heartbeat. Errors: GroupError if it is refused."""
    check_heartbeat(request.body)
    if is_leaving(request.body):
        return _leave(context, request)
    return _Heartbeat(context, request, now_ms).decide()


def streams_group(context: Context, group_id: str, missing: str = "Group") -> StreamsGroup:
    """Return the streams group. Errors: GroupError if it does not exist or is of another kind."""
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"{missing} {group_id} not found.")
    if not isinstance(group, StreamsGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
    return group


def _leave(context: Context, request: Request) -> Decision:
    body = request.body
    group = streams_group(context, body.group_id)
    if body.shutdown_application:
        group.shutdown_by = body.member_id
    if body.instance_id is None:
        member = group.members.get(body.member_id)
        if member is None:
            raise group.unknown_member(body.member_id)
    else:
        member = _own_static_member(group, body.member_id, body.instance_id)
    response = messages.StreamsGroupHeartbeatResponse(member_id=body.member_id, member_epoch=body.member_epoch, status=())
    if body.member_epoch == STATIC_LEAVE_EPOCH:
        away = member._replace(epoch=STATIC_LEAVE_EPOCH, revoking=NO_TASKS, epochs=dict.fromkeys(sorted(member.assigned.active), 0))
        return Decision([current_record(group.group_id, away)], [Answer(request.ticket, response)])

    def stay(code: int, at_ms: int) -> Decision:
        start_session(context, body.group_id, body.member_id, at_ms)
        return Decision(answers=[Answer(request.ticket, error_body(request, code))])

    return Decision(remove_streams_member(context, group, member), [Answer(request.ticket, response)], on_failure=stay)


class _Topology(NamedTuple):
    """The group's current or new topology, matched with the existing topics."""

    value: Any
    configured: Configured
    metadata_hash: int


class _Heartbeat:
    """Decides one heartbeat that does not leave."""

    def __init__(self, context: Context, request: Request, now_ms: int) -> None:
        self._context = context
        self._request = request
        self._body = request.body
        self._now_ms = now_ms
        self._records: list[Record] = []
        self._statuses: list[Status] = []
        self._replaced: str | None = None
        """The id of the member that a static one replaces."""
        self._group = (
            self._group_to_join() if self._body.member_epoch == 0 else streams_group(context, self._body.group_id, "Streams group")
        )

    def decide(self) -> Decision:
        context, group = self._context, self._group
        known = self._known_member()
        member = merge_request(known, self._request)
        if member != known:
            self._records.append(member_record(group.group_id, member))
        topology = self._topology(member)
        owned = owned_tasks(self._body)
        if owned is not None:
            check_tasks(owned, topology.configured)
        self._note_offsets()
        target = self._refined(member, *self._next_epoch(topology, member, self._calls_for_assignment(known, member)))
        before, member = member, reconcile_streams_member(member, target, owned, group.members.values())
        if member != before:
            self._records.append(current_record(group.group_id, member))
        self._note_shutdown()
        start_session(context, group.group_id, member.member_id, self._now_ms)
        watch_revocation(context, group.group_id, member, self._now_ms)
        response = answer_of(
            context,
            self._body,
            group,
            [other for other in group.members.values() if other.member_id not in (member.member_id, self._replaced)],
            (known, member),
            Inputs(topology.value, topology.configured.partition_counts, topology.configured.fault is not None),
        )
        response.status = tuple(
            messages.StreamsGroupHeartbeatResponse.Status(status_code=code, status_detail=detail) for code, detail in self._statuses
        )
        missing = topology.configured.missing
        effects: list[Effect] = [CreateTopics(dict(missing))] if missing else []
        return Decision(self._records, [Answer(self._request.ticket, response)], effects)

    def _group_to_join(self) -> StreamsGroup:
        """Return the group or a new one, which may replace an empty classic group that only has offsets."""
        group_id = self._body.group_id
        group = self._context.state.groups.get(group_id)
        if group is not None and group.type == "classic" and group.is_empty:
            self._records += group.tombstones()
            return StreamsGroup(group_id)
        return StreamsGroup(group_id) if group is None else streams_group(self._context, group_id)

    def _known_member(self) -> StreamsGroupMember:
        """Return the member or a new one. Errors: GroupError for an unknown or fenced member and for a full group."""
        body = self._body
        group, epoch = self._group, body.member_epoch
        limit = self._context.settings.streams.max_size
        is_new = body.member_id not in group.members and group.static_member(body.instance_id) is None
        if epoch == 0 and is_new and len(group.members) >= limit:
            raise GroupError(GROUP_MAX_SIZE_REACHED, f"The streams group has reached its maximum capacity of {limit} members.")
        known = group.members.get(body.member_id)
        owner = group.static_member(body.instance_id)
        if owner is not None and owner.member_id != body.member_id:
            group.relabel_refined(owner.member_id, body.member_id)
        if body.instance_id is not None and epoch == 0:
            return self._joining_static_member(body.member_id, body.instance_id)
        if body.instance_id is not None:
            known = _own_static_member(group, body.member_id, body.instance_id)
        if known is None:
            if epoch != 0:
                raise group.unknown_member(body.member_id)
            return StreamsGroupMember(body.member_id)
        owned = owned_tasks(self._body)
        is_repeated = epoch == known.previous_epoch and owned is not None and owned.is_within(known.assigned)
        if epoch in (0, known.epoch) or is_repeated:
            return known
        size = "greater" if epoch > known.epoch else "smaller"
        raise GroupError(
            FENCED_MEMBER_EPOCH,
            f"The streams group member has a {size} member epoch ({epoch}) than the one known by the group coordinator ({known.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )

    def _joining_static_member(self, member_id: str, instance_id: str) -> StreamsGroupMember:
        """Return a static member that joins and replaces its predecessor. Errors: GroupError 111 if that has not left."""
        group = self._group
        known = group.static_member(instance_id)
        if known is None:
            return group.members.get(member_id) or StreamsGroupMember(member_id)
        if known.epoch != STATIC_LEAVE_EPOCH:
            raise GroupError(
                UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is owned by "
                f"{known.member_id} member.",
            )
        self._replaced = known.member_id
        member = known._replace(member_id=member_id, epoch=0, previous_epoch=0)
        self._records += [
            *member_tombstones(group.group_id, known.member_id),
            member_record(group.group_id, member),
            target_member_record(group.group_id, member_id, group.targets.get(known.member_id, NO_TASKS)),
            current_record(group.group_id, member),
        ]
        return member

    def _calls_for_assignment(self, known: StreamsGroupMember, member: StreamsGroupMember) -> bool:
        """Return whether the member's change needs a new assignment. Some changes of a returning static member do not."""
        if self._body.instance_id is None or not known.process_id:
            return member != known
        names = ("topology_epoch", "rack_id", "client_tags", "process_id")
        return any(getattr(known, name) != getattr(member, name) for name in names)

    def _note_offsets(self) -> None:
        """Store the task offsets that the member reports. Errors: GroupError 42 for a task that is named twice."""
        body, group = self._body, self._group
        if body.task_offsets is None and body.task_end_offsets is None:
            return
        known = group.task_offsets.get(body.member_id, TaskOffsets())
        group.task_offsets[body.member_id] = TaskOffsets(
            known.current if body.task_offsets is None else task_offsets(body.task_offsets),
            known.end if body.task_end_offsets is None else task_offsets(body.task_end_offsets),
        )

    def _topology(self, member: StreamsGroupMember) -> _Topology:
        """Return the group's topology; the first member brings it. Errors: GroupError for a different or an invalid one."""
        group, topics = self._group, self._context.state.topics
        given = None if self._body.topology is None else topology_value(self._body.topology)
        value = group.topology
        if value is None:
            if given is None:
                raise GroupError(INVALID_REQUEST, "Topology must be non-null when (re-)joining.")
            value = given
            self._records.append(topology_record(group.group_id, given))
        elif given is not None and (given.epoch > value.epoch or (given.epoch == value.epoch and given != value)):
            raise GroupError(INVALID_REQUEST, _NO_UPDATES)
        if member.topology_epoch < value.epoch:
            detail = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch {value.epoch}."
            self._statuses.append(Status(STALE_TOPOLOGY, detail))
        if group.configured is None or group.checked_version != topics.version:
            group.configured = configure(value, topics)
            group.checked_hash = group_hash(required_topics(value), topics)
            group.checked_version = topics.version
        if group.configured.fault is not None:
            self._statuses.append(group.configured.fault)
        return _Topology(value, group.configured, group.checked_hash)

    def _next_epoch(self, topology: _Topology, member: StreamsGroupMember, is_member_changed: bool) -> tuple[int, bool]:
        """Return the group's epoch, raised if the member, the topics or the group's configs have changed.

        It is also raised, with the same targets, if the group is Stable but the member lacks its target. The second value is whether
        the group is Stable and nothing has changed.
        """
        group = self._group
        validated = NOT_VALIDATED if topology.configured.fault is not None else topology.value.epoch
        configs: Configs = ((STANDBYS, str(standby_count(self._context, group.group_id))),)
        is_same = (group.metadata_hash, group.validated_epoch, group.configs) == (topology.metadata_hash, validated, configs)
        is_same = is_same and not is_member_changed
        is_settled = is_same and group.state_name() == "Stable"
        if is_same and not (is_settled and group.targets.get(member.member_id, NO_TASKS) != member.assigned):
            return group.epoch, is_settled
        self._records.append(group_record(group.group_id, group.epoch + 1, topology.metadata_hash, validated, configs, group.described))
        return group.epoch + 1, is_settled

    def _refined(self, member: StreamsGroupMember, epoch: int, is_settled: bool) -> Target:
        """Return the member's target. An epoch's target is kept from its first use, or from when all members had last settled."""
        group = self._group
        epoch, targets = self._targets(member, epoch, is_settled)
        if is_settled or group.refined[0] != epoch:
            group.refined = epoch, targets
        return Target(epoch, group.refined[1].get(member.member_id, NO_TASKS))

    def _targets(self, member: StreamsGroupMember, epoch: int, is_settled: bool) -> tuple[int, dict[str, Tasks]]:
        """Return the targets, new ones if the epoch was raised, unless the initial delay or the assignment interval still runs."""
        context, group = self._context, self._group
        members = {id: other for id, other in group.members.items() if id != self._replaced} | {member.member_id: member}
        targets = dict(group.targets)
        if self._replaced is not None:
            targets[member.member_id] = targets.pop(self._replaced, NO_TASKS)
        last = group.assignment_epoch, targets
        if not group.members:
            delay_first_assignment(context, group.group_id, self._now_ms)
        if keep_delay(context, group.group_id):
            self._delayed("initial rebalance delay")
            return group.assignment_epoch, {}
        if epoch <= group.assignment_epoch:
            return last
        if is_settled:
            self._records.append(target_record(group.group_id, epoch, group.assignment_ms))
            return epoch, targets
        default_ms = context.settings.streams.assignment_interval_ms
        interval_ms = context.group_setting(group.group_id, "streams.assignment.interval.ms", default_ms)
        if group.assignment_ms and self._now_ms < group.assignment_ms + interval_ms:
            self._delayed("assignment interval")
            return last
        made = compute_target(context, group, members, targets, epoch, self._now_ms)
        self._records += made.records
        return epoch, made.tasks

    def _delayed(self, why: str) -> None:
        self._statuses.append(Status(ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {why}."))

    def _note_shutdown(self) -> None:
        group = self._group
        if self._body.shutdown_application:
            group.shutdown_by = self._body.member_id
        if group.shutdown_by is not None:
            what = "encountered a fatal error and requested a shutdown for the entire application."
            self._statuses.append(Status(SHUTDOWN_APPLICATION, f"Streams group member {group.shutdown_by} {what}"))


def _own_static_member(group: StreamsGroup, member_id: str, instance_id: str) -> StreamsGroupMember:
    """Errors: GroupError 25; 82 if another member has the instance id now."""
    member = group.static_member(instance_id)
    if member is None:
        raise GroupError(UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        text = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        raise GroupError(FENCED_INSTANCE_ID, text)
    return member


def check_heartbeat(body: Any) -> None:
    """Errors: GroupError for a request that is invalid by itself."""
    has_regex = body.topology is not None and any(part.source_topic_regex for part in body.topology.subtopologies)
    _invalid_request(has_regex, "Regular expressions for source topics are not supported yet.")
    _invalid_request(not body.member_id.strip(), "MemberId can't be empty.")
    _invalid_request(not body.group_id.strip(), "GroupId can't be empty.")
    _invalid_request(body.instance_id is not None and not body.instance_id.strip(), "InstanceId can't be empty.")
    _invalid_request(body.rack_id is not None and not body.rack_id.strip(), "RackId can't be empty.")
    _invalid_request(
        body.member_epoch < STATIC_LEAVE_EPOCH, f"MemberEpoch is {body.member_epoch}, but must be greater than or equal to -2."
    )
    _invalid_request(body.member_epoch == STATIC_LEAVE_EPOCH and body.instance_id is None, "InstanceId can't be null.")
    if body.member_epoch == 0:
        _check_join(body)
    given = [tasks is not None for tasks in (body.active_tasks, body.standby_tasks, body.warmup_tasks)]
    _invalid_request(any(given) and not all(given), "If one task-type is non-null, all must be non-null.")
    _invalid_request(body.member_epoch != 0 and body.topology is not None, "Topology can only be provided when (re-)joining.")


def check_tasks(owned: Tasks, configured: Configured) -> None:
    """Errors: GroupError for tasks that are not in the topology."""
    if configured.fault is not None:
        return
    for subtopology, partition in sorted(frozenset().union(*owned)):
        count = configured.task_counts.get(subtopology)
        if count is None:
            raise GroupError(INVALID_REQUEST, f"Subtopology {subtopology} does not exist in the topology.")
        text = f"Task {partition} for subtopology {subtopology} is invalid. Number of tasks for this subtopology: {count}"
        _invalid_request(not 0 <= partition < count, text)


def owned_tasks(body: Any) -> Tasks | None:
    """Return the tasks that a member reports, None if it reports none."""
    if body.active_tasks is None:
        return None
    return Tasks(tasks_of(body.active_tasks), tasks_of(body.standby_tasks), tasks_of(body.warmup_tasks))


def task_offsets(entries: Any) -> dict[TaskId, int]:
    """Return the task offsets that a member reports. Errors: GroupError for a task that is named twice."""
    offsets: dict[TaskId, int] = {}
    for entry in entries:
        task = (entry.subtopology_id, entry.partition)
        text = f"Task offsets contain a duplicate entry for subtopology {task[0]} and partition {task[1]}."
        _invalid_request(task in offsets, text)
        offsets[task] = entry.offset
    return offsets


def merge_request(known: StreamsGroupMember, request: Request) -> StreamsGroupMember:
    """Return the member with the fields of its request. Omitted fields stay, except the endpoint of a joining member."""
    body = request.body
    endpoint = None if body.user_endpoint is None else Endpoint(body.user_endpoint.host, body.user_endpoint.port)
    return known._replace(
        instance_id=known.instance_id if body.instance_id is None else body.instance_id,
        rack_id=known.rack_id if body.rack_id is None else body.rack_id,
        rebalance_timeout_ms=known.rebalance_timeout_ms if body.rebalance_timeout_ms < 0 else body.rebalance_timeout_ms,
        client_id=request.client_id,
        client_host=request.client_host,
        topology_epoch=known.topology_epoch if body.topology is None else body.topology.epoch,
        process_id=known.process_id if body.process_id is None else body.process_id,
        endpoint=known.endpoint if endpoint is None and body.member_epoch != 0 else endpoint,
        client_tags=known.client_tags if body.client_tags is None else tuple((tag.key, tag.value) for tag in body.client_tags),
    )


def topology_value(topology: Any) -> messages.StreamsGroupTopologyValue:
    """Return a request's topology as the value of a record."""
    kind = messages.StreamsGroupTopologyValue
    parts = tuple(
        kind.Subtopology(
            subtopology_id=part.subtopology_id,
            source_topics=part.source_topics,
            source_topic_regex=part.source_topic_regex,
            state_changelog_topics=_topics(kind, part.state_changelog_topics),
            repartition_sink_topics=part.repartition_sink_topics,
            repartition_source_topics=_topics(kind, part.repartition_source_topics),
            copartition_groups=tuple(
                kind.CopartitionGroup(
                    source_topics=group.source_topics,
                    source_topic_regex=group.source_topic_regex,
                    repartition_source_topics=group.repartition_source_topics,
                )
                for group in part.copartition_groups
            ),
        )
        for part in topology.subtopologies
    )
    return kind(epoch=topology.epoch, subtopologies=parts)


def is_leaving(body: Any) -> bool:
    return body.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH)


def _check_join(body: Any) -> None:
    _invalid_request(body.rebalance_timeout_ms < 0, "RebalanceTimeoutMs must be provided in first request.")
    _invalid_request(body.topology is None, "Topology must be non-null when (re-)joining.")
    for name in ("active", "standby", "warmup"):
        tasks = getattr(body, f"{name}_tasks")
        _invalid_request(tasks is None or bool(tasks), f"{name.capitalize()}Tasks must be empty when (re-)joining.")


def _invalid_request(is_wrong: bool, text: str) -> None:
    if is_wrong:
        raise GroupError(INVALID_REQUEST, text)


def _topics(kind: Any, topics: Any) -> tuple[Any, ...]:
    return tuple(
        kind.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=tuple(kind.TopicConfig(key=config.key, value=config.value) for config in topic.topic_configs),
        )
        for topic in topics
    )
