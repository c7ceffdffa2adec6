"""Static members: who comes with a known instance id and no member id takes the place of the one before.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

from typing import Final

from metashell.groups.classic.answers import Waiting, join_answer
from metashell.groups.classic.group import ClassicGroup, ClassicState, session_key
from metashell.groups.classic.rebalance import classic_decision, rebalance_or_complete, record_of, restart_session
from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.request import Request

SKIPS_ASSIGNMENT_SINCE: Final = 9


def replace_static_member(
    context: Context, group: ClassicGroup, request: Request, old_id: str, new_id: str, decision: Decision, now_ms: int
) -> None:
    """Where the group is Stable and still chooses the same protocol, nobody else notices."""
    body, waiting = request.body, Waiting.of(request)
    old_leader = group.leader or ""
    decision.answers += group.replace_static(body.group_instance_id, old_id, new_id)
    context.timers.cancel(session_key(group.group_id, old_id))
    member = group.members[new_id]
    before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
    restart_session(context, group, member, now_ms)
    group.update_from(member, request)
    if group.state is not ClassicState.STABLE or group.select_protocol() != group.protocol_name:
        rebalance_or_complete(context, group, decision, now_ms)
        return
    decision.records.append(record_of(group, {one.member_id: one.assignment for one in group.members.values()}))
    is_leader = group.leader == new_id
    if request.version >= SKIPS_ASSIGNMENT_SINCE:
        members = group.shown_members() if is_leader else ()
        decision.answers += group.answer_join(member, members, skips_assignment=is_leader)
    else:
        # An older client would compute an assignment if it saw that it leads: its answer names the member that it replaces.
        decision.answers += group.answer_join(member, (), leader=old_leader)

    def revert(code: int, at_ms: int) -> Decision:
        group.update(member, *before)
        fenced = group.replace_static(body.group_instance_id, new_id, old_id)
        context.timers.cancel(session_key(group.group_id, new_id))
        restart_session(context, group, group.members[old_id], at_ms)
        refused = join_answer(
            waiting,
            member_id="",
            generation=group.generation,
            protocol_type=group.protocol_type_or_none,
            protocol_name=group.protocol_name,
            leader=old_leader,
            code=code,
        )
        return classic_decision(*fenced, refused)

    decision.on_failure = revert
