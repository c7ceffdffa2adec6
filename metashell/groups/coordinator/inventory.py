"""ListGroups and DeleteGroups: what holds for groups of every kind.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorShard.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NONE
from metashell.codec.java_hash import string_hash_order
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.group import Group
from metashell.groups.offsets.deletion import group_tombstones
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.state import State


def list_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """The groups of this shard, filtered by state and type without regard to case; a word that names none matches none."""
    states = {state.lower() for state in request.body.states_filter}
    types = {type.lower() for type in request.body.types_filter}
    kind = messages.ListGroupsResponse
    groups = tuple(
        kind.ListedGroup(group_id=group_id, protocol_type=group.protocol_type, group_state=group.state_name(), group_type=group.type)
        for group_id, group in context.state.groups.items()
        if (not states or group.state_name().lower() in states) and (not types or group.type in types)
    )
    return Decision(answers=[Answer(request.ticket, kind(groups=groups))])


def delete_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """Delete groups with their offsets, each by itself. A name that stands twice is one."""
    kind = messages.DeleteGroupsResponse
    records: list[Record] = []
    results = []
    for group_id in string_hash_order(request.body.groups_names):
        code = NONE
        try:
            records += _tombstones(context.state, group_id)
        except GroupError as error:
            code = error.code
        results.append(kind.DeletableGroupResult(group_id=group_id, error_code=code))
    return Decision(records, [Answer(request.ticket, kind(results=tuple(results)))])


def _tombstones(state: State, group_id: str) -> list[Record]:
    """What deletes a group. Errors: GroupError for one that may not go."""
    group: Group | None = state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND)
    group.check_delete()
    return [*group_tombstones(state, group_id), *group.tombstones()]
