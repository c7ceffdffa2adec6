"""What came of a simulation: figures, rounds, what was broken, and what each member did when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Violation(NamedTuple):
    """A rule that did not hold. `rule` is one of `RULES`."""

    rule: str
    at_ms: int
    text: str


RULES = {
    "owners": "a partition has at most one owner at any time",
    "subscribed": "what is assigned is a partition of a topic that is subscribed to",
    "settles": "a group settles once changes stop",
    "rounds": "a group does not go on to rebalance without a cause",
    "keeps": "a cooperative member never revokes what it keeps",
    "commits": "a commit is accepted from the owner only",
    "offsets": "committed offsets never go back",
    "records": "the records of a group give each partition to one member",
    "failover": "a new coordinator knows what the one before it knew",
    "members": "no member fails",
}
"""What is checked, by name."""


class Round(NamedTuple):
    """An assignment that the group came to: a generation, or a target of the coordinator. `moved` counts partitions that changed hands
    by it, in the assignment."""

    at_ms: int
    epoch: int
    member_count: int
    moved: int


class Span(NamedTuple):
    """What a member was from one time to another. States: `working`, `callback`, `idle`."""

    state: str
    from_ms: int
    to_ms: int


class Mark(NamedTuple):
    """A step of the scenario, or something else worth a line."""

    at_ms: int
    text: str


@dataclass(slots=True)
class Figures:
    """What is counted from the scenario's first step on. Units: ms."""

    moved: int = 0
    """Partitions that another member got than the one that had it before."""
    given_back: int = 0
    """Partitions that were taken from a member and given to the same one again."""
    revoked: int = 0
    lost: int = 0
    rounds: int = 0
    idle_member_ms: int = 0
    """Member-time without work: members that run and own nothing."""
    unowned_partition_ms: int = 0
    """Partition-time without an owner."""
    gap_max_ms: int = 0
    """The longest time that one partition had no owner."""
    unowned_ms: int = 0
    """Time in which some partition had no owner."""
    zombies: int = 0
    """Partitions that somebody still believed to own when another got them: he had been given up as dead."""
    read_twice: int = 0
    """Records that were processed, and read again by the next owner."""
    refused_commits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer about one strategy. Shape: `settled_ms` is the time from the last change to the last thing that came of it, None where
    the group was still busy at the end; times are from the first step on, before which the group had settled."""

    strategy: str
    scenario: str
    seed: int
    figures: Figures
    took_ms: int
    settled_ms: int | None
    events: int
    violations: tuple[Violation, ...]
    rounds: tuple[Round, ...]
    marks: tuple[Mark, ...]
    lanes: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    unowned: tuple[tuple[int, int], ...] = ()
    """Partitions without an owner, whenever that changed: `(at_ms, count)`."""
    moves: tuple[tuple[int, int], ...] = ()
    """Partitions that have moved so far, whenever that changed."""
    failures: tuple[str, ...] = ()
    """Members that failed, and why."""
    final: tuple[tuple[str, int], ...] = ()
    """Members at the end, and how many partitions each owns."""
