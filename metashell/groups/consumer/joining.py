"""Which member a request is of: one of the group's, a new one, or one that takes a static member's place.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.getOrMaybeSubscribe...ConsumerGroupMember.
"""

from __future__ import annotations

from collections.abc import Collection

from metashell.codec.error_codes import FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED, UNRELEASED_INSTANCE_ID
from metashell.groups.assignors.server_group import in_java_order
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.leaving import check_instance, static_member
from metashell.groups.consumer.member import STATIC_LEAVE_EPOCH, Member
from metashell.groups.consumer.partitions import TopicPartitions, is_within
from metashell.groups.consumer.records import current_record, member_record, member_tombstones, target_member_record
from metashell.groups.decision import GroupError
from metashell.groups.record import Record


def check_size(group: ConsumerGroup, member_id: str, instance_id: str | None, max_size: int) -> None:
    """Errors: GroupError 81 for a new member of a group that is full; one that takes a static member's place is none."""
    if len(group.members) >= max_size and member_id not in group.members and instance_id not in group.statics:
        raise GroupError(GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {max_size} members.")


def check_epoch(member: Member, epoch: int, reported: Collection[TopicPartitions] | None) -> None:
    """Errors: GroupError 110 for an epoch that is not the member's, unless the answer that told it may have been lost."""
    if epoch == 0 or epoch == member.epoch:
        return
    if epoch < member.epoch and epoch == member.previous_epoch and is_within(reported, member.assigned):
        return
    word = "greater" if epoch > member.epoch else "smaller"
    raise GroupError(
        FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group coordinator ({member.epoch}). "
        "The member must abandon all its partitions and rejoin.",
    )


def dynamic_member(group: ConsumerGroup, member_id: str, is_joining: bool) -> Member:
    """Errors: GroupError 25 for one that is not known, where it does not join."""
    if is_joining and member_id not in group.members:
        return Member(member_id)
    return group.member(member_id)


def joining_static_member(group: ConsumerGroup, member_id: str, instance_id: str, is_classic: bool, records: list[Record]) -> Member:
    """A static member that joins; the records that put it in its predecessor's place are added. Errors: GroupError 111."""
    known = group.static_member(instance_id)
    if known is None:
        return dynamic_member(group, member_id, is_joining=True)
    if not is_classic and known.classic is None and known.epoch != STATIC_LEAVE_EPOCH:
        raise GroupError(
            UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is owned by "
            f"{known.member_id} member.",
        )
    member = known._replace(member_id=member_id, epoch=0, previous_epoch=0)
    group_id = group.group_id
    records += member_tombstones(group_id, known.member_id)
    records.append(member_record(group_id, member))
    records.append(target_member_record(group_id, member_id, in_java_order(group.target_of(known.member_id))))
    records.append(current_record(group_id, member))
    return member


def staying_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> Member:
    """Errors: GroupError 25, 82."""
    member = static_member(group, instance_id)
    check_instance(member, member_id, instance_id)
    return member
