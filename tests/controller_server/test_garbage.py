"""A process that is a controller looks for garbage itself."""

from __future__ import annotations

import gc
import weakref

import pytest

from metashell.controller_server import garbage
from metashell.controller_server.garbage import Garbage
from metashell.server.held import HeldTime
from tests.server.quorum import eventually, run


class Cycle:
    def __init__(self) -> None:
        self.own = self


def test_cycles_are_found_and_what_lives_is_put_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "PERIOD_S", 0.01)

    async def main() -> None:
        held = HeldTime()
        frozen = gc.get_freeze_count()
        collecting = Garbage(held)
        try:
            assert not gc.isenabled()
            gone = weakref.ref(Cycle())
            kept = [[n] for n in range(1000)]
            await eventually(lambda: gone() is None)
            assert gc.get_freeze_count() > frozen + len(kept)
            assert held.longest_s > 0
        finally:
            collecting.close()
        assert gc.isenabled()

    run(main)
    gc.unfreeze()


def test_after_a_load_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "NEW_MAX", 10)

    async def main() -> None:
        collecting = Garbage(HeldTime())
        try:
            gone = weakref.ref(Cycle())
            loaded = [[n] for n in range(1000)]
            collecting.collect()
            assert gone() is not None and loaded
        finally:
            collecting.close()

    run(main)
    gc.unfreeze()
    gc.collect()
