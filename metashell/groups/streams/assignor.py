"""The broker's `sticky` task assignor, the target that it gives a group, and a member's steps to its target.

The assignor moves few tasks, balances active tasks and then all, and places standbys on other processes. Order: members keep their tasks by
partition, then subtopology; remaining tasks go by subtopology, then partition; of standbys the last comes first. No step gives one task to
two processes.
Source: org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor and CurrentAssignmentBuilder of 4.4; golden scenarios
watched-streams-assign, -standby and -epochs in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from metashell.codec.java import JavaQueue, lazy_table_order, string_hash, string_hash_order
from metashell.groups.decision import Record
from metashell.groups.state import Context
from metashell.groups.streams import (
    NO_TASKS,
    STABLE,
    UNRELEASED,
    UNREVOKED,
    StreamsGroupMember,
    TaskId,
    TaskOffsets,
    Tasks,
    target_member_record,
    target_record,
)
from metashell.groups.streams.group import StreamsGroup, configure


class TaskMember(NamedTuple):
    """A member, for the assignor: its process, its tasks, and the offsets that it reports for tasks."""

    process_id: str
    previous: Tasks = NO_TASKS
    offsets: Mapping[TaskId, int] = MappingProxyType({})


class TaskPlan(NamedTuple):
    """The tasks of a topology. Shape: `active` sorted by partition, then subtopology; `stateful` are those that get standbys."""

    active: tuple[TaskId, ...]
    stateful: frozenset[TaskId]
    standby_count: int


def plan_of(task_counts: Mapping[str, int], stateful: Iterable[str], standby_count: int) -> TaskPlan:
    """Return all tasks of a topology."""
    active = sorted(((id, partition) for id, count in task_counts.items() for partition in range(count)), key=_by_partition)
    kept = set(stateful)
    return TaskPlan(tuple(active), frozenset(task for task in active if task[0] in kept), standby_count)


def _by_partition(task: TaskId) -> tuple[int, str]:
    return task[1], task[0]


def assign_tasks(plan: TaskPlan, members: Mapping[str, TaskMember]) -> dict[str, Tasks]:
    """Return a target for each member."""
    if not members:
        return {}
    work = _Work(plan, members)
    work.assign_active()
    work.assign_standby()
    return {id: Tasks(frozenset(work.active[id]), frozenset(work.standby[id])) for id in members}


class _Quota:
    """The number of tasks that a member may have: those left, shared among the members below their share."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.share = -(-tasks // members)

    def note(self, count: int) -> None:
        """Note that a member has `count` tasks. One at its share leaves the rest to the others, whose share may shrink by that."""
        if count == self.share:
            self._members -= 1
            self._tasks -= count
            self.share = -(-self._tasks // self._members) if self._members else 0


class _Work:
    """An assignment in progress."""

    def __init__(self, plan: TaskPlan, members: Mapping[str, TaskMember]) -> None:
        self._plan = plan
        self._members = members
        self.active: dict[str, set[TaskId]] = {id: set() for id in members}
        self.standby: dict[str, set[TaskId]] = {id: set() for id in members}
        self._active_quota = _Quota(len(plan.active), len(members))
        self._quota = _Quota(len(plan.active) + len(plan.stateful) * plan.standby_count, len(members))
        processes = lazy_table_order([member.process_id for member in members.values()], string_hash, len(members))
        self._of_process: dict[str, list[str]] = {process: [] for process in processes}
        for id, member in members.items():
            self._of_process[member.process_id].append(id)
        self._queues: dict[str, JavaQueue[str]] = {}
        self._last_active = {task: id for id, member in members.items() for task in member.previous.active}
        self._candidates = _candidates(members)

    def assign_active(self) -> None:
        left = [task for task in self._plan.active if not self._keep(task)]
        rest = sorted(task for task in left if not self._promote(task))
        processes = self._processes()
        for task in rest:
            process = processes.poll()
            self._give(process, task, self._give_active)
            processes.add(self._load(process), process)

    def assign_standby(self) -> None:
        count = self._plan.standby_count
        left: list[tuple[TaskId, int]] = []
        for task in sorted(self._plan.stateful, key=_by_partition, reverse=True) if count else ():
            missing = next((count - done for done in range(count) if not self._keep_standby(task)), 0)
            if missing:
                left.append((task, missing))
        processes = self._processes()
        for task, missing in sorted(left, reverse=True):
            for _ in range(missing):
                if not self._add_standby(task, processes):
                    break

    def _processes(self) -> JavaQueue[str]:
        """Return all processes, the least loaded first."""
        queue: JavaQueue[str] = JavaQueue()
        for process in self._of_process:
            queue.add(self._load(process), process)
        return queue

    def _give(self, process: str, task: TaskId, give: Callable[[str, TaskId], None]) -> None:
        """Give a task to the least loaded member of a process."""
        queue = self._queues.get(process)
        if queue is None:
            queue = self._queues[process] = JavaQueue()
            for id in string_hash_order(self._of_process[process]):
                queue.add(self._count(id), id)
        id = queue.poll()
        give(id, task)
        queue.add(self._count(id), id)

    def _keep(self, task: TaskId) -> bool:
        """Keep an active task at its member, unless that has its share already."""
        id = self._last_active.get(task)
        if id is None or len(self.active[id]) >= self._active_quota.share:
            return False
        self._give_active(id, task)
        return True

    def _promote(self, task: TaskId) -> bool:
        """Give an active task to a member that had it as standby, or has state for it."""
        id = self._least_loaded(self._candidates.get(task, ()))
        if id is None or len(self.active[id]) >= self._active_quota.share:
            return False
        self._give_active(id, task)
        return True

    def _give_active(self, id: str, task: TaskId) -> None:
        """Give a member an active task."""
        self.active[id].add(task)
        self._active_quota.note(len(self.active[id]))
        self._quota.note(self._count(id))

    def _keep_standby(self, task: TaskId) -> bool:
        """Give a standby to the member that ran the task, or to one that had it as standby, or has state for it."""
        last = self._last_active.get(task)
        if last is not None and self._may_stand_by(last, task):
            return self._choose(last, task)
        id = self._least_loaded([id for id in self._candidates.get(task, ()) if not self._has(self._members[id].process_id, task)])
        return id is not None and self._may_stand_by(id, task) and self._choose(id, task)

    def _choose(self, id: str, task: TaskId) -> bool:
        self._queues.pop(self._members[id].process_id, None)
        self._stand_by(id, task)
        return True

    def _may_stand_by(self, id: str, task: TaskId) -> bool:
        return not self._has(self._members[id].process_id, task) and self._count(id) < self._quota.share

    def _stand_by(self, id: str, task: TaskId) -> None:
        self.standby[id].add(task)
        self._quota.note(self._count(id))

    def _add_standby(self, task: TaskId, processes: JavaQueue[str]) -> bool:
        """Give a standby to the least loaded process without the task. Returns False if all have it."""
        passed, found = [], False
        while processes and not found:
            process = processes.poll()
            passed.append(process)
            if not self._has(process, task):
                self._give(process, task, self._stand_by)
                found = True
        for process in reversed(passed):
            processes.add(self._load(process), process)
        return found

    def _least_loaded(self, ids: Sequence[str]) -> str | None:
        """Return the first, unless a later one has a lower load both of its process and its own."""
        best: str | None = None
        least = (0.0, 0)
        for id in ids:
            load = self._load(self._members[id].process_id), self._count(id)
            if best is None or (load[0] < least[0] and load[1] < least[1]):
                best, least = id, load
        return best

    def _has(self, process: str, task: TaskId) -> bool:
        return any(task in self.active[id] or task in self.standby[id] for id in self._of_process[process])

    def _count(self, id: str) -> int:
        return len(self.active[id]) + len(self.standby[id])

    def _load(self, process: str) -> float:
        ids = self._of_process[process]
        return sum(self._count(id) for id in ids) / len(ids)


def _candidates(members: Mapping[str, TaskMember]) -> dict[TaskId, list[str]]:
    """Rank the members that can take over each task: former standbys, then others with state; in both, the most caught-up first."""
    ranked: dict[TaskId, list[tuple[bool, int, str]]] = {}
    for id, member in members.items():
        for task in member.previous.standby:
            ranked.setdefault(task, []).append((False, -member.offsets.get(task, 0), id))
        for task, offset in member.offsets.items():
            if task not in member.previous.standby:
                ranked.setdefault(task, []).append((True, -offset, id))
    return {task: [id for *_, id in sorted(found, key=lambda one: one[:2])] for task, found in ranked.items()}


STANDBYS = "num.standby.replicas"


class NewTarget(NamedTuple):
    """The targets of all members, and the records of changed ones."""

    tasks: dict[str, Tasks]
    records: list[Record]


def compute_target(
    context: Context, group: StreamsGroup, members: Mapping[str, StreamsGroupMember], targets: Mapping[str, Tasks], epoch: int, now_ms: int
) -> NewTarget:
    """Compute a target for these members from their current tasks. A topology with missing topics gives them nothing."""
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
    """Return the number of standbys of each stateful task: the group's own config, else the broker's."""
    return context.group_setting(group_id, f"streams.{STANDBYS}", context.settings.streams.standby_replicas)


class Target(NamedTuple):
    """A member's target and its epoch."""

    epoch: int
    tasks: Tasks


def reconcile_streams_member(
    member: StreamsGroupMember, target: Target, owned: Tasks | None, members: Iterable[StreamsGroupMember]
) -> StreamsGroupMember:
    """Move the member one step towards its target. `owned` are the tasks that it reports, None if it reports none.

    As with partitions of consumer groups, a member first revokes, and takes the target's epoch only when it has confirmed that. Tasks add
    roles. Example: task 0_1 is active at a and standby at b, and the target swaps them. a keeps the task as standby at once, because
    stopping to process needs no other member. b stays standby until a has confirmed that its active task is gone, and is then promoted:
    two active owners would process records twice.
    """

    def is_kept(tasks: Tasks) -> bool:
        return tasks != NO_TASKS and (owned is None or owned.meets(tasks))

    if member.state == STABLE and member.epoch == target.epoch:
        return member
    if member.state == UNREVOKED and is_kept(member.revoking):
        return member
    keep = member.assigned & target.tasks
    want = target.tasks - keep
    free = _free(want, member, list(members))
    # A task changes its role in place: an active one becomes standby at once, a standby becomes active once no other member runs it.
    demoted = free.standby & member.assigned.active
    keep, free = keep._replace(standby=keep.standby | demoted), free._replace(standby=free.standby - demoted)
    give = member.assigned - target.tasks
    give = Tasks(give.active, give.standby - target.tasks.active, give.warmup - target.tasks.active)
    granted = frozenset() if is_kept(give) else free.active
    promoted = target.tasks.active - granted
    keep = keep | Tasks(standby=member.assigned.standby & promoted, warmup=member.assigned.warmup & promoted)
    if is_kept(give):
        # Completing a revocation counts as an epoch of its own.
        epoch = member.epoch + 1 if member.state == UNREVOKED else member.epoch
        return _with(member._replace(state=UNREVOKED, epoch=epoch, previous_epoch=member.epoch, revoking=give), keep, target.epoch)
    is_settled = want == free | Tasks(standby=demoted)
    moved = member._replace(state=STABLE if is_settled else UNRELEASED, epoch=target.epoch, previous_epoch=member.epoch, revoking=NO_TASKS)
    return _with(moved, keep | free, target.epoch)


def _with(member: StreamsGroupMember, assigned: Tasks, epoch: int) -> StreamsGroupMember:
    """Return the member with these tasks; `epoch` becomes the assignment epoch of new active ones."""
    held = assigned.active | member.revoking.active
    return member._replace(assigned=assigned, epochs={task: member.epochs.get(task, epoch) for task in sorted(held)})


def _free(want: Tasks, own: StreamsGroupMember, members: list[StreamsGroupMember]) -> Tasks:
    """Return the tasks of a target that the member may take now.

    An active task must have no owner, and no other member of the process may have it in another role. A standby or warm-up must be in no
    role of another member of the process: two tasks of one process would share a state directory.
    """
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
