"""Sessions of brokers while the process, or only the line of events, is held up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metashell.quorum.server.controller_machine import ControllerMachine
from metashell.quorum.server.event_queue import Pace, Steps
from tests.quorum.server.controllers import Controllers, add_broker
from tests.quorum.server.quorum import eventually, run

IDLE = {"metadata.max.idle.interval.ms": 50}
LEAP_MS = 600_000


class Leaping:
    """Makes the clock of a controller leap."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, machine: ControllerMachine) -> None:
        self._plain = machine.now_ms
        self._leap_ms = 0
        monkeypatch.setattr(machine, "now_ms", lambda: self._plain() + self._leap_ms)

    def leap(self) -> None:
        self._leap_ms = LEAP_MS


def test_a_process_that_stood_still_lets_sessions_last_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=IDLE) as quorum:
            active = await quorum.active()
            epoch = await add_broker(active, 1)
            heartbeats = active.machine.controller.state.heartbeats
            heard_ms = heartbeats.contacted_ms(1, epoch)
            assert heard_ms is not None
            Leaping(monkeypatch, active.machine).leap()
            await eventually(lambda: heartbeats.contacted_ms(1, epoch) != heard_ms)
            assert (heartbeats.contacted_ms(1, epoch) or 0) - heard_ms >= LEAP_MS - 1000

    run(main)


def test_a_line_that_is_late_prolongs_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=IDLE) as quorum:
            active = await quorum.active()
            epoch = await add_broker(active, 1)
            machine = active.machine
            heartbeats = machine.controller.state.heartbeats
            clock = Leaping(monkeypatch, machine)
            heard_ms = heartbeats.contacted_ms(1, epoch)
            is_held, is_begun = True, False

            def long() -> Steps:
                nonlocal is_begun
                is_begun = True
                while is_held:
                    yield Pace.REST

            machine.queue.control(long)
            await eventually(lambda: is_begun and len(machine.queue) > 0)  # a task is due, and waits for its turn
            done = machine.queue.started
            clock.leap()
            is_held = False
            await eventually(lambda: machine.queue.started > done and not len(machine.queue))
            await asyncio.sleep(0)
            assert heartbeats.contacted_ms(1, epoch) == heard_ms

    run(main)
