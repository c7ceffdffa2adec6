"""A process that is a controller looks for garbage in small pieces."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from metashell.quorum.server import controller_server
from metashell.quorum.server.controller_server import Garbage
from metashell.quorum.server.event_queue import LoopHold
from tests.quorum.server.quorum import run


class Cycle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def plain_collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    assert gc.get_threshold() == thresholds
    gc.unfreeze()


def collections() -> list[int]:
    """How often each generation was looked at."""
    return [one["collections"] for one in gc.get_stats()]


def test_cycles_are_found_while_they_are_young_and_the_old_are_left_alone() -> None:
    async def main() -> None:
        collecting = Garbage(LoopHold())
        try:
            before = collections()
            gone = weakref.ref(Cycle())
            kept = [[n] for n in range(20 * controller_server.YOUNG)]
            after = collections()
            assert gone() is None and kept
            assert after[0] > before[0] and after[1] > before[1] and after[2] == before[2]
        finally:
            collecting.close()

    run(main)


def test_everything_is_looked_at_where_that_is_a_small_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        held = LoopHold()
        collecting = Garbage(held)
        try:
            before = collections()
            collecting.collect()
            assert collections()[2] == before[2] + 1 and held.longest_s > 0
            monkeypatch.setattr(controller_server, "ALL_MAX", -1)
            collecting.collect()
            assert collections()[2] == before[2] + 1
        finally:
            collecting.close()

    run(main)


def test_what_is_too_much_is_counted_once_and_then_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        held = LoopHold()
        collecting = Garbage(held)
        try:
            image = [[n] for n in range(3000)]
            gc.collect()
            frozen, before = gc.get_freeze_count(), collections()
            monkeypatch.setattr(controller_server, "ALL_MAX", 2000)
            collecting.collect()
            assert collections()[2] == before[2] and held.longest_s > 0
            assert gc.get_freeze_count() - frozen >= len(image)
            collecting.collect()
            assert collections()[2] == before[2] + 1
        finally:
            collecting.close()

    run(main)
