"""ShareGroupHeartbeat: members join, leave, and get partitions; sessions that end; and share state that others initialize or delete.

Order of a batch: the member (10), the group's epoch (11), targets (13, 12), what the member has (14), share state that is requested (15).
Several members may have the same partition, so a member takes its target at once, without a step in which others revoke.
Source: org.apache.kafka.coordinator.group.GroupMetadataManager.shareGroupHeartbeat; KIP-932; golden scenarios share-life, share-validation,
share-session-expires, missing-group, other-groups-full and watched-share-grows in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED,
    INVALID_REQUEST,
    UNKNOWN_SERVER_ERROR,
)
from metashell.codec.java import names_in_order, string_hash_order
from metashell.groups.assignors import AssignorError, ServerGroup, ServerMember, are_homogeneous, in_java_order
from metashell.groups.assignors.server import run_server_assignor
from metashell.groups.decision import Answer, Decision, Effect, GroupError, InitializeShareState, Record, Request, error_body
from metashell.groups.share import (
    LEAVE_EPOCH,
    NO_PARTITIONS,
    NO_STATE,
    NamedPartitions,
    Partitions,
    ShareGroup,
    ShareGroupMember,
    count_subscribers,
    current_record,
    group_record,
    member_record,
    member_tombstones,
    share_state_record,
    target_member_record,
    target_record,
)
from metashell.groups.state import Context, Group
from metashell.groups.topics import Topics, group_hash

STATE_RETRY_MS: Final = 30_000
"""The time after which a request for share state is repeated."""


def handle_share_heartbeat(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide a heartbeat. Errors: GroupError if it is refused."""
    body = request.body
    _check(body)
    if body.member_epoch == LEAVE_EPOCH:
        return _leave(context, request)
    if body.member_epoch == 0 and body.group_id not in context.state.groups:
        group = ShareGroup(body.group_id)
    else:
        group = share_group(context, body.group_id, "Group" if body.member_epoch == 0 else "Share group")
    known = _known_member(context, group, body)
    member = _merged(known, request)
    records = [] if member == known else [member_record(group.group_id, member)]
    epoch = _next_epoch(context, group, known, member, records)
    target = _target(context, group, member, epoch, now_ms)
    records += target.records
    if target.epoch != member.epoch or set(member.names) != set(known.names):
        before, member = member, reconcile_share_member(member, target, context.state.topics)
        if member != before:
            records.append(current_record(group.group_id, member))
    effects = _asked_state(context, group, count_subscribers(group.subscribers, known.names, member.names), now_ms, records)
    start_session(context, group.group_id, member.member_id, now_ms)
    return Decision(records, [Answer(request.ticket, _response(context, body, known, member))], effects)


