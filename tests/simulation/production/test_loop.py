"""The loop of a simulated process: its clock, its thread that may be busy, its executors, and its end."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.simulation.production.worlds import processes, wait


def test_time_passes_only_in_the_world_and_at_the_rate_of_each_process() -> None:
    with processes() as (world, (one, two, _)):
        two.loop._rate = 1_100
        woken: dict[str, int] = {}

        async def sleep(name: str) -> None:
            await asyncio.sleep(1.0)
            woken[name] = world.now

        one.loop.start(sleep("exact"))
        two.loop.start(sleep("fast"))
        wait(world, 2_000)
        assert woken["exact"] == 1_000 and 905 <= woken["fast"] <= 910


def test_a_timer_never_comes_before_its_time() -> None:
    """Multiplied by a million this one is a whole number: a timer that is set again for it would come again at once, for ever."""
    with processes() as (world, (one, *_)):
        due = 13.202210000000001
        one.loop._base_us = 13_000_000
        called: list[float] = []
        one.loop.call_at(due, lambda: called.append(one.loop.time()))
        wait(world, 1_000)
        assert called and called[0] >= due


def test_timeouts_of_asyncio_are_those_of_the_world() -> None:
    with processes() as (world, (one, *_)):

        async def waits() -> str:
            try:
                async with asyncio.timeout(0.5):
                    await asyncio.Event().wait()
            except TimeoutError:
                return f"over at {world.now}"
            return "done"

        task = one.loop.start(waits())
        wait(world, 499)
        assert not task.done()
        wait(world, 2)
        assert task.result() == "over at 500"


def test_a_process_that_is_busy_does_nothing_until_it_is_free() -> None:
    with processes() as (world, (one, *_)):
        called: list[int] = []
        one.loop.busy_until = 300_000
        one.loop.call_soon(lambda: called.append(world.now))
        one.loop.call_later(0.1, lambda: called.append(world.now))
        wait(world, 1_000)
        assert called == [300, 400]


def test_an_executor_of_one_thread_makes_one_call_after_the_other_beside_the_loop() -> None:
    with processes(fsync_ms=0) as (world, (one, *_)):
        path = str(one.host.platters.place) + "/file"
        seen: list[str] = []

        def write(name: str) -> None:
            seen.append(f"{name} begins")
            fd = one.disk.create_file(path + name, 0o666)
            one.disk.append(fd, b"bytes")
            one.disk.sync_file(fd)
            seen.append(f"{name} ends")

        async def main() -> None:
            executor = ThreadPoolExecutor(1)
            loop = asyncio.get_running_loop()
            calls = [loop.run_in_executor(executor, write, name) for name in "ab"]
            await asyncio.sleep(0)
            seen.append("the loop goes on")
            await asyncio.gather(*calls)

        one.loop.start(main())
        wait(world, 100)
        assert seen == ["the loop goes on", "a begins", "a ends", "b begins", "b ends"]


def test_an_error_of_a_call_reaches_who_waits_for_it() -> None:
    with processes() as (world, (one, *_)):

        def fail() -> None:
            raise OSError(5, "Input/output error")

        async def main() -> None:
            await asyncio.get_running_loop().run_in_executor(None, fail)

        task = one.loop.start(main())
        wait(world, 10)
        with pytest.raises(OSError, match="Input/output"):
            task.result()


def test_what_a_task_does_while_its_process_dies_has_no_effect() -> None:
    with processes() as (world, (one, *_)):
        path = str(one.host.platters.place) + "/file"

        async def main() -> None:
            fd = one.disk.create_file(path, 0o666)
            try:
                await asyncio.sleep(60)
            finally:
                one.disk.append(fd, b"never")
                one.disk.remove_file(path)

        one.loop.start(main())
        wait(world, 10)
        one.host.is_resting = True
        world.kill(one.host, False)
        wait(world, 100_000)
        with open(path, "rb") as file:
            assert file.read() == b""


def test_an_exception_that_escapes_is_a_violation() -> None:
    with processes() as (world, (one, *_)):
        one.loop.call_soon(lambda: 1 // 0)
        with pytest.raises(AssertionError, match=r"an exception escaped.*ZeroDivisionError"):
            wait(world, 10)
