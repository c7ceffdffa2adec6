"""FindCoordinator, ListGroups and DeleteGroups, for groups of every kind.

One node coordinates all groups here. A share group is deleted in two steps: its share state first, and the request waits until that is
gone.
Source: kafka.server.KafkaApis.handleFindCoordinatorRequest, org.apache.kafka.coordinator.group.GroupCoordinatorService.listGroups and
deleteGroups; golden scenarios list-groups, delete-groups, describe-and-list and share-life in tests/golden/groups."""

from __future__ import annotations

from typing import Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    INVALID_REQUEST,
    NONE,
    NOT_COORDINATOR,
    UNKNOWN_SERVER_ERROR,
)
from metashell.codec.java import string_hash, string_hash_order
from metashell.common.values import uuid_from_text
from metashell.groups.coordinator.offset_fetch import offset_tombstones_of_group
from metashell.groups.decision import Answer, Decision, DeleteShareState, Effect, GroupError, Record, Request
from metashell.groups.error_answers import coordinator_error, error_body, refuse_request
from metashell.groups.java_collections import timeline_order, timeline_slots
from metashell.groups.share import ShareGroup, share_state_record
from metashell.groups.state import Context, Group, Settings, WaitingDeletion


def list_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """List the groups of this shard, filtered by state and type, ignoring case. An unknown state or type matches nothing."""
    states = {state.lower() for state in request.body.states_filter}
    types = {type.lower() for type in request.body.types_filter}
    kind = messages.ListGroupsResponse
    known = context.state.groups
    ids = [id for id, group in known.items() if (not types or group.type in types) and (not states or group.state_name().lower() in states)]
    # Kafka lists groups in the order of its hash table of groups.
    slots = timeline_slots(len(known))
    groups = tuple(
        kind.ListedGroup(group_id=id, protocol_type=known[id].protocol_type, group_state=known[id].state_name(), group_type=known[id].type)
        for id in timeline_order(ids, {id: string_hash(id) for id in ids}, slots)
    )
    return Decision(answers=[Answer(request.ticket, kind(groups=groups))])


def delete_groups(context: Context, request: Request, now_ms: int) -> Decision:
    """Delete groups with their offsets, each independently. A repeated name counts once.

    The share state of share groups is deleted first. All groups of the request wait for that, and are then deleted in one batch.
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
    """Continue the deletions that waited for a share group's state. A group whose state could not be deleted stays."""
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
    """Answer deletions that still wait when the coordinator stops."""
    answers = [Answer(waiting.request.ticket, error_body(waiting.request, NOT_COORDINATOR)) for waiting in context.deletions]
    context.deletions.clear()
    return answers


def _finish(context: Context, waiting: WaitingDeletion) -> Decision:
    kind = messages.DeleteGroupsResponse
    records: list[Record] = []
    results = []
    names = string_hash_order(waiting.request.body.groups_names)
    # As in Kafka, share groups are checked first, so their errors come first in the answer.
    refused = [name for name in names if isinstance(group := context.state.groups.get(name), ShareGroup) and not group.is_empty]
    for group_id in dict.fromkeys([*refused, *names]):
        code = NONE
        try:
            if group_id in waiting.failed:
                raise GroupError(UNKNOWN_SERVER_ERROR)
            group = _deletable(context, group_id)
            records += [*offset_tombstones_of_group(context.state, group_id), *group.tombstones()]
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


def begin_deletion(context: Context, group: ShareGroup, records: list[Record]) -> Effect | None:
    """Request the deletion of a group's share state, and add its record. Returns None for a group that never had any."""
    state = group.share_state
    if state is None:
        return None
    records.append(share_state_record(group.group_id, state.all_deleting()))
    partitions = {id: tuple(sorted(topic.partitions)) for topics in (state.initializing, state.initialized) for id, topic in topics.items()}
    for id in state.deleting:
        topic = context.state.topics.with_id(id)
        if topic is not None:
            partitions.setdefault(id, tuple(range(topic.partition_count)))
    return DeleteShareState(group.group_id, partitions)


GROUP, TRANSACTION, SHARE = 0, 1, 2
_SHARE_FROM: Final = 6
_MANY_KEYS_FROM: Final = 4


def find_coordinator(context: Context, request: Request, now_ms: int) -> Decision:
    """Answer FindCoordinator with this node, or with an error."""
    body = request.body
    if body.key_type not in (GROUP, TRANSACTION, SHARE):
        return Decision(answers=[refuse_request(request, GroupError(INVALID_REQUEST))])
    if request.version < _MANY_KEYS_FROM:
        code = _code(context.settings, body.key_type, body.key, request.version)
        if code != NONE:
            return Decision(answers=[refuse_request(request, GroupError(code))])
        settings = context.settings
        found = messages.FindCoordinatorResponse(error_message="NONE", node_id=settings.node_id, host=settings.host, port=settings.port)
        return Decision(answers=[Answer(request.ticket, found)])
    coordinators = tuple(_coordinator(context.settings, body.key_type, key, request.version) for key in body.coordinator_keys)
    return Decision(answers=[Answer(request.ticket, messages.FindCoordinatorResponse(coordinators=coordinators))])


def _coordinator(settings: Settings, key_type: int, key: str, version: int) -> messages.FindCoordinatorResponse.Coordinator:
    code = _code(settings, key_type, key, version)
    if code != NONE:
        return coordinator_error(key, code, "")
    return messages.FindCoordinatorResponse.Coordinator(
        key=key, node_id=settings.node_id, host=settings.host, port=settings.port, error_message=""
    )


def _code(settings: Settings, key_type: int, key: str, version: int) -> int:
    match key_type:
        case 0:
            return NONE
        case 1:
            return NONE if settings.has_transactions else COORDINATOR_NOT_AVAILABLE
        case _:
            # There is no share coordinator here; a malformed key is the client's error.
            return COORDINATOR_NOT_AVAILABLE if version >= _SHARE_FROM and _names_share_partition(key) else INVALID_REQUEST


def _names_share_partition(key: str) -> bool:
    """Return whether a key is `group:topic id:partition`; as in Kafka, the group may not contain colons."""
    parts = key.split(":")
    if len(parts) != 3 or not parts[0].strip():
        return False
    try:
        uuid_from_text(parts[1])
        return int(parts[2]) >= 0
    except ValueError:
        return False
