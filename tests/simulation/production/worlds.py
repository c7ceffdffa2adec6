"""A world of processes in which no server runs, for tests of what lies below one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.simulation.production.options import ProductionOptions
from tests.simulation.production.replica import Process
from tests.simulation.production.run import build
from tests.simulation.production.world import ProductionWorld

FOREVER = 1 << 60


@contextmanager
def processes(seed: int = 1, **options: Any) -> Iterator[tuple[ProductionWorld, list[Process]]]:
    """Three processes without a server; what goes wrong is up to the test."""
    drawn = ProductionOptions(seed)
    for name, value in options.items():
        setattr(drawn, name, value)
    world = build(drawn)
    world.set_faults(False)
    try:
        yield world, [begin(world, index) for index in range(3)]
    finally:
        world.close()


def begin(world: ProductionWorld, index: int) -> Process:
    """A process on a host that has none."""
    host = world.hosts[index]
    host.has_power = True
    process = host.process = Process(world, host)
    return process


def wait(world: ProductionWorld, for_ms: int) -> None:
    """Let time pass."""
    world.run(world.now + for_ms, FOREVER)
