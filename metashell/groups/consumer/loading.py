"""What consumer groups do when their log was read, and when the metadata changes."""

from __future__ import annotations

from collections.abc import Collection

from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.member import UNREVOKED
from metashell.groups.consumer.timeouts import restart_session, watch_revocation
from metashell.groups.context import Context
from metashell.groups.record import Record
from metashell.groups.topics import Topics


def begin_consumers(context: Context, now_ms: int) -> None:
    """Watch the members that the log has: each has a whole session to be heard of."""
    context.new_topics_version = context.state.topics.version
    for group in context.state.groups.values():
        if isinstance(group, ConsumerGroup):
            for member in group.members.values():
                restart_session(context, group.group_id, member, now_ms)
                if member.state == UNREVOKED:
                    watch_revocation(context, group.group_id, member, now_ms)


def consumer_topics_changed(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """Let groups look at the metadata with their next heartbeat, and at their regular expressions where there are new topics."""
    before = [old.named(name) for name in changed]
    after = [new.named(name) for name in changed]
    if any(topic is not None and (known is None or known.id != topic.id) for known, topic in zip(before, after, strict=True)):
        context.new_topics_version = new.version
    names = {*changed, *deleted}
    for group in context.state.groups.values():
        if isinstance(group, ConsumerGroup) and not names.isdisjoint(group.subscribers):
            group.refresh_ms = group.refresh_epoch = 0
    return []
