"""One run of a seed, whichever simulation it is of: what is drawn, built, played, told and closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.bugs import Bug, Patch, patched
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.plan import Plan
    from tests.simulation.trace import Trace

RAISED = "an exception left the code"
"""The rule of a violation that no checker found."""


@dataclass(slots=True)
class Result:
    """What a run came to; `violation` is None where all rules held."""

    seed: int
    events: int
    ms: int
    counts: Counter[str]
    violation: Violation | None
    options: Any


class Stopped(Exception):
    """The run has gone on for long enough."""


def no_patches(world: Any) -> Sequence[Patch]:
    return ()


class Simulation(NamedTuple):
    """A kind of world, with the bugs that it has to find. `events` are the least of a run; 0 for one that goes by time."""

    name: str
    draw: Callable[[int, str | None], Any]
    build: Callable[[Any, Trace | None], Any]
    play: Callable[[Any, int], None]
    events: int
    bugs: Mapping[str, Bug]
    patches: Callable[[Any], Sequence[Patch]] = no_patches

    def run(
        self,
        seed: int,
        *,
        without: Iterable[str] = (),
        events: int = 0,
        trace: Trace | None = None,
        options: Plan | None = None,
        profile: str | None = None,
        until_ms: int = 0,
    ) -> Result:
        """Run a seed. `without` names options that are to have their plain value; what a rule finds ends the run, as does `until_ms`."""
        plan = (options or self.draw(seed, profile)).without(without)
        world = self.build(plan, trace)
        if until_ms:
            world.push(until_ms, stop, None, None)
        violation = None
        try:
            with patched(self.patches(world)):
                self.play(world, events or self.events)
        except Stopped:
            pass
        except Violation as found:
            violation = found
        except (AssertionError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            if trace is not None and trace.is_verbose:
                raise
            violation = Violation(RAISED, f"{error.__class__.__name__}: {error}{place(error)}")
        finally:
            world.close()
        if trace is not None:
            trace.end(world, violation)
        return Result(seed, world.events, world.now, world.counts, violation, plan)

    def drawn_for(self, bug: Bug, seed: int) -> Plan:
        """The plan of a seed, with the options that a bug wants."""
        plan: Plan = self.draw(seed, bug.special.get("profile"))  # type: ignore[arg-type]
        return plan.having(bug.special)

    def run_bug(self, bug: Bug, seed: int) -> Result:
        """Run a seed with a planted bug."""
        with patched(bug.make()):
            return self.run(seed, options=self.drawn_for(bug, seed))

    def holds_without(self, bug: Bug, result: Result) -> bool:
        """Whether the seed that found a bug breaks no rule without it, up to a moment after that."""
        options = self.drawn_for(bug, result.seed)
        return self.run(result.seed, options=options, until_ms=0 if "profile" in bug.special else result.ms + 1_000).violation is None


def stop(world: Any, first: None, second: None) -> None:
    raise Stopped


def place(error: BaseException | None) -> str:
    """Where an error was raised."""
    step = None if error is None else error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f" ({step.tb_frame.f_code.co_filename.rpartition('/')[2]}:{step.tb_lineno})"


KEPT = frozenset(("voters", "level", "profile"))
"""What says who takes part; the rest are faults, timing and load."""


def shrink(result: Result, without: Sequence[str], run: Callable[..., Result]) -> list[str]:
    """Names of options that may take their plain value, so that the seed still breaks the rule that `result` broke; `run` runs a seed."""
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
