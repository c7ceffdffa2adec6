"""Takes in the records of classic groups.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.replay(GroupMetadataKey, GroupMetadataValue).
"""

from __future__ import annotations

from metashell.codec.messages import GroupMetadataValue
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.member import ClassicMember, Protocol
from metashell.groups.group import Group
from metashell.groups.record import Place, Record
from metashell.groups.state import State


def replay_group_metadata(state: State, record: Record, place: Place) -> None:
    group_id = record.key.group
    known = state.groups.get(group_id)
    if record.value is None:
        if known is not None and known.type == ClassicGroup.type:
            del state.groups[group_id]
        return
    if known is not None and known.type != ClassicGroup.type and not known.is_empty:
        state.find_other_kind(known, ClassicGroup.type, place)
    state.groups[group_id] = group_of(group_id, record.value)


def group_of(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """The group that a record describes: with members it is Stable, whatever it was on its way to."""
    group = ClassicGroup(group_id, ClassicState.STABLE if value.members else ClassicState.EMPTY, value.current_state_timestamp)
    group.restore(value.generation, value.protocol_type, value.protocol, value.leader)
    for member in value.members:
        # Version 0 has no rebalance timeout.
        rebalance_timeout_ms = member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
        added = ClassicMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            rebalance_timeout_ms,
            member.session_timeout,
            (Protocol(value.protocol or "", bytes(member.subscription)),),
            bytes(member.assignment),
        )
        group.add(added, value.protocol_type)
    group.subscribed = group.compute_subscribed()
    return group


def make_simple(group_id: str) -> Group:
    """The group of offsets that nobody's membership stands behind."""
    return ClassicGroup(group_id, ClassicState.EMPTY, -1)
