"""From a classic group that has members to a consumer group, when the first member of the consumer protocol joins it.

Source: groups.md 11.1 and the conversations `upgrade-...` of tests/golden/groups.
"""

from __future__ import annotations

from metashell.codec.blobs.consumer_protocol import read_assignment, read_subscription
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, REBALANCE_IN_PROGRESS, UNKNOWN_SERVER_ERROR
from metashell.errors import DecodeError
from metashell.groups.classic.group import ClassicGroup
from metashell.groups.classic.member import ClassicMember
from metashell.groups.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from metashell.groups.consumer.member import STABLE, ClassicProtocols, Member, names_in_order
from metashell.groups.consumer.partitions import held
from metashell.groups.consumer.records import current_record, group_record, member_record, target_member_record, target_record
from metashell.groups.consumer.timeouts import restart_session
from metashell.groups.consumer.timer_keys import cancel_all
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.group import Group
from metashell.groups.metadata_hash import group_hash
from metashell.groups.topics import Topics

_CUSTOM_ASSIGNOR = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor before re-attempting the "
    "upgrade"
)


def upgraded(context: Context, group: Group, now_ms: int, decision: Decision) -> ConsumerGroup:
    """The consumer group that takes the place of a classic one; its records are added to the decision. Errors: GroupError 69."""
    assert isinstance(group, ClassicGroup)
    _check(context, group)
    # Who waits has to join again, also where a blob then turns out to be unreadable.
    decision.answers += group.refuse_all_waiting(REBALANCE_IN_PROGRESS)
    topics, generation = context.state.topics, group.generation
    made = ConsumerGroup(group.group_id, epoch=generation, assignment_epoch=generation)
    for classic in group.members.values():
        member = _member(group, classic, topics)
        made.put(member)
        made.targets[member.member_id] = {topic_id: tuple(epochs) for topic_id, epochs in member.assigned.items()}
    made.metadata_hash = group_hash(made.subscribers, topics)
    decision.records += [
        *group.tombstones(),
        *(member_record(made.group_id, member) for member in made.members.values()),
        group_record(made.group_id, made.epoch, made.metadata_hash),
        *(target_member_record(made.group_id, member_id, made.targets[member_id]) for member_id in made.members),
        target_record(made.group_id, generation, 0),
        *(current_record(made.group_id, member) for member in made.members.values()),
    ]
    # Timers of the classic group stay: without it they do nothing, and it is still there where the batch cannot be written.
    for member in made.members.values():
        cancel_all(context.timers, made.group_id, member.member_id)
        restart_session(context, made.group_id, member, now_ms)
    return made


def _check(context: Context, group: ClassicGroup) -> None:
    settings = context.settings
    if settings.migration_policy not in ("upgrade", "bidirectional"):
        raise _refused(group, "online upgrade is disabled")
    if group.protocol_type != PROTOCOL_TYPE:
        raise _refused(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer.max_size:
        raise _refused(group, "the group size exceeds the consumer group maximum size")


def _member(group: ClassicGroup, classic: ClassicMember, topics: Topics) -> Member:
    """The member as it goes on, with what it was assigned; topics that are gone are left out. Errors: GroupError 69."""
    metadata = classic.metadata(group.protocol_name or "")
    if metadata is None:
        # It joined after the protocol was chosen and does not speak it. Kafka fails there, without a word.
        raise GroupError(UNKNOWN_SERVER_ERROR)
    try:
        assignment = read_assignment(classic.assignment)
        subscription = read_subscription(metadata)
    except DecodeError as error:
        raise _refused(group, "the embedded consumer protocol is malformed") from error
    if assignment.user_data:
        raise _refused(group, _CUSTOM_ASSIGNOR)
    assigned: dict[bytes, dict[int, int]] = {}
    for topic_name, partition in assignment.partitions:
        topic = topics.named(topic_name)
        if topic is not None:
            assigned.setdefault(topic.id, {})[partition] = group.generation
    return Member(
        classic.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
        state=STABLE,
        assigned={topic_id: held(epochs.items()) for topic_id, epochs in assigned.items()},
        instance_id=classic.instance_id,
        rack_id=subscription.rack or None,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        client_id=classic.client_id,
        client_host=classic.client_host,
        names=names_in_order(subscription.topics),
        classic=ClassicProtocols(classic.session_timeout_ms, tuple((name, metadata) for name, metadata in classic.protocols)),
    )


def _refused(group: ClassicGroup, reason: str) -> GroupError:
    return GroupError(GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.")
