"""The side that asks: starts warm processes in a copy of the checkout, and brings every mutation to a verdict."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from metashell.common.errors import UsageError
from tools.mutation.child import SEED, file_of
from tools.mutation.modules import ROOT, name_of
from tools.mutation.mutants import Mutation
from tools.mutation.recording import Recording, Stored, tests_of
from tools.mutation.results import KILLS, Result, Results
from tools.mutation.rooms import Room

CACHE = ROOT / ".cache" / "mutation"
RECORD_SECONDS = 900.0
PATIENCE_SECONDS = 15.0
"""The seconds that a test may take beyond a multiple of its time on the sound code before it counts as hanging."""


class Warm:
    """One warm process in the copy; `perform` gives a job and waits for its result."""

    def __init__(self, copy: Path, changed: Sequence[str]) -> None:
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": str(copy)}
        environment.pop("HYPOTHESIS_PROFILE", None)
        command = [sys.executable, "-m", "tools.mutation.server", *changed]
        self.process = subprocess.Popen(
            command, cwd=copy, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def perform(self, mutation: Mutation | None, source: bytes, tests: Mapping[str, float], seconds: float, **more: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        job = {
            "module": None if mutation is None else mutation.module_name,
            "source": source.decode(),
            "tests": dict(tests),
            "seconds": seconds,
            "record": False,
            "functions": [],
            "patience": PATIENCE_SECONDS,
            "is_slow": False,
            **more,
        }
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise UsageError("the process that runs the tests ended")
        result: dict[str, Any] = json.loads(line)
        return result

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def warm_process(copy: Path, changed: Sequence[str]) -> Iterator[Warm]:
    """A warm process that never imports the modules that are to be changed, by their names in Python."""
    warm = Warm(copy, changed)
    try:
        yield warm
    finally:
        warm.close()


def recorded(copy: Path, stored: Stored, room: Room, jobs: int) -> Recording:
    """The functions that each test of a room enters, as stored; files of tests that changed since run again."""

    def record(warm: Warm, places: list[str]) -> None:
        files = [place for place in places if place != SEED]
        more = {"record": True, "places": files, "functions": stored.modules, "patience": RECORD_SECONDS, "is_slow": room.is_slow}
        stored.add(places, warm.perform(None, b"", tests_of(places), RECORD_SECONDS, **more))

    in_parallel(copy, [name_of(module) for module in stored.modules], stored.chunks(), jobs, record)
    return stored.recording()


Job = TypeVar("Job")


def take(left: queue.SimpleQueue[Job]) -> Job | None:
    try:
        return left.get_nowait()
    except queue.Empty:
        return None


def in_parallel(copy: Path, changed: Sequence[str], jobs: Sequence[Job], count: int, work: Callable[[Warm, Job], None]) -> None:
    """Do all jobs, in their order, on `count` warm processes. Errors: the first of any job, after which no other begins."""
    left: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        left.put(job)
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with warm_process(copy, changed) as warm:
                while not errors and (job := take(left)) is not None:
                    work(warm, job)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(min(max(1, count), len(jobs)))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as interrupt:
        # What is known is stored; the threads end with the jobs that they are at.
        errors.append(interrupt)
    if errors:
        raise errors[0]


@dataclass(frozen=True, slots=True)
class Run:
    """One run over mutations of one room: `order` gives the stages of tests of each one (with their seconds), `seconds` bounds each one.

    A test that kills is asked about the sound code too, once a run: if it fails there, it judges nothing, and the run says so.
    """

    copy: Path
    sources: Mapping[str, bytes]
    order: Callable[[Mutation], list[dict[str, float]]]
    results: Results
    jobs: int
    seconds: float
    output: str | None = None
    is_slow: bool = False
    sound: set[str] = field(default_factory=set)
    asks_soundness_at_end: bool = False
    """Whether the tests that kill are asked about the sound code together, when all is done: that is one start of pytest, not one each."""
    left_to_ask: dict[str, float] = field(default_factory=dict)

    def judge(self, warm: Warm, mutation: Mutation) -> Result:
        """Run the tests of one mutation until one notes it, they are through, or the time is over."""
        source = mutation.apply(self.sources[mutation.key.module])
        used = 0.0
        for tests in self.order(mutation):
            if not tests or used >= self.seconds:
                continue
            found = warm.perform(mutation, source, tests, self.seconds - used, output=self.output, is_slow=self.is_slow)
            used += found["seconds"]
            if found["verdict"] == "missing":
                raise UsageError(f"{found['test']}: is not among the tests")
            if found["verdict"] in KILLS:
                self.control(warm, mutation, found["test"], tests)
                return self.results.keep(mutation.id, found["verdict"], found["test"], found["reason"], round(used, 2))
        return self.results.keep(mutation.id, "survived", seconds=round(used, 2))

    def control(self, warm: Warm, mutation: Mutation, killer: str, tests: Mapping[str, float]) -> None:
        """Ask a test that kills about the sound code. Errors: a UsageError unless it passes."""
        # Where the process died or a module could not be imported, no test is named: all of them are asked.
        asked = {killer: tests.get(killer, 5.0)} if killer in tests or file_of(killer) in tests else dict(tests)
        if self.asks_soundness_at_end:
            self.left_to_ask.update(asked)
        elif not set(asked) <= self.sound:
            self.require_sound(warm, mutation, asked)

    def require_sound(self, warm: Warm, mutation: Mutation, asked: Mapping[str, float]) -> None:
        """Run tests on the sound code of the module that a mutation changes. Errors: a UsageError unless they pass."""
        source = self.sources[mutation.key.module]
        found = warm.perform(mutation, source, asked, RECORD_SECONDS, output=self.output, is_slow=self.is_slow)
        if found["verdict"] != "passed":
            raise UsageError(f"{found['test']}: on the sound code: {found['verdict']} {found.get('reason', '')}".rstrip())
        self.sound.update(asked)

    def perform(self, mutations: Sequence[Mutation], note: Callable[[Mutation, Result], None]) -> dict[str, Result]:
        """Bring each mutation to a verdict on `jobs` warm processes; `note` is called after each one, by one thread at a time.

        Those that no earlier run killed come first: they are what one waits for.
        """
        found: dict[str, Result] = {}
        left = []
        for mutation in sorted(mutations, key=lambda mutation: mutation.id in self.results.killers):
            if (result := self.results.valid(mutation.id)) is not None:
                found[mutation.id] = result
                note(mutation, result)
            else:
                left.append(mutation)
        lock = threading.Lock()

        def work(warm: Warm, mutation: Mutation) -> None:
            result = self.judge(warm, mutation)
            with lock:
                found[mutation.id] = result
                note(mutation, result)

        changed = sorted({name_of(module) for module in self.sources})
        in_parallel(self.copy, changed, left, self.jobs, work)
        if self.left_to_ask:
            with warm_process(self.copy, changed) as warm:
                self.require_sound(warm, left[0], self.left_to_ask)
        return found
