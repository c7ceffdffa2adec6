"""The broker's `sticky` assignor of tasks: moves few, balances active tasks, then all, and keeps standbys on other processes.

Order of the tasks: members keep what they have by partition, then subtopology; what is left is given out by subtopology, then partition.
Source: groups.md 15; watched-streams-assign and watched-streams-standby, whose targets this gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from metashell.codec.java_hash import string_hash_order
from metashell.groups.streams.java_queue import JavaQueue
from metashell.groups.streams.tasks import NO_TASKS, TaskId, Tasks


class TaskMember(NamedTuple):
    """A member as the assignor sees it: its process, and its last target."""

    process_id: str
    previous: Tasks = NO_TASKS


class TaskPlan(NamedTuple):
    """What there is to do. Shape: `active` by partition, then subtopology; `stateful` are those of them that get standbys."""

    active: tuple[TaskId, ...]
    stateful: frozenset[TaskId]
    standby_count: int


def plan_of(task_counts: Mapping[str, int], stateful: Iterable[str], standby_count: int) -> TaskPlan:
    """All tasks of a topology."""
    active = sorted(
        ((id, partition) for id, count in task_counts.items() for partition in range(count)), key=lambda task: (task[1], task[0])
    )
    kept = set(stateful)
    return TaskPlan(tuple(active), frozenset(task for task in active if task[0] in kept), standby_count)


def assign_tasks(plan: TaskPlan, members: Mapping[str, TaskMember]) -> dict[str, Tasks]:
    """A target for each member."""
    if not members:
        return {}
    work = _Work(plan, members)
    work.assign_active()
    work.assign_standby()
    return {id: Tasks(frozenset(work.active[id]), frozenset(work.standby[id])) for id in members}


class _Work:
    """An assignment while it is made."""

    def __init__(self, plan: TaskPlan, members: Mapping[str, TaskMember]) -> None:
        self._plan = plan
        self._members = members
        self.active: dict[str, set[TaskId]] = {id: set() for id in members}
        self.standby: dict[str, set[TaskId]] = {id: set() for id in members}
        self._to_share, self._sharing = len(plan.active), len(members)
        self._share = -(-self._to_share // self._sharing)
        processes = string_hash_order(member.process_id for member in members.values())
        self._of_process: dict[str, list[str]] = {process: [] for process in processes}
        for id, member in members.items():
            self._of_process[member.process_id].append(id)
        self._last_active = {task: id for id, member in members.items() for task in member.previous.active}
        self._last_standby: dict[TaskId, list[str]] = {}
        for id, member in members.items():
            for task in member.previous.standby:
                self._last_standby.setdefault(task, []).append(id)

    def assign_active(self) -> None:
        left = [task for task in self._plan.active if not self._keep(task)]
        rest = [task for task in sorted(left) if not self._promote(task)]
        processes: JavaQueue[str] = JavaQueue()
        members: dict[str, JavaQueue[str]] = {}
        for process, ids in self._of_process.items():
            processes.add(self._load(process), process)
            members[process] = JavaQueue()
            for id in ids:
                members[process].add(self._count(id), id)
        for task in rest:
            process = processes.take()
            id = members[process].take()
            self.active[id].add(task)
            members[process].add(self._count(id), id)
            processes.add(self._load(process), process)

    def assign_standby(self) -> None:
        if not self._plan.standby_count:
            return
        total = len(self._plan.active) + len(self._plan.stateful) * self._plan.standby_count
        quota = -(-total // len(self._members))
        for task in sorted(self._plan.stateful, reverse=True):
            for _ in range(self._plan.standby_count):
                self._add_standby(task, quota)

    def _keep(self, task: TaskId) -> bool:
        """Leave an active task where it is, as long as its member has no more than its share."""
        id = self._last_active.get(task)
        if id is None or len(self.active[id]) >= self._share:
            return False
        self._take(id, task)
        return True

    def _promote(self, task: TaskId) -> bool:
        """Give an active task to a member that had it as standby."""
        found = [id for id in self._last_standby.get(task, ()) if len(self.active[id]) < self._share]
        if found:
            self._take(min(found, key=self._count), task)
        return bool(found)

    def _take(self, id: str, task: TaskId) -> None:
        """Give a member an active task; one that then has its share leaves what there is to the others, whose share may so become less."""
        self.active[id].add(task)
        if len(self.active[id]) == self._share and self._sharing > 1:
            self._to_share -= self._share
            self._sharing -= 1
            self._share = -(-self._to_share // self._sharing)

    def _add_standby(self, task: TaskId, quota: int) -> None:
        free = [process for process in self._of_process if not self._has(process, task)]
        if not free:
            return
        allowed = {id for process in free for id in self._of_process[process]}
        before = [self._last_active.get(task), *sorted(self._last_standby.get(task, ()), key=self._count)]
        for id in before:
            if id is not None and id in allowed and self._count(id) < quota:
                self.standby[id].add(task)
                return
        process = min(free, key=self._load)
        self.standby[min(self._of_process[process], key=self._count)].add(task)

    def _has(self, process: str, task: TaskId) -> bool:
        return any(task in self.active[id] or task in self.standby[id] for id in self._of_process[process])

    def _count(self, id: str) -> int:
        return len(self.active[id]) + len(self.standby[id])

    def _load(self, process: str) -> float:
        ids = self._of_process[process]
        return sum(self._count(id) for id in ids) / len(ids)