def share_group(context: Context, group_id: str, missing: str = "Group") -> ShareGroup:
    """Return the share group. Errors: GroupError if it does not exist or is of another kind."""
    group: Group | None = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND, f"{missing} {group_id} not found.")
    if not isinstance(group, ShareGroup):
        raise GroupError(GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
    return group


def _check(body: Any) -> None:
    """Errors: GroupError for a request that is invalid by itself."""
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
        raise group.unknown_member(body.member_id)
    response = messages.ShareGroupHeartbeatResponse(member_id=body.member_id, member_epoch=LEAVE_EPOCH)

    def stay(code: int, at_ms: int) -> Decision:
        start_session(context, body.group_id, body.member_id, at_ms)
        return Decision(answers=[Answer(request.ticket, error_body(request, code))])

    return Decision(remove_share_member(context, group, member), [Answer(request.ticket, response)], on_failure=stay)


def _known_member(context: Context, group: ShareGroup, body: Any) -> ShareGroupMember:
    """Return the member or a new one. Errors: GroupError for an unknown or fenced member and for a full group."""
    known = group.members.get(body.member_id)
    limit, epoch = context.settings.share.max_size, body.member_epoch
    if known is None:
        if len(group.members) >= limit:
            raise GroupError(GROUP_MAX_SIZE_REACHED, f"The share group has reached its maximum capacity of {limit} members.")
        if epoch != 0:
            raise group.unknown_member(body.member_id)
        return ShareGroupMember(body.member_id)
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


def _merged(known: ShareGroupMember, request: Request) -> ShareGroupMember:
    """Return the member with the fields of its request. Omitted fields stay."""
    body = request.body
    names = known.names if body.subscribed_topic_names is None else names_in_order(body.subscribed_topic_names)
    return known._replace(
        rack_id=known.rack_id if body.rack_id is None else body.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        names=known.names if set(names) == set(known.names) else names,
    )


def _next_epoch(context: Context, group: ShareGroup, known: ShareGroupMember, member: ShareGroupMember, records: list[Record]) -> int:
    """Return the group's epoch, raised if its topics have changed, or if share state exists for a partition that no target has.

    If a target is due to be computed anyway, it will include such partitions, and the epoch is not raised for them.
    """
    topics = context.state.topics
    is_raised = member.names != known.names or (group.assignment_epoch >= group.epoch and lacks_what_is_ready(group))
    if not is_raised and group.checked_version == topics.version:
        return group.epoch
    metadata_hash = group_hash(count_subscribers(group.subscribers, known.names, member.names), topics)
    if not is_raised and metadata_hash == group.metadata_hash:
        group.checked_version = topics.version
        return group.epoch
    records.append(group_record(group.group_id, group.epoch + 1, metadata_hash))
    return group.epoch + 1


def _target(context: Context, group: ShareGroup, member: ShareGroupMember, epoch: int, now_ms: int) -> Target:
    """Return the member's target, a new one if the epoch was raised and the assignment interval has passed."""
    settings = context.settings.share
    interval_ms = context.group_setting(group.group_id, "share.assignment.interval.ms", settings.assignment_interval_ms)
    if epoch <= group.assignment_epoch or (group.assignment_ms and now_ms < group.assignment_ms + interval_ms):
        return Target(group.assignment_epoch, group.targets.get(member.member_id, NO_PARTITIONS))
    return new_target(group, member, epoch, settings.assignors[0], context.state.topics, now_ms)


def _asked_state(context: Context, group: ShareGroup, names: dict[str, int], now_ms: int, records: list[Record]) -> list[Effect]:
    """Request share state for partitions of subscribed topics that have none."""
    state = group.share_state or NO_STATE
    is_waiting = now_ms - group.state_asked_ms < STATE_RETRY_MS
    lacking = state.lacking(names, context.state.topics, is_waiting)
    if not lacking:
        return []
    records.append(share_state_record(group.group_id, state.asked_for(lacking)))
    return [InitializeShareState(group.group_id, {id: tuple(sorted(topic.partitions)) for id, topic in lacking.items()})]


def _response(context: Context, body: Any, known: ShareGroupMember, member: ShareGroupMember) -> messages.ShareGroupHeartbeatResponse:
    default_ms = context.settings.share.heartbeat_interval_ms
    response = messages.ShareGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=context.group_setting(body.group_id, "share.heartbeat.interval.ms", default_ms),
    )
    if body.member_epoch == 0 or body.subscribed_topic_names is not None or member.assigned != known.assigned:
        response.assignment = _assignment(member.assigned)
    return response


def _assignment(partitions: Partitions) -> messages.ShareGroupHeartbeatResponse.Assignment:
    kind = messages.ShareGroupHeartbeatResponse
    return kind.Assignment(
        topic_partitions=tuple(kind.TopicPartitions(topic_id=id, partitions=numbers) for id, numbers in partitions.items())
    )


class Target(NamedTuple):
    """A member's target and its epoch, with the records of a new target."""

    epoch: int
    partitions: Partitions
    records: tuple[Record, ...] = ()


