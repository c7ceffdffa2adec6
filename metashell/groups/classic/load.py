"""What a coordinator does for classic groups when it begins and when it ends.

Source: org.apache.kafka.coordinator.group.GroupMetadataManager.onLoaded, onUnloaded.
"""

from __future__ import annotations

from metashell.codec.error_codes import NOT_COORDINATOR
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.classic.rebalance import classic_decision, prepare_rebalance, restart_session
from metashell.groups.context import Context
from metashell.groups.request import Answer


def begin_sessions(context: Context, now_ms: int) -> None:
    """Every member has its session to be heard of again; a group that is larger than is now allowed has to rebalance."""
    for group in list(context.state.groups.values()):
        if isinstance(group, ClassicGroup):
            for member in group.members.values():
                restart_session(context, group, member, now_ms)
            if len(group.members) > context.settings.max_size:
                prepare_rebalance(context, group, classic_decision(), now_ms)


def end_waits(context: Context, now_ms: int) -> list[Answer]:
    """An error for joins and syncs that wait, which sends them to look for the coordinator elsewhere."""
    answers: list[Answer] = []
    for group in context.state.groups.values():
        if isinstance(group, ClassicGroup):
            answers += group.refuse_all_waiting(NOT_COORDINATOR)
            group.move_to(ClassicState.DEAD, now_ms)
    return answers
