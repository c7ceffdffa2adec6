"""How one member of a streams group comes to its target, without two processes at one task.

Source: groups.md 10.4 and 15; watched-streams-epochs, watched-streams-standby.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from metashell.groups.streams.member import STABLE, UNRELEASED, UNREVOKED, Member
from metashell.groups.streams.tasks import NO_TASKS, TaskId, Tasks


class Target(NamedTuple):
    """What a member has to come to, and in which epoch."""

    epoch: int
    tasks: Tasks


def reconciled(member: Member, target: Target, owned: Tasks | None, members: Iterable[Member]) -> Member:
    """The member after one step towards its target. `owned` is what it says it runs, None where it says nothing."""
    if member.state == STABLE and member.epoch == target.epoch:
        return member
    was_revoking = member.state == UNREVOKED
    if was_revoking and (owned is None or owned.meets(member.revoking)):
        return member
    keep = member.assigned & target.tasks
    give = member.assigned - target.tasks
    if give != NO_TASKS and (owned is None or owned.meets(give)):
        # What was to be given up before is given up: that counts as an epoch of its own.
        epoch = member.epoch + 1 if was_revoking else member.epoch
        return _with(member._replace(state=UNREVOKED, epoch=epoch, previous_epoch=member.epoch, revoking=give), keep, target.epoch)
    want = target.tasks - keep
    free = _free(want, member.process_id, list(members))
    state = STABLE if free == want else UNRELEASED
    moved = member._replace(state=state, epoch=target.epoch, previous_epoch=member.epoch, revoking=NO_TASKS)
    return _with(moved, keep | free, target.epoch)


def _with(member: Member, assigned: Tasks, epoch: int) -> Member:
    """The member with these tasks; active ones that it did not have before are its own since `epoch`."""
    held = assigned.active | member.revoking.active
    return member._replace(assigned=assigned, epochs={task: member.epochs.get(task, epoch) for task in sorted(held)})


def _free(want: Tasks, process_id: str, members: list[Member]) -> Tasks:
    """What may be taken: active tasks that nobody runs, and that the own process has in no other role; standbys that it has in none."""
    running: set[TaskId] = set()
    here: set[TaskId] = set()
    here_passive: set[TaskId] = set()
    for member in members:
        for tasks in (member.assigned, member.revoking):
            running |= tasks.active
            if member.process_id == process_id:
                here_passive |= tasks.standby | tasks.warmup
                here |= tasks.active | tasks.standby | tasks.warmup
    return Tasks(want.active - running - here_passive, want.standby - here, want.warmup - here)
