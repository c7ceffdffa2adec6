"""Tasks of streams groups: sets of them by role, and the epoch in which a member got each.

Source: groups.md 2.5 and 15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

TaskId = tuple[str, int]
"""Subtopology and partition."""


class Tasks(NamedTuple):
    """What a member is to run, or says it runs."""

    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()
    warmup: frozenset[TaskId] = frozenset()

    def meets(self, other: Tasks) -> bool:
        """Whether both have a task in one role."""
        return any(own & theirs for own, theirs in zip(self, other, strict=True))

    def is_within(self, other: Tasks) -> bool:
        return all(own <= theirs for own, theirs in zip(self, other, strict=True))

    def __and__(self, other: Tasks) -> Tasks:
        return Tasks(*(own & theirs for own, theirs in zip(self, other, strict=True)))

    def __sub__(self, other: Tasks) -> Tasks:
        return Tasks(*(own - theirs for own, theirs in zip(self, other, strict=True)))

    def __or__(self, other: Tasks) -> Tasks:
        return Tasks(*(own | theirs for own, theirs in zip(self, other, strict=True)))


NO_TASKS: Final = Tasks()

Epochs = Mapping[TaskId, int]
"""Active tasks with the epoch in which the member got them: offsets of an older epoch are refused."""

NO_EPOCHS: Final[Epochs] = {}


def tasks_of(topics: Iterable[Any] | None) -> frozenset[TaskId]:
    """The tasks in a list of requests or records."""
    return frozenset((entry.subtopology_id, partition) for entry in topics or () for partition in entry.partitions)


def by_subtopology(tasks: Iterable[TaskId]) -> dict[str, tuple[int, ...]]:
    """Tasks by subtopology, both ascending."""
    found: dict[str, list[int]] = {}
    for subtopology, partition in sorted(tasks):
        found.setdefault(subtopology, []).append(partition)
    return {subtopology: tuple(partitions) for subtopology, partitions in found.items()}


def task_entries(kind: Any, tasks: Iterable[TaskId]) -> tuple[Any, ...]:
    """Tasks as answers and records have them; `kind` is the class of their entries."""
    return tuple(kind(subtopology_id=id, partitions=partitions) for id, partitions in by_subtopology(tasks).items())
