"""The disk of a simulated machine: what a killed process leaves, what a loss of power takes, and syncs that hang or fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from errno import EIO
from pathlib import Path

import pytest

from tests.simulation.production.replica import Process
from tests.simulation.production.world import ProductionWorld
from tests.simulation.production.worlds import processes, wait


def call(process: Process, function: Callable[[], object]) -> asyncio.Task[object]:
    """Have a thread of the process do something."""

    async def main() -> object:
        return await asyncio.get_running_loop().run_in_executor(None, function)

    return process.loop.start(main())


def written(process: Process, *, sync: bool) -> int:
    """A file with a name that is durable, and bytes that are so if `sync`."""
    disk, place = process.disk, str(process.host.platters.place)
    fd = disk.create_file(f"{place}/file", 0o666)
    disk.sync_directory(place)
    disk.append(fd, b"first")
    if sync:
        disk.sync_file(fd)
    return fd


def left(process: Process) -> bytes:
    return (Path(process.host.platters.place) / "file").read_bytes()


@pytest.mark.parametrize("power", [False, True])
def test_only_a_loss_of_power_takes_what_was_not_synced(power: bool) -> None:
    found = set()
    for seed in range(12):
        with processes(seed) as (world, (one, *_)):
            task = call(one, lambda one=one: written(one, sync=False))
            wait(world, 1_000)
            assert task.done()
            world.kill(one.host, power)
            found.add(left(one))
    assert (b"" in found) is power and b"first" in found


def test_what_was_synced_survives_a_loss_of_power_always() -> None:
    for seed in range(12):
        with processes(seed) as (world, (one, *_)):
            call(one, lambda one=one: written(one, sync=True))
            wait(world, 1_000)
            world.kill(one.host, True)
            assert left(one) == b"first"


def test_a_sync_covers_what_was_written_when_it_began_and_no_more() -> None:
    found = set()
    for seed in range(12):
        with processes(seed, fsync_ms=50) as (world, (one, *_)):
            opened = call(one, lambda one=one: written(one, sync=True))
            wait(world, 1_000)
            fd = opened.result()
            assert isinstance(fd, int)
            one.disk.write_at(fd, b"second", 5)
            sync = call(one, lambda one=one, fd=fd: one.disk.sync_file(fd))
            world.run(world.now, 1 << 60)
            one.disk.write_at(fd, b"third", 11)
            wait(world, 1_000)
            assert sync.done()
            world.kill(one.host, True)
            assert left(one).startswith(b"firstsecond")
            found.add(left(one))
    assert b"firstsecond" in found


def test_a_sync_of_a_disk_that_hangs_returns_when_it_no_longer_does() -> None:
    with processes() as (world, (one, *_)):
        task = call(one, lambda: written(one, sync=False))
        wait(world, 1_000)
        fd = task.result()
        assert isinstance(fd, int)
        hang(world, one, 2_000)
        sync = call(one, lambda: one.disk.sync_file(fd))
        wait(world, 1_990)
        assert not sync.done()
        wait(world, 200)
        assert sync.done() and sync.exception() is None


def test_a_disk_that_fails_after_it_hung_fails_then() -> None:
    with processes() as (world, (one, *_)):
        task = call(one, lambda: written(one, sync=False))
        wait(world, 1_000)
        fd = task.result()
        assert isinstance(fd, int)
        hang(world, one, 500)
        one.host.fails_from_us, one.host.fails_until_us, one.host.fails_with = one.host.hangs_until_us, 1 << 60, EIO
        sync = call(one, lambda: one.disk.sync_file(fd))
        wait(world, 490)
        assert not sync.done()
        wait(world, 200)
        assert isinstance(sync.exception(), OSError)


@pytest.mark.parametrize("steps", range(6))
def test_a_process_may_die_at_any_step_of_a_thread(steps: int) -> None:
    with processes() as (world, (one, *_)):
        reached: list[int] = []

        def write() -> None:
            written(one, sync=True)
            reached.append(1)

        one.host.fuse_left = steps
        one.host.is_resting = True
        call(one, write)
        wait(world, 1_000)
        # create, sync of the name, append, sync of the bytes
        assert one.loop.is_dead is (steps < 4)
        assert bool(reached) is (steps >= 4)
        assert (Path(one.host.platters.place) / "file").exists() is (steps >= 1)


def hang(world: ProductionWorld, process: Process, for_ms: int) -> None:
    process.host.hangs_until_us = world.now_us + for_ms * 1_000
