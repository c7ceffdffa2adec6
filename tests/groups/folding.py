"""A log folded into a state, and what of a live coordinator has to be the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.coordinator.coordinator import Written
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place
from metashell.groups.state import Group, State, end_transaction


def fold(written: Iterable[Written], state: State | None = None) -> State:
    """The state that the batches make, or go on to make."""
    state = make_state() if state is None else state
    for batch in written:
        producer_id = -1 if batch.producer is None else batch.producer.id
        for offset, record in enumerate(batch.records, batch.base_offset):
            replay(state, record, Place(offset, batch.timestamp_ms, producer_id))
        if batch.marker is not None and batch.producer is not None:
            end_transaction(state, batch.producer.id, batch.marker)
    return state


REBALANCING = "classic, rebalancing"


def resting(one: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """A state without the groups that are between two generations in the live one: no record says so."""
    return {**one, "groups": {id: group for id, group in one["groups"].items() if live["groups"].get(id) not in (None, REBALANCING)}}


def logged(state: State) -> dict[str, Any]:
    """All of a state that the log says."""
    groups = {group_id: _logged_group(group) for group_id, group in state.groups.items()}
    return {"groups": groups, "offsets": state.offsets, "pending": state.pending}


def _logged_group(group: Group) -> Any:
    """A classic group knows more than its record, which is written when it is Stable or Empty; the others are what their records say."""
    if not isinstance(group, ClassicGroup):
        return group
    if group.state not in (ClassicState.STABLE, ClassicState.EMPTY):
        return REBALANCING
    members = {member.member_id: (member.instance_id, member.client_id, member.assignment) for member in group.members.values()}
    return ("classic", group.state, group.generation, group.protocol_type, group.protocol_name, group.leader, members)
