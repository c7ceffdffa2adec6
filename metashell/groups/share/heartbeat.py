"""ShareGroupHeartbeat: members join, leave, and learn what they may read.

Order of a batch: the member (10), the group's epoch (11), targets (13, 12), what the member has (14), share state that is asked for (15).
Source: groups.md 10.3 and 15; golden scenarios share-life, share-validation, missing-group, other-groups-full.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    UNKNOWN_MEMBER_ID,
)
from metashell.groups.context import Context
from metashell.groups.decision import Decision, Effect, GroupError, InitializeShareState
from metashell.groups.error_answers import error_body
from metashell.groups.group import Group
from metashell.groups.metadata_hash import group_hash
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.share.assignment import Target, known_target, lacks_what_is_ready, new_target, reconciled
from metashell.groups.share.group import ShareGroup, counted
from metashell.groups.share.member import LEAVE_EPOCH, Member, Partitions, names_in_order
from metashell.groups.share.records import current_record, group_record, member_record, share_state_record
from metashell.groups.share.session import group_setting, removal, start_session
from metashell.groups.share.share_state import NO_STATE

STATE_RETRY_MS: Final = 30_000
"""Share state that was asked for and has not come in this time is asked for again."""


def heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a heartbeat. Errors: GroupError for one that is refused."""
    body = request.body
    _check(body)
    if body.member_epoch == LEAVE_EPOCH:
        return _leave(context, request)
    group = _group_to_join(context, body) if body.member_epoch == 0 else share_group(context, body.group_id, "Share group")
    known = _known_member(context, group, body)
    member = _merged(known, request)
    records = [] if member == known else [member_record(group.group_id, member)]
    epoch = _next_epoch(context, group, known, member, records)
    target = _target(context, group, member, epoch, now_ms)
    records += target.records
    if target.epoch != member.epoch or set(member.names) != set(known.names):
        before, member = member, reconciled(member, target, context.state.topics)
        if member != before:
            records.append(current_record(group.group_id, member))
    effects = _asked_state(context, group, counted(group.subscribers, known.names, member.names), now_ms, records)
    start_session(context, group.group_id, member.member_id, now_ms)
    return Decision(records, [Answer(request.ticket, _response(context, body, known, member))], effects)


