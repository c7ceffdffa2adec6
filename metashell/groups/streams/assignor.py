"""The broker's `sticky` assignor of tasks: moves few, balances active tasks, then all, and keeps standbys on other processes.

Order of the tasks: members keep what they have by partition, then subtopology; what is left is given out by subtopology, then partition;
of standbys the last comes first.
Source: org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor of 4.4; watched-streams-assign and watched-streams-standby.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from metashell.codec.java_hash import lazy_table_order, string_hash, string_hash_order
from metashell.groups.streams.java_queue import JavaQueue
from metashell.groups.streams.tasks import NO_TASKS, TaskId, Tasks


class TaskMember(NamedTuple):
    """A member as the assignor sees it: its process, the tasks that it has, and how far it says that tasks are."""

    process_id: str
    previous: Tasks = NO_TASKS
    offsets: Mapping[TaskId, int] = MappingProxyType({})


class TaskPlan(NamedTuple):
    """What there is to do. Shape: `active` by partition, then subtopology; `stateful` are those of them that get standbys."""

    active: tuple[TaskId, ...]
    stateful: frozenset[TaskId]
    standby_count: int


def plan_of(task_counts: Mapping[str, int], stateful: Iterable[str], standby_count: int) -> TaskPlan:
    """All tasks of a topology."""
    active = sorted(((id, partition) for id, count in task_counts.items() for partition in range(count)), key=_by_partition)
    kept = set(stateful)
    return TaskPlan(tuple(active), frozenset(task for task in active if task[0] in kept), standby_count)


def _by_partition(task: TaskId) -> tuple[int, str]:
    return task[1], task[0]


def assign_tasks(plan: TaskPlan, members: Mapping[str, TaskMember]) -> dict[str, Tasks]:
    """A target for each member."""
    if not members:
        return {}
    work = _Work(plan, members)
    work.assign_active()
    work.assign_standby()
    return {id: Tasks(frozenset(work.active[id]), frozenset(work.standby[id])) for id in members}


class _Quota:
    """How many tasks a member may have: what there is, shared among those that have not come to their share."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.share = -(-tasks // members)

    def note(self, count: int) -> None:
        """A member has come to so many tasks: one that has its share leaves the rest to the others, whose share may so become less."""
        if count == self.share:
            self._members -= 1
            self._tasks -= count
            self.share = -(-self._tasks // self._members) if self._members else 0


class _Work:
    """An assignment while it is made."""

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
            process = processes.take()
            self._give(process, task, self._take)
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
        """All processes, the one with the least load first."""
        queue: JavaQueue[str] = JavaQueue()
        for process in self._of_process:
            queue.add(self._load(process), process)
        return queue

    def _give(self, process: str, task: TaskId, give: Callable[[str, TaskId], None]) -> None:
        """Give a task to the member of a process that has fewest."""
        queue = self._queues.get(process)
        if queue is None:
            queue = self._queues[process] = JavaQueue()
            for id in string_hash_order(self._of_process[process]):
                queue.add(self._count(id), id)
        id = queue.take()
        give(id, task)
        queue.add(self._count(id), id)

    def _keep(self, task: TaskId) -> bool:
        """Leave an active task where it is, as long as its member has no more than its share."""
        id = self._last_active.get(task)
        if id is None or len(self.active[id]) >= self._active_quota.share:
            return False
        self._take(id, task)
        return True

    def _promote(self, task: TaskId) -> bool:
        """Give an active task to a member that had it as standby, or has state of it."""
        id = self._least_loaded(self._candidates.get(task, ()))
        if id is None or len(self.active[id]) >= self._active_quota.share:
            return False
        self._take(id, task)
        return True

    def _take(self, id: str, task: TaskId) -> None:
        """Give a member an active task."""
        self.active[id].add(task)
        self._active_quota.note(len(self.active[id]))
        self._quota.note(self._count(id))

    def _keep_standby(self, task: TaskId) -> bool:
        """Give a standby to the member that ran the task, or to one that had it as standby, or has state of it."""
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
        """Give a standby to the process with the least load that does not have the task; False where all have it."""
        passed, found = [], False
        while processes and not found:
            process = processes.take()
            passed.append(process)
            if not self._has(process, task):
                self._give(process, task, self._stand_by)
                found = True
        for process in reversed(passed):
            processes.add(self._load(process), process)
        return found

    def _least_loaded(self, ids: Sequence[str]) -> str | None:
        """The first, unless a later one is better both in the load of its process and in its own."""
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
    """Who can take a task over: those that had it as standby, then others with state of it; in each, those that are furthest first."""
    ranked: dict[TaskId, list[tuple[bool, int, str]]] = {}
    for id, member in members.items():
        for task in member.previous.standby:
            ranked.setdefault(task, []).append((False, -member.offsets.get(task, 0), id))
        for task, offset in member.offsets.items():
            if task not in member.previous.standby:
                ranked.setdefault(task, []).append((True, -offset, id))
    return {task: [id for *_, id in sorted(found, key=lambda one: one[:2])] for task, found in ranked.items()}
