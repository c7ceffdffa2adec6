"""Timers run in the order in which they are due, each once, as a list of them would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.groups.decision import Decision, Timers

KEYS = st.sampled_from([("a",), ("b", "g"), ("c", "g", "m")])
STEPS = st.one_of(
    st.tuples(st.just("schedule"), KEYS, st.integers(0, 9)),
    st.tuples(st.just("restart"), KEYS, st.integers(0, 9)),
    st.tuples(st.just("cancel"), KEYS, st.just(0)),
    st.tuples(st.just("run"), KEYS, st.integers(0, 9)),
)


@given(st.lists(STEPS, max_size=60))
def test_timers_are_as_a_sorted_list_of_them(steps: list[tuple[str, tuple[str, ...], int]]) -> None:
    timers = Timers()
    model: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, (step, key, ms) in enumerate(steps):
        if step == "schedule" or (step == "restart" and key in model):
            model[key] = (ms, number)
        if step == "schedule":
            timers.schedule(key, ms, lambda _: Decision())
        elif step == "restart":
            assert timers.restart(key, ms) == (key in model)
        elif step == "cancel":
            timers.cancel(key)
            model.pop(key, None)
        else:
            first = min(model, key=lambda one: model[one], default=None)
            due = timers.pop(ms)
            assert (due and due.key) == (first if first is not None and model[first][0] <= ms else None)
            if due is not None:
                del model[due.key]
        assert timers.next_due_ms() == min((due_ms for due_ms, _ in model.values()), default=None)
        assert set(timers) == set(model)


def test_timers_that_are_put_off_again_and_again_take_no_more_room() -> None:
    timers = Timers()
    for now_ms in range(10_000):
        timers.schedule(("session", str(now_ms % 10)), now_ms + 30_000, lambda _: Decision())
        timers.schedule(("sooner",), 10_000 - now_ms, lambda _: Decision())
    assert len(timers._heap) < 200
