"""Share members that fall silent, and members that are removed.

Source: groups.md 8 and 10.3, golden scenario share-session-expires.
"""

from __future__ import annotations

from typing import Final

from metashell.groups.context import Context
from metashell.groups.decision import Decision
from metashell.groups.metadata_hash import group_hash
from metashell.groups.record import Record
from metashell.groups.share.group import ShareGroup, counted
from metashell.groups.share.member import Member
from metashell.groups.share.records import group_record, member_tombstones, target_record

SESSION: Final = "share-session-timeout"


def start_session(context: Context, group_id: str, member_id: str, now_ms: int) -> None:
    """Give a member its session time from now on."""

    def expire(at_ms: int) -> Decision:
        group = context.state.groups.get(group_id)
        if not isinstance(group, ShareGroup) or member_id not in group.members:
            return Decision()
        return Decision(removal(context, group, group.members[member_id]))

    timeout_ms = group_setting(context, group_id, "share.session.timeout.ms", context.settings.share.session_timeout_ms)
    context.timers.schedule((SESSION, group_id, member_id), now_ms + timeout_ms, expire)


def start_sessions(context: Context, now_ms: int) -> None:
    """Every member that a log has gets its session time anew."""
    for group in context.state.groups.values():
        for member_id in group.members if isinstance(group, ShareGroup) else ():
            start_session(context, group.group_id, member_id, now_ms)


def removal(context: Context, group: ShareGroup, member: Member) -> list[Record]:
    """The records that remove a member; its timer is cancelled."""
    context.timers.cancel((SESSION, group.group_id, member.member_id))
    left = counted(group.subscribers, member.names, ())
    epoch = group.epoch + 1
    epoch_record = group_record(group.group_id, epoch, group_hash(left, context.state.topics))
    # An empty group has nothing to assign: its assignment is up to date, and was made at no time.
    emptied = [target_record(group.group_id, epoch, 0)] if len(group.members) == 1 else []
    return [*member_tombstones(group.group_id, member.member_id), epoch_record, *emptied]


def group_setting(context: Context, group_id: str, name: str, default: int) -> int:
    """A number from the group's own configs, else the broker's."""
    own = context.state.group_configs.get(group_id, {}).get(name)
    return default if own is None else int(own)
