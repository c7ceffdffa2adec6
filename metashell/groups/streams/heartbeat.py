"""StreamsGroupHeartbeat: members join with a topology, are given tasks, give them up, and leave.

Order of a batch: the member (19), the topology (23), the group's epoch (17), targets (21, 20), and what the member has (22).
Source: groups.md 15; golden scenarios streams-life and streams-validation; what else was watched of Kafka 4.3.1 (watched-streams-*).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
)
from metashell.groups.context import Context
from metashell.groups.decision import CreateTopics, Decision, Effect, GroupError
from metashell.groups.error_answers import error_body
from metashell.groups.metadata_hash import group_hash
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.streams.answers import Inputs, answer_of
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import LEAVE_EPOCH, Member
from metashell.groups.streams.reconcile import Target, reconciled
from metashell.groups.streams.records import NOT_VALIDATED, Configs, current_record, group_record, member_record, topology_record
from metashell.groups.streams.requests import check_heartbeat, check_tasks, is_leaving, merged, owned_tasks, topology_value
from metashell.groups.streams.target import STANDBYS, compute_target, standby_count
from metashell.groups.streams.tasks import NO_TASKS
from metashell.groups.streams.timeouts import delay_first_assignment, group_setting, keep_delay, removal, start_session, watch_revocation
from metashell.groups.streams.topology import (
    ASSIGNMENT_DELAYED,
    SHUTDOWN_APPLICATION,
    STALE_TOPOLOGY,
    Configured,
    Status,
    configure,
    required_topics,
)

_NO_UPDATES: Final = "Topology updates are not supported yet."


def heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a heartbeat. Errors: GroupError for one that is refused."""
    check_heartbeat(request.body)
    if is_leaving(request.body):
        return _leave(context, request)
    return _Heartbeat(context, request, now_ms).decide()


def streams_group(context: Context, group_id: str, missing: str = "Group") -> StreamsGroup:
    """A streams group by its id. Errors: GroupError where it is not there, or of another kind."""
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"{missing} {group_id} not found.")
    if not isinstance(group, StreamsGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
    return group


def _leave(context: Context, request: Request) -> Decision:
    body = request.body
    group = streams_group(context, body.group_id)
    member = group.members.get(body.member_id)
    if member is None:
        raise _unknown(group, body.member_id)
    response = messages.StreamsGroupHeartbeatResponse(member_id=body.member_id, member_epoch=LEAVE_EPOCH, status=())

    def stay(code: int, at_ms: int) -> Decision:
        start_session(context, body.group_id, body.member_id, at_ms)
        return Decision(answers=[Answer(request.ticket, error_body(request, code))])

    return Decision(removal(context, group, member), [Answer(request.ticket, response)], on_failure=stay)


class _Topology(NamedTuple):
    """The topology that the group has or gets, held against the topics of now."""

    value: Any
    configured: Configured
    metadata_hash: int


class _Heartbeat:
    """One heartbeat that does not leave."""

    def __init__(self, context: Context, request: Request, now_ms: int) -> None:
        self._context = context
        self._request = request
        self._body = request.body
        self._now_ms = now_ms
        self._records: list[Record] = []
        self._statuses: list[Status] = []
        self._group = (
            self._group_to_join() if self._body.member_epoch == 0 else streams_group(context, self._body.group_id, "Streams group")
        )

    def decide(self) -> Decision:
        context, group = self._context, self._group
        known = self._known_member()
        member = merged(known, self._request)
        if member != known:
            self._records.append(member_record(group.group_id, member))
        topology = self._topology(member)
        owned = owned_tasks(self._body)
        if owned is not None:
            check_tasks(owned, topology.configured)
        epoch = self._next_epoch(topology, member != known)
        members = {**group.members, member.member_id: member}
        target = self._target(members, member, epoch)
        before, member = member, reconciled(member, target, owned, group.members.values())
        if member != before:
            self._records.append(current_record(group.group_id, member))
        self._note_shutdown()
        start_session(context, group.group_id, member.member_id, self._now_ms)
        watch_revocation(context, group.group_id, member, self._now_ms)
        response = answer_of(
            context,
            self._body,
            group,
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
        """The group, or a new one, also in place of offsets that nobody's group committed."""
        group_id = self._body.group_id
        group = self._context.state.groups.get(group_id)
        if group is not None and group.type == "classic" and group.is_empty:
            self._records += group.tombstones()
            return StreamsGroup(group_id)
        return StreamsGroup(group_id) if group is None else streams_group(self._context, group_id)

    def _known_member(self) -> Member:
        """The member as it is, or a new one. Errors: GroupError for one that the group does not take, or not in this epoch."""
        group, epoch = self._group, self._body.member_epoch
        known = group.members.get(self._body.member_id)
        if known is None:
            limit = self._context.settings.streams.max_size
            if len(group.members) >= limit:
                raise GroupError(GROUP_MAX_SIZE_REACHED, f"The streams group has reached its maximum capacity of {limit} members.")
            if epoch != 0:
                raise _unknown(group, self._body.member_id)
            return Member(self._body.member_id)
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

    def _topology(self, member: Member) -> _Topology:
        """The group's topology; the first member that joins brings it. Errors: GroupError for another one, or one that cannot be."""
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

    def _next_epoch(self, topology: _Topology, is_member_changed: bool) -> int:
        """The group's epoch, raised where the member, the topics or the group's settings have changed."""
        group = self._group
        validated = NOT_VALIDATED if topology.configured.fault is not None else topology.value.epoch
        configs: Configs = ((STANDBYS, str(standby_count(self._context, group.group_id))),)
        is_same = (group.metadata_hash, group.validated_epoch, group.configs) == (topology.metadata_hash, validated, configs)
        if is_same and not is_member_changed:
            return group.epoch
        self._records.append(group_record(group.group_id, group.epoch + 1, topology.metadata_hash, validated, configs))
        return group.epoch + 1

    def _target(self, members: dict[str, Member], member: Member, epoch: int) -> Target:
        """The member's target: a new one where the epoch has moved on, unless the first one, or the next one, has to wait."""
        context, group = self._context, self._group
        last = Target(group.assignment_epoch, group.targets.get(member.member_id, NO_TASKS))
        if not group.members:
            delay_first_assignment(context, group.group_id, self._now_ms)
        if keep_delay(context, group.group_id):
            self._delayed("initial rebalance delay")
            return last
        if epoch <= group.assignment_epoch:
            return last
        default_ms = context.settings.streams.assignment_interval_ms
        interval_ms = group_setting(context, group.group_id, "streams.assignment.interval.ms", default_ms)
        if group.assignment_ms and self._now_ms < group.assignment_ms + interval_ms:
            self._delayed("assignment interval")
            return last
        made = compute_target(context, group, members, epoch, self._now_ms)
        self._records += made.records
        return Target(epoch, made.tasks[member.member_id])

    def _delayed(self, why: str) -> None:
        self._statuses.append(Status(ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {why}."))

    def _note_shutdown(self) -> None:
        group = self._group
        if self._body.shutdown_application:
            group.shutdown_by = self._body.member_id
        if group.shutdown_by is not None:
            what = "encountered a fatal error and requested a shutdown for the entire application."
            self._statuses.append(Status(SHUTDOWN_APPLICATION, f"Streams group member {group.shutdown_by} {what}"))


def _unknown(group: StreamsGroup, member_id: str) -> GroupError:
    return GroupError(UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
