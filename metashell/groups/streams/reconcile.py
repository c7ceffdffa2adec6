"""How one member of a streams group comes to its target, without two processes at one task.

Source: org.apache.kafka.coordinator.group.streams.CurrentAssignmentBuilder of 4.4; watched-streams-epochs, watched-streams-standby.
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

    def is_kept(tasks: Tasks) -> bool:
        return tasks != NO_TASKS and (owned is None or owned.meets(tasks))

    if member.state == STABLE and member.epoch == target.epoch:
        return member
    if member.state == UNREVOKED and is_kept(member.revoking):
        return member
    keep = member.assigned & target.tasks
    want = target.tasks - keep
    free = _free(want, member, list(members))
    # A task changes its role where it runs: active ones become standbys at once, standbys become active once they are granted.
    demoted = free.standby & member.assigned.active
    keep, free = keep._replace(standby=keep.standby | demoted), free._replace(standby=free.standby - demoted)
    give = member.assigned - target.tasks
    give = Tasks(give.active, give.standby - target.tasks.active, give.warmup - target.tasks.active)
    granted = frozenset() if is_kept(give) else free.active
    promoted = target.tasks.active - granted
    keep = keep | Tasks(standby=member.assigned.standby & promoted, warmup=member.assigned.warmup & promoted)
    if is_kept(give):
        # What was to be given up before is given up: that counts as an epoch of its own.
        epoch = member.epoch + 1 if member.state == UNREVOKED else member.epoch
        return _with(member._replace(state=UNREVOKED, epoch=epoch, previous_epoch=member.epoch, revoking=give), keep, target.epoch)
    is_settled = want == free | Tasks(standby=demoted)
    moved = member._replace(state=STABLE if is_settled else UNRELEASED, epoch=target.epoch, previous_epoch=member.epoch, revoking=NO_TASKS)
    return _with(moved, keep | free, target.epoch)


def _with(member: Member, assigned: Tasks, epoch: int) -> Member:
    """The member with these tasks; active ones that it did not have before are its own since `epoch`."""
    held = assigned.active | member.revoking.active
    return member._replace(assigned=assigned, epochs={task: member.epochs.get(task, epoch) for task in sorted(held)})


def _free(want: Tasks, own: Member, members: list[Member]) -> Tasks:
    """What may be taken: active tasks that nobody runs, and that no other member of the process has in another role; standbys that the
    process has in no role, but for tasks that this member itself runs."""
    running: set[TaskId] = set()
    active, standby, warmup = set[TaskId](), set[TaskId](), set[TaskId]()
    for member in members:
        for tasks in (member.assigned, member.revoking):
            running |= tasks.active
            if member.process_id == own.process_id:
                active |= tasks.active
                standby |= tasks.standby
                warmup |= tasks.warmup
    of_others = Tasks(*(frozenset(held) - mine for held, mine in zip((active, standby, warmup), own.assigned, strict=True)))
    return Tasks(
        want.active - running - of_others.standby - of_others.warmup,
        want.standby - of_others.active - standby - of_others.warmup,
        want.warmup - of_others.active - warmup - of_others.standby,
    )