def share_group(context: Context, group_id: str, missing: str = "Group") -> ShareGroup:
    """A share group by its id. Errors: GroupError where it is not there, or of another kind."""
    group: Group | None = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"{missing} {group_id} not found.")
    if not isinstance(group, ShareGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    return group


def _check(body: Any) -> None:
    """Errors: GroupError for a request that makes no sense, whatever the groups are."""
    if not body.member_id.strip():
        raise GroupError(INVALID_REQUEST)
    if not body.group_id.strip():
        raise GroupError(INVALID_REQUEST, "GroupId can't be empty.")
    if body.rack_id is not None and not body.rack_id.strip():
        raise GroupError(INVALID_REQUEST, "RackId can't be empty.")
    if body.member_epoch < LEAVE_EPOCH:
        raise GroupError(INVALID_REQUEST, "MemberEpoch is invalid.")
    if body.member_epoch == 0 and not body.subscribed_topic_names:
        raise GroupError(INVALID_REQUEST, "SubscribedTopicNames must be set in first request.")


def _leave(context: Context, request: Request) -> Decision:
    body = request.body
    group = share_group(context, body.group_id)
    member = group.members.get(body.member_id)
    if member is None:
        raise _unknown(group, body.member_id)
    response = messages.ShareGroupHeartbeatResponse(member_id=body.member_id, member_epoch=LEAVE_EPOCH)

    def stay(code: int, at_ms: int) -> Decision:
        start_session(context, body.group_id, body.member_id, at_ms)
        return Decision(answers=[Answer(request.ticket, error_body(request, code))])

    return Decision(removal(context, group, member), [Answer(request.ticket, response)], on_failure=stay)


def _group_to_join(context: Context, body: Any) -> ShareGroup:
    return share_group(context, body.group_id) if body.group_id in context.state.groups else ShareGroup(body.group_id)


def _known_member(context: Context, group: ShareGroup, body: Any) -> Member:
    """The member as it is, or a new one. Errors: GroupError for one that the group does not take, or not in this epoch."""
    known = group.members.get(body.member_id)
    limit, epoch = context.settings.share.max_size, body.member_epoch
    if known is None:
        if len(group.members) >= limit:
            raise GroupError(GROUP_MAX_SIZE_REACHED, f"The share group has reached its maximum capacity of {limit} members.")
        if epoch != 0:
            raise _unknown(group, body.member_id)
        return Member(body.member_id)
    if epoch in (0, known.epoch, known.previous_epoch):
        return known
    size, rest = (
        ("greater", "")
        if epoch > known.epoch
        else ("smaller", f", and it does not match the previous member epoch ({known.previous_epoch})")
    )
    raise GroupError(
        FENCED_MEMBER_EPOCH,
        f"The share group member has a {size} member epoch ({epoch}) than the one known by the group coordinator ({known.epoch}){rest}. "
        "The member must abandon all its partitions and rejoin.",
    )


def _merged(known: Member, request: Request) -> Member:
    """The member with what it says of itself; what it leaves out stays."""
    body = request.body
    names = known.names if body.subscribed_topic_names is None else names_in_order(body.subscribed_topic_names)
    return known._replace(
        rack_id=known.rack_id if body.rack_id is None else body.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        names=known.names if set(names) == set(known.names) else names,
    )


def _next_epoch(context: Context, group: ShareGroup, known: Member, member: Member, records: list[Record]) -> int:
    """The group's epoch, raised where its topics have changed, or where a partition has become ready that no target has.

    A target that is yet to be computed takes in what is ready, so the epoch need not be raised for that.
    """
    topics = context.state.topics
    is_raised = member.names != known.names or (group.assignment_epoch >= group.epoch and lacks_what_is_ready(group))
    if not is_raised and group.checked_version == topics.version:
        return group.epoch
    metadata_hash = group_hash(counted(group.subscribers, known.names, member.names), topics)
    if not is_raised and metadata_hash == group.metadata_hash:
        group.checked_version = topics.version
        return group.epoch
    records.append(group_record(group.group_id, group.epoch + 1, metadata_hash))
    return group.epoch + 1


def _target(context: Context, group: ShareGroup, member: Member, epoch: int, now_ms: int) -> Target:
    """The member's target: a new one where the epoch has moved on, though not more often than the interval allows."""
    settings = context.settings.share
    interval_ms = group_setting(context, group.group_id, "share.assignment.interval.ms", settings.assignment_interval_ms)
    if epoch <= group.assignment_epoch or (group.assignment_ms and now_ms < group.assignment_ms + interval_ms):
        return known_target(group, member.member_id)
    return new_target(group, member, epoch, settings.assignors[0], context.state.topics, now_ms)


def _asked_state(context: Context, group: ShareGroup, names: dict[str, int], now_ms: int, records: list[Record]) -> list[Effect]:
    """Have share state made for the partitions of subscribed topics that have none."""
    state = group.share_state or NO_STATE
    is_waiting = now_ms - group.state_asked_ms < STATE_RETRY_MS
    lacking = state.lacking(names, context.state.topics, is_waiting)
    if not lacking:
        return []
    records.append(share_state_record(group.group_id, state.asked_for(lacking)))
    return [InitializeShareState(group.group_id, {id: tuple(sorted(topic.partitions)) for id, topic in lacking.items()})]


def _response(context: Context, body: Any, known: Member, member: Member) -> messages.ShareGroupHeartbeatResponse:
    default_ms = context.settings.share.heartbeat_interval_ms
    response = messages.ShareGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=group_setting(context, body.group_id, "share.heartbeat.interval.ms", default_ms),
    )
    if body.member_epoch == 0 or body.subscribed_topic_names is not None or member.assigned != known.assigned:
        response.assignment = _assignment(member.assigned)
    return response


def _assignment(partitions: Partitions) -> messages.ShareGroupHeartbeatResponse.Assignment:
    kind = messages.ShareGroupHeartbeatResponse
    return kind.Assignment(
        topic_partitions=tuple(kind.TopicPartitions(topic_id=id, partitions=numbers) for id, numbers in partitions.items())
    )


def _unknown(group: ShareGroup, member_id: str) -> GroupError:
    return GroupError(UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
