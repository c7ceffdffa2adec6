"""ListGroups and DeleteGroups: what holds for groups of every kind.

Source: groups.md 7.1 and 13.4, golden scenarios list-groups, delete-groups, describe-and-list and share-life.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NONE, NOT_COORDINATOR, UNKNOWN_SERVER_ERROR
from metashell.codec.java_hash import string_hash, string_hash_order
from metashell.groups.context import Context
from metashell.groups.decision import Decision, DeleteShareState, Effect, GroupError
from metashell.groups.error_answers import error_body
from metashell.groups.group import Group
from metashell.groups.java_map import timeline_order, timeline_slots
from metashell.groups.offsets.deletion import group_tombstones
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.share.deletion import begin_deletion
from metashell.groups.share.group import ShareGroup
from metashell.groups.waiting_deletion import WaitingDeletion


def list_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """The groups of this shard, filtered by state and type without regard to case; a word that names none matches none."""
    states = {state.lower() for state in request.body.states_filter}
    types = {type.lower() for type in request.body.types_filter}
    kind = messages.ListGroupsResponse
    known = context.state.groups
    ids = [id for id, group in known.items() if (not types or group.type in types) and (not states or group.state_name().lower() in states)]
    # Kafka lists groups in the order of the table that has all of them.
    slots = timeline_slots(len(known))
    groups = tuple(
        kind.ListedGroup(group_id=id, protocol_type=known[id].protocol_type, group_state=known[id].state_name(), group_type=known[id].type)
        for id in timeline_order(ids, {id: string_hash(id) for id in ids}, slots)
    )
    return Decision(answers=[Answer(request.ticket, kind(groups=groups))])


def delete_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """Delete groups with their offsets, each by itself. A name that stands twice is one.

    Share state of share groups is deleted first. All groups of the request wait for that, and then go in one batch.
    """
    records: list[Record] = []
    effects: list[Effect] = []
    for group_id in dict.fromkeys(request.body.groups_names):
        group = context.state.groups.get(group_id)
        if isinstance(group, ShareGroup) and group.is_empty:
            effect = begin_deletion(context, group, records)
            effects += [] if effect is None else [effect]
    if not effects:
        return _finish(context, WaitingDeletion(request))
    waiting = WaitingDeletion(request, {effect.group_id for effect in effects if isinstance(effect, DeleteShareState)})
    context.deletions.append(waiting)

    def give_up(code: int, at_ms: int) -> Decision:
        context.deletions.remove(waiting)
        return Decision(answers=[Answer(request.ticket, error_body(request, code))])

    return Decision(records, [], effects, on_failure=give_up)


def share_state_deleted(context: Context, effect: Effect, is_ok: bool, now_ms: int) -> Decision:
    """Go on with the deletions that waited for a share group's state; a group whose state could not be deleted stays."""
    assert isinstance(effect, DeleteShareState)
    for waiting in context.deletions:
        if effect.group_id in waiting.groups:
            waiting.groups.discard(effect.group_id)
            if not is_ok:
                waiting.failed.add(effect.group_id)
            if not waiting.groups:
                context.deletions.remove(waiting)
                return _finish(context, waiting)
            break
    return Decision()


def end_deletions(context: Context, now_ms: int) -> list[Answer]:
    """An error for everybody who still waits when the coordinator goes."""
    answers = [Answer(waiting.request.ticket, error_body(waiting.request, NOT_COORDINATOR)) for waiting in context.deletions]
    context.deletions.clear()
    return answers


def _finish(context: Context, waiting: WaitingDeletion) -> Decision:
    kind = messages.DeleteGroupsResponse
    records: list[Record] = []
    results = []
    names = string_hash_order(waiting.request.body.groups_names)
    # Share groups are looked at first, so what is wrong with one of them is answered first.
    refused = [name for name in names if isinstance(group := context.state.groups.get(name), ShareGroup) and not group.is_empty]
    for group_id in dict.fromkeys([*refused, *names]):
        code = NONE
        try:
            if group_id in waiting.failed:
                raise GroupError(UNKNOWN_SERVER_ERROR)
            group = _deletable(context, group_id)
            records += [*group_tombstones(context.state, group_id), *group.tombstones()]
        except GroupError as error:
            code = error.code
        results.append(kind.DeletableGroupResult(group_id=group_id, error_code=code))
    return Decision(records, [Answer(waiting.request.ticket, kind(results=tuple(results)))], request=waiting.request)


def _deletable(context: Context, group_id: str) -> Group:
    group = context.state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND)
    group.check_delete()
    return group
