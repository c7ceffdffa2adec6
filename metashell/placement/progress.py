"""How far a plan is: each of its partitions beside the cluster as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from metashell.placement.plan_file import Assignment
from metashell.placement.situation import PartitionState


class Stage(StrEnum):
    """Where a partition is. `changed`: it is neither where the plan took it to be nor where it should go."""

    DONE = "done"
    MOVING = "moving"
    WAITING = "waiting"
    CHANGED = "changed"


class Standing(NamedTuple):
    """A partition of a plan. `now` is None where it is not there; `why` says what is not as planned."""

    wanted: Assignment
    stage: Stage
    now: PartitionState | None
    why: str = ""

    @property
    def adding(self) -> tuple[int, ...]:
        """The replicas that are still to be copied."""
        if self.now is None:
            return ()
        if self.stage is Stage.MOVING:
            return tuple(replica for replica in self.now.adding if replica not in self.now.isr)
        return tuple(replica for replica in self.wanted.replicas if replica not in self.now.replicas)


def compare(assignments: Iterable[Assignment], partitions: Iterable[PartitionState]) -> list[Standing]:
    """The standing of each partition of a plan, in the plan's order."""
    there = {(found.topic, found.partition): found for found in partitions}
    topics = {topic for topic, _ in there}
    return [_standing(wanted, there, topics) for wanted in assignments]


def _standing(wanted: Assignment, there: Mapping[tuple[str, int], PartitionState], topics: set[str]) -> Standing:
    now = there.get((wanted.topic, wanted.partition))
    if now is None:
        what = "the topic has no such partition" if wanted.topic in topics else "there is no such topic"
        return Standing(wanted, Stage.CHANGED, None, what)
    if wanted.topic_id and now.topic_id and wanted.topic_id != now.topic_id:
        return Standing(wanted, Stage.CHANGED, now, "the topic was deleted, and made anew")
    if now.is_moving:
        if now.goal == wanted.replicas:
            return Standing(wanted, Stage.MOVING, now)
        return Standing(wanted, Stage.CHANGED, now, f"it is being moved to {_words(now.goal)}")
    if now.replicas == wanted.replicas:
        return Standing(wanted, Stage.DONE, now)
    # In another order after a move was cancelled.
    if wanted.before is not None and set(now.replicas) != set(wanted.before):
        return Standing(wanted, Stage.CHANGED, now, f"it is on {_words(now.replicas)}, the plan took it to be on {_words(wanted.before)}")
    return Standing(wanted, Stage.WAITING, now)


def _words(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas))


def count_stages(standings: Iterable[Standing]) -> dict[Stage, int]:
    """How many partitions are in each stage."""
    found = dict.fromkeys(Stage, 0)
    for standing in standings:
        found[standing.stage] += 1
    return found
