"""The fewest faults that still break the same rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tests.simulation import run as core
from tests.simulation.run import Result

# What says who takes part; the rest are faults, timing and load.
KEPT = frozenset(("voters", "level", "profile"))


def shrink(result: Result, without: Sequence[str], events: int = core.EVENTS, *, run: Callable[..., Result] | None = None) -> list[str]:
    """Names of options that may take their plain value, so that the seed still breaks the rule that `result` broke.

    `run` runs a seed, that of the core alone for so many events if it is not given.
    """
    run = run or partial(core.run, events=events)
    assert result.violation is not None
    rule = result.violation.rule
    gone = list(without)
    left = [name for name in result.options.differences() if name not in KEPT]
    changed = True
    while changed:
        changed = False
        for name in list(left):
            again = run(result.seed, without=[*gone, name])
            if again.violation is not None and again.violation.rule == rule:
                gone.append(name)
                left.remove(name)
                changed = True
    return gone
