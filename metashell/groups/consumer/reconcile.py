"""A member's way from what it holds to its target: give up first, take what nobody holds then.

Source: org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder; groups.md 10.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple

from metashell.codec.error_codes import FENCED_MEMBER_EPOCH
from metashell.groups.consumer.member import STABLE, UNRELEASED, UNREVOKED, Member
from metashell.groups.consumer.partitions import NOTHING, Held, TopicPartitions, buckets_of_copy, held, holds_any
from metashell.groups.consumer.records import Target
from metashell.groups.decision import GroupError


class Goal(NamedTuple):
    """Where a member has to come to.

    Shape: `topic_ids` are those that it subscribes to and that exist; `owners` has every partition that some member holds; `reported` is
    what the member says to hold, None where it does not say.
    """

    epoch: int
    target: Target
    topic_ids: Set[bytes]
    owners: Mapping[tuple[bytes, int], int]
    reported: Collection[TopicPartitions] | None
    has_subscription_changed: bool = False


def reconciled(member: Member, goal: Goal) -> Member:
    """The member one step nearer to its goal, or as it is where it has to wait. Errors: GroupError 110 for a state that is not known."""
    if member.state == STABLE:
        if member.epoch != goal.epoch:
            return _next(member, member.epoch, goal)
        return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
    if member.state == UNREVOKED:
        # What the member does not report is revoked; while it reports nothing at all, it is not.
        if _reports_any(goal, member.revoking):
            return _without_unsubscribed(member, goal) if goal.has_subscription_changed else member
        return _next(member, member.epoch, goal)
    if member.state == UNRELEASED:
        return _next(member, member.epoch, goal)
    # A newer coordinator wrote this state: the member has to begin again with nothing.
    if goal.reported is None or goal.reported:
        raise GroupError(
            FENCED_MEMBER_EPOCH, "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin."
        )
    return _next(member, goal.epoch, goal)


def _reports_any(goal: Goal, partitions: Held) -> bool:
    return goal.reported is None or holds_any(goal.reported, partitions)


def _without_unsubscribed(member: Member, goal: Goal) -> Member:
    """Take topics from the member that it does not subscribe to any more, before the next target does."""
    dropped = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in goal.topic_ids}
    if not dropped:
        # Kafka takes a member without any topics for one that changed, even if it had nothing.
        return member if goal.topic_ids or member.revoking else member._replace(previous_epoch=member.epoch)
    kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id in goal.topic_ids}
    revoking = dict(member.revoking)
    for topic_id, epochs in dropped.items():
        revoking[topic_id] = _merged(member.revoking.get(topic_id), epochs)
    if _reports_any(goal, revoking):
        return _moved(member, member.epoch, UNREVOKED, kept, revoking)
    return member._replace(previous_epoch=member.epoch, assigned=kept)


def _merged(known: Mapping[int, int] | None, added: Mapping[int, int]) -> Mapping[int, int]:
    if known is None:
        return added
    return held([*known.items(), *added.items()], buckets_of_copy(len(known)))


def _next(member: Member, epoch: int, goal: Goal) -> Member:
    """What is in the target stays, the rest is to be given up; only when nothing is, what is free is taken."""
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    wanted: dict[bytes, list[int]] = {}
    is_blocked = False
    for topic_id in dict.fromkeys((*goal.target, *member.assigned)):
        target: Iterable[int] = goal.target.get(topic_id, ()) if topic_id in goal.topic_ids else ()
        current = member.assigned.get(topic_id, {})
        mine = set(target)
        # Kafka copies the table of all that the member held, whose size then decides the order of what is left and of what is added.
        copy = held(current.items(), buckets_of_copy(len(current)))
        if stay := {partition: since for partition, since in copy.items() if partition in mine}:
            kept[topic_id] = stay
        if go := {partition: since for partition, since in copy.items() if partition not in mine}:
            revoking[topic_id] = go
        own = member.revoking.get(topic_id, {})
        missing = [partition for partition in target if partition not in current]
        free = [partition for partition in missing if (topic_id, partition) not in goal.owners or partition in own]
        is_blocked = is_blocked or len(free) < len(missing)
        if free:
            wanted[topic_id] = free
    if revoking and _reports_any(goal, revoking):
        return _moved(member, epoch, UNREVOKED, kept, revoking)
    for topic_id, free in wanted.items():
        buckets = buckets_of_copy(len(member.assigned.get(topic_id, ())) if topic_id in kept else 0)
        kept[topic_id] = held([*kept.get(topic_id, {}).items(), *((partition, goal.epoch) for partition in free)], buckets)
    return _moved(member, goal.epoch, UNRELEASED if is_blocked else STABLE, kept, NOTHING)


def _moved(member: Member, epoch: int, state: int, assigned: Held, revoking: Held) -> Member:
    return member._replace(epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, revoking=revoking)
