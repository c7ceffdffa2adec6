"""Steps that wait for the disk: in order, and awaited only where something rests on them."""

from __future__ import annotations

import pytest

from metashell.disk.file_system import DeferredSteps


def deferred() -> DeferredSteps:
    work = DeferredSteps(lambda error: None)
    work.defer()
    return work


def test_steps_are_carried_out_at_once_until_they_are_deferred() -> None:
    done: list[str] = []
    work = DeferredSteps(lambda error: None)
    work.do(lambda: done.append("a"))
    assert done == ["a"] and work.take() is None
    work.defer()
    work.do(lambda: done.append("b"))
    assert done == ["a"]
    work.finish()
    assert done == ["a", "b"]


def test_what_is_awaited_is_done_before_the_log_is_written_and_in_order() -> None:
    done: list[str] = []
    work = deferred()
    work.do(lambda: done.append("a"), is_awaited=False)
    work.settle()
    assert done == []
    work.do(lambda: done.append("b"))
    work.settle()
    assert done == ["a", "b"]


def test_the_log_is_not_written_while_a_thread_has_what_is_awaited() -> None:
    for is_awaited in (True, False):
        work = deferred()
        work.do(lambda: None, is_awaited=is_awaited)
        taken = work.take()
        assert taken is not None and taken.is_awaited is is_awaited
        if is_awaited:
            with pytest.raises(AssertionError, match="while it is cut"):
                work.settle()
            taken.carry_out()
        work.settle()
