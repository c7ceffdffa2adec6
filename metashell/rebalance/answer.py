"""Outcomes as rows and objects: what the command prints in every form, and what a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from metashell.amounts import clock_text, duration_text
from metashell.forms import counted
from metashell.rebalance.outcome import RULES, Outcome
from metashell.rebalance.plan import Plan
from metashell.rebalance.scenarios import Scenario

COLUMNS: Final = {
    "rounds": ("assignments that the group came to", "rounds"),
    "moved": ("partitions that went from one member to another", "partitions"),
    "given_back": ("partitions that were taken from a member and given to it again", "partitions"),
    "revoked": ("partitions in revoked callbacks", "partitions"),
    "lost": ("partitions in lost callbacks", "partitions"),
    "idle_member_s": ("time that members ran and owned nothing, of all members", "s"),
    "unowned_partition_s": ("time without an owner, of all partitions", "s"),
    "longest_gap_ms": ("longest time that one partition had no owner", "ms"),
    "unowned_ms": ("time in which some partition had no owner", "ms"),
    "took_ms": ("from the first step to the last thing that came of it", "ms"),
    "settled_ms": ("from the last step to the last thing that came of it", "ms"),
    "zombies": ("partitions that a member given up as dead still believed to own", "partitions"),
    "read_twice": ("records that were processed, and read again by the next owner", "records"),
    "refused_commits": ("commits that were refused, at least in part", "requests"),
    "violations": ("rules that did not hold", "rules"),
    "events": ("messages, timers, polls and callbacks of the simulation", "events"),
}
"""The figures of a row, in order: what each is, and its unit."""
VIOLATIONS_SHOWN: Final = 5


def row(outcome: Outcome) -> dict[str, Any]:
    """The figures of an outcome as an object of plain values."""
    figures = outcome.figures
    return {
        "strategy": outcome.strategy,
        "rounds": figures.rounds,
        "moved": figures.moved,
        "given_back": figures.given_back,
        "revoked": figures.revoked,
        "lost": figures.lost,
        "idle_member_s": figures.idle_member_ms / 1000,
        "unowned_partition_s": figures.unowned_partition_ms / 1000,
        "longest_gap_ms": figures.gap_max_ms,
        "unowned_ms": figures.unowned_ms,
        "took_ms": outcome.took_ms,
        "settled_ms": outcome.settled_ms,
        "zombies": figures.zombies,
        "read_twice": figures.read_twice,
        "refused_commits": figures.refused_commits,
        "violations": len(outcome.violations),
        "events": outcome.events,
    }


def run_object(outcome: Outcome) -> dict[str, Any]:
    """All of an outcome but what only a page draws."""
    return {
        "type": "rebalance_run",
        "scenario": outcome.scenario,
        "seed": outcome.seed,
        **row(outcome),
        "steps": [{"at_ms": mark.at_ms, "text": mark.text} for mark in outcome.marks],
        "assignments": [
            {"at_ms": one.at_ms, "epoch": one.epoch, "members": one.member_count, "moved": one.moved} for one in outcome.rounds
        ],
        "violated": [{"rule": one.rule, "at_ms": one.at_ms, "text": one.text} for one in outcome.violations],
        "owned": dict(outcome.final),
    }


def whole_object(plan: Plan, scenario: Scenario, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The answer as one object."""
    return {
        "type": "rebalance",
        "scenario": scenario.name,
        "summary": scenario.summary,
        "members": plan.members,
        "partitions": plan.partitions,
        "topics": len(plan.topic_sizes()),
        "seed": plan.seed,
        "runs": [run_object(outcome) for outcome in outcomes],
    }


def heading(plan: Plan, scenario: Scenario) -> str:
    """What was simulated, in a line."""
    size = f"{counted(plan.members, 'member')}, {counted(plan.partitions, 'partition')} of {counted(len(plan.topic_sizes()), 'topic')}"
    return f"{scenario.name}: {scenario.summary}; {size}; seed {plan.seed}"


HEAD: Final = (
    *("STRATEGY", "ROUNDS", "MOVED", "GIVEN BACK", "WITHOUT WORK", "WITHOUT OWNER", "LONGEST GAP", "READ TWICE"),
    *("TOOK", "SETTLED AFTER"),
)


def text_rows(outcomes: Iterable[Outcome]) -> Iterator[Sequence[str]]:
    """The head and a row for each outcome, of the figures that matter most."""
    yield HEAD
    for one in outcomes:
        figures = one.figures
        yield (
            one.strategy,
            str(figures.rounds),
            str(figures.moved),
            str(figures.given_back),
            f"{figures.idle_member_ms / 1000:.1f} member-s",
            f"{figures.unowned_partition_ms / 1000:.1f} partition-s",
            duration_text(figures.gap_max_ms),
            str(figures.read_twice),
            duration_text(one.took_ms),
            "never" if one.settled_ms is None else duration_text(one.settled_ms),
        )


def remarks(outcome: Outcome) -> Iterator[str]:
    """What has to be said of an outcome beside its figures: rules that did not hold, and what else is not as it should be."""
    for one in outcome.violations[:VIOLATIONS_SHOWN]:
        yield f"{outcome.strategy}: {clock_text(one.at_ms)} {one.text} (rule {one.rule}: {RULES[one.rule]})"
    if len(outcome.violations) > VIOLATIONS_SHOWN:
        yield f"{outcome.strategy}: {len(outcome.violations) - VIOLATIONS_SHOWN} more"
    if outcome.figures.zombies:
        zombies = counted(outcome.figures.zombies, "partition")
        yield f"{outcome.strategy}: {zombies} went to another member while one that was given up as dead still believed to own them"
    for text in outcome.failures:
        yield f"{outcome.strategy}: {text}"
