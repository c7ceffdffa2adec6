"""A failure is told with the fewest faults that still break the rule, and with a trace that can be read."""

from __future__ import annotations

from functools import partial

from tests.simulation.bugs import patched
from tests.simulation.harness import shrink
from tests.simulation.planted import BUGS
from tests.simulation.run import run
from tests.simulation.trace import Trace

BUG = "pre-votes-count-as-votes"


def test_what_is_left_after_shrinking_breaks_the_same_rule_with_fewer_faults() -> None:
    with patched(BUGS[BUG].make()):
        result = run(0, events=1_000)
        assert result.violation is not None
        without = shrink(result, [], partial(run, events=1_000))
        again = run(0, without=without, events=1_000)
    assert again.violation is not None and again.violation.rule == result.violation.rule
    assert len(again.options.differences()) < len(result.options.differences())


def test_a_trace_tells_what_was_sent_what_arrived_and_who_became_what() -> None:
    trace = Trace(last=2_000)
    with patched(BUGS[BUG].make()):
        result = run(0, events=1_000, trace=trace)
    assert result.violation is not None
    text = "\n".join(trace.last)
    assert "pre_vote=True" in text and " <- " in text and "is prospective of epoch 0" in text
    assert str(result.violation) in trace.last[-1]
