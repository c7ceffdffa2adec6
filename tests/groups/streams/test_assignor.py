"""Properties of the assignor of tasks for any input."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.java import JavaQueue
from metashell.groups.streams import NO_TASKS, Tasks
from metashell.groups.streams.assignor import TaskMember, assign_tasks, plan_of

COUNTS = st.dictionaries(st.sampled_from("012"), st.integers(0, 7), max_size=3)
PROCESSES = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def grown(counts: dict[str, int], processes: list[int], standbys: int) -> list[dict[str, Tasks]]:
    """Targets of a group that members join one by one, each with what it had in the last round."""
    plan = plan_of(counts, counts, standbys)
    targets: dict[str, Tasks] = {}
    rounds = []
    for count in range(1, len(processes) + 1):
        members = {f"m{number}": TaskMember(f"P{processes[number]}", targets.get(f"m{number}", NO_TASKS)) for number in range(count)}
        targets = assign_tasks(plan, members)
        rounds.append(targets)
    return rounds


@settings(max_examples=200, deadline=None)
@given(COUNTS, PROCESSES, st.integers(0, 2))
def test_every_task_is_active_once_and_its_standbys_are_on_other_processes(
    counts: dict[str, int], processes: list[int], standbys: int
) -> None:
    plan = plan_of(counts, counts, standbys)
    for targets in grown(counts, processes, standbys):
        assert sorted(task for target in targets.values() for task in target.active) == sorted(plan.active)
        alive = {processes[int(id[1:])] for id in targets}
        for task in plan.active:
            holders = [processes[int(id[1:])] for id, target in targets.items() if task in target.active | target.standby]
            assert len(holders) == len(set(holders)) == 1 + min(standbys, len(alive) - 1)


@settings(max_examples=200, deadline=None)
@given(COUNTS, st.integers(1, 6))
def test_members_on_their_own_have_equally_many_active_tasks(counts: dict[str, int], members: int) -> None:
    for targets in grown(counts, list(range(members)), 0):
        sizes = [len(target.active) for target in targets.values()]
        assert max(sizes) - min(sizes) <= 1


@settings(max_examples=200, deadline=None)
@given(COUNTS, PROCESSES, st.integers(0, 2))
def test_who_is_asked_again_is_answered_the_same(counts: dict[str, int], processes: list[int], standbys: int) -> None:
    targets = grown(counts, list(range(len(processes))), 0)[-1]
    members = {id: TaskMember(f"P{id[1:]}", target) for id, target in targets.items()}
    assert assign_tasks(plan_of(counts, (), 0), members) == targets


def test_nobody_gets_nothing() -> None:
    assert assign_tasks(plan_of({"0": 3}, (), 0), {}) == {}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100))))
def test_the_queue_gives_the_lowest_first(items: list[tuple[int, int]]) -> None:
    queue: JavaQueue[tuple[int, int]] = JavaQueue()
    for rank, item in items:
        queue.add(rank, (rank, item))
    taken = [queue.poll() for _ in items]
    assert [rank for rank, _ in taken] == sorted(rank for rank, _ in items)
    assert sorted(taken) == sorted(items)