def new_target(group: ShareGroup, changed: ShareGroupMember, epoch: int, assignor: str, topics: Topics, now_ms: int) -> Target:
    """Compute a target for all members, of whom one has changed or is new. Errors: GroupError if the assignor fails."""
    members = {**group.members, changed.member_id: changed}
    asked = {id: _server_member(group, members[id], topics) for id in string_hash_order(members)}
    initialized = {} if group.share_state is None else group.share_state.initialized
    assignable = {id: tuple(sorted(topic.partitions)) for id, topic in initialized.items()}
    try:
        given = run_server_assignor(assignor, ServerGroup(asked, are_homogeneous(asked.values()), assignable), topics)
    except AssignorError as error:
        raise GroupError(UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment for epoch {epoch}: {error}") from error
    targets = {id: {topic: tuple(sorted(numbers)) for topic, numbers in given.get(id, NO_PARTITIONS).items()} for id in asked}
    records = [target_member_record(group.group_id, id, target) for id, target in targets.items() if group.targets.get(id) != target]
    return Target(epoch, targets[changed.member_id], (*records, target_record(group.group_id, epoch, now_ms)))


def reconcile_share_member(member: ShareGroupMember, target: Target, topics: Topics) -> ShareGroupMember:
    """Move the member to its target in one step: others may have the same partitions, so nothing must be revoked first."""
    ids = {topic.id for name in member.names if (topic := topics.named(name)) is not None}
    assigned = {id: numbers for id, numbers in target.partitions.items() if id in ids}
    if target.epoch == member.epoch:
        return member._replace(assigned=assigned)
    return member._replace(assigned=assigned, epoch=target.epoch, previous_epoch=member.epoch)


def lacks_what_is_ready(group: ShareGroup) -> bool:
    """Return whether a partition of a subscribed topic has share state and is in no member's target."""
    targeted: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for id, numbers in target.items():
            targeted.setdefault(id, set()).update(numbers)
    ready = {} if group.share_state is None else group.share_state.initialized
    return any(topic.name in group.subscribers and not topic.partitions <= targeted.get(id, set()) for id, topic in ready.items())


def _server_member(group: ShareGroup, member: ShareGroupMember, topics: Topics) -> ServerMember:
    known = (topics.named(name) for name in member.names)
    previous = in_java_order(group.targets.get(member.member_id, NO_PARTITIONS))
    return ServerMember(tuple(topic.id for topic in known if topic is not None), previous, None, member.rack_id)


SESSION: Final = "share-session-timeout"


def start_session(context: Context, group_id: str, member_id: str, now_ms: int) -> None:
    """Restart a member's session."""

    def expire(at_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        if not isinstance(group, ShareGroup) or member_id not in group.members:
            return Decision()
        return Decision(remove_share_member(context, group, group.members[member_id]))

    timeout_ms = context.group_setting(group_id, "share.session.timeout.ms", context.settings.share.session_timeout_ms)
    context.timers.schedule((SESSION, group_id, member_id), now_ms + timeout_ms, expire)


def start_share_sessions(context: Context, now_ms: int) -> None:
    """Start the sessions of all members after loading."""
    for group in context.state.groups.values():
        for member_id in group.members if isinstance(group, ShareGroup) else ():
            start_session(context, group.group_id, member_id, now_ms)


def remove_share_member(context: Context, group: ShareGroup, member: ShareGroupMember) -> list[Record]:
    """Return the records that remove a member, and cancel its timer."""
    context.timers.cancel((SESSION, group.group_id, member.member_id))
    left = count_subscribers(group.subscribers, member.names, ())
    epoch = group.epoch + 1
    epoch_record = group_record(group.group_id, epoch, group_hash(left, context.state.topics))
    # An empty group has nothing to assign, so its assignment is up to date; timestamp 0 lets the next one be computed at once.
    emptied = [target_record(group.group_id, epoch, 0)] if len(group.members) == 1 else []
    return [*member_tombstones(group.group_id, member.member_id), epoch_record, *emptied]


def state_initialized(context: Context, effect: Effect, is_ok: bool, now_ms: int) -> Decision:
    """Record that partitions have share state, or that their initialization failed. Ignored if the group no longer exists."""
    assert isinstance(effect, InitializeShareState)
    group = context.state.groups.get(effect.group_id)
    if not isinstance(group, ShareGroup):
        return Decision()
    state = group.share_state or NO_STATE
    asked = {
        id: NamedPartitions(state.initializing[id].name, frozenset(numbers))
        for id, numbers in effect.partitions.items()
        if id in state.initializing
    }
    after = state.made(asked) if is_ok else state.not_made(asked)
    return Decision([share_state_record(group.group_id, after)] if after != state else [])


def drop_deleted_topics(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """Return the records that drop deleted topics from the share state of groups."""
    ids = {topic.id for name in deleted if (topic := old.named(name)) is not None}
    records = []
    for group in context.state.groups.values():
        if isinstance(group, ShareGroup) and group.share_state is not None:
            left = group.share_state.without_topics(ids)
            records += [] if left == group.share_state else [share_state_record(group.group_id, left)]
    return records
