"""The target of a streams group: what the assignor gives its members.

Source: groups.md 15, golden scenario streams-life.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from metashell.codec.java_hash import string_hash_order
from metashell.groups.context import Context
from metashell.groups.record import Record
from metashell.groups.streams.assignor import TaskMember, assign_tasks, plan_of
from metashell.groups.streams.group import StreamsGroup
from metashell.groups.streams.member import Member, TaskOffsets
from metashell.groups.streams.records import target_member_record, target_record
from metashell.groups.streams.tasks import Tasks
from metashell.groups.streams.topology import configure

STANDBYS = "num.standby.replicas"


class NewTarget(NamedTuple):
    """Targets of all members, and the records that say what is new of them."""

    tasks: dict[str, Tasks]
    records: list[Record]


def compute_target(
    context: Context, group: StreamsGroup, members: Mapping[str, Member], targets: Mapping[str, Tasks], epoch: int, now_ms: int
) -> NewTarget:
    """A target for these members, from the tasks that they have. A topology that lacks topics gives them nothing."""
    configured = group.configured
    if configured is None:
        configured = configure(group.topology, context.state.topics)
    plan = plan_of(configured.task_counts, configured.stateful, standby_count(context, group.group_id))
    asked = {
        id: TaskMember(members[id].process_id, members[id].assigned, group.task_offsets.get(id, TaskOffsets()).current)
        for id in string_hash_order(members)
    }
    tasks = assign_tasks(plan, asked)
    records = [target_member_record(group.group_id, id, target) for id, target in tasks.items() if targets.get(id) != target]
    return NewTarget(tasks, [*records, target_record(group.group_id, epoch, now_ms)])


def standby_count(context: Context, group_id: str) -> int:
    """How many standbys each stateful task gets: the group's own setting, else the broker's."""
    own = context.state.group_configs.get(group_id, {}).get(f"streams.{STANDBYS}")
    return context.settings.streams.standby_replicas if own is None else int(own)
