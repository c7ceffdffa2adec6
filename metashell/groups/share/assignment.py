"""What the members of a share group are to have, and how one of them comes to it.

Source: groups.md 14 and 15, golden scenario share-life.
"""

from __future__ import annotations

from typing import NamedTuple

from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.codec.java_hash import string_hash_order
from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.server import assign
from metashell.groups.assignors.server_group import ServerGroup, ServerMember, are_homogeneous, in_java_order
from metashell.groups.decision import GroupError
from metashell.groups.record import Record
from metashell.groups.share.group import ShareGroup
from metashell.groups.share.member import NOTHING, Member, Partitions
from metashell.groups.share.records import target_member_record, target_record
from metashell.groups.topics import Topics


class Target(NamedTuple):
    """What one member has to come to, and in which epoch; `records` say so where it is new."""

    epoch: int
    partitions: Partitions
    records: tuple[Record, ...] = ()


def known_target(group: ShareGroup, member_id: str) -> Target:
    """The target as it was last computed."""
    return Target(group.assignment_epoch, group.targets.get(member_id, NOTHING))


def new_target(group: ShareGroup, changed: Member, epoch: int, assignor: str, topics: Topics, now_ms: int) -> Target:
    """A target for all members, of whom one has changed or is new. Errors: GroupError where the assignor fails."""
    members = {**group.members, changed.member_id: changed}
    asked = {id: _server_member(group, members[id], topics) for id in string_hash_order(members)}
    initialized = {} if group.share_state is None else group.share_state.initialized
    assignable = {id: tuple(sorted(topic.partitions)) for id, topic in initialized.items()}
    try:
        given = assign(assignor, ServerGroup(asked, are_homogeneous(asked.values()), assignable), topics)
    except AssignorError as error:
        raise GroupError(UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment for epoch {epoch}: {error}") from error
    targets = {id: {topic: tuple(sorted(numbers)) for topic, numbers in given.get(id, NOTHING).items()} for id in asked}
    records = [target_member_record(group.group_id, id, target) for id, target in targets.items() if group.targets.get(id) != target]
    return Target(epoch, targets[changed.member_id], (*records, target_record(group.group_id, epoch, now_ms)))


def reconciled(member: Member, target: Target, topics: Topics) -> Member:
    """The member at its target: others may have the same partitions, so nothing has to be given up first."""
    ids = {topic.id for name in member.names if (topic := topics.named(name)) is not None}
    assigned = {id: numbers for id, numbers in target.partitions.items() if id in ids}
    if target.epoch == member.epoch:
        return member._replace(assigned=assigned)
    return member._replace(assigned=assigned, epoch=target.epoch, previous_epoch=member.epoch)


def lacks_what_is_ready(group: ShareGroup) -> bool:
    """Whether partitions of subscribed topics have share state, but no member's target has them."""
    targeted: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for id, numbers in target.items():
            targeted.setdefault(id, set()).update(numbers)
    ready = {} if group.share_state is None else group.share_state.initialized
    return any(topic.name in group.subscribers and not topic.partitions <= targeted.get(id, set()) for id, topic in ready.items())


def _server_member(group: ShareGroup, member: Member, topics: Topics) -> ServerMember:
    known = (topics.named(name) for name in member.names)
    previous = in_java_order(group.targets.get(member.member_id, NOTHING))
    return ServerMember(tuple(topic.id for topic in known if topic is not None), previous, None, member.rack_id)
