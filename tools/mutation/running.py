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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metashell.common.errors import UsageError
from tools.mutation import recording
from tools.mutation.mutants import ROOT, Mutation
from tools.mutation.recording import Recording
from tools.mutation.results import KILLS, Result, Results

CACHE = ROOT / ".cache" / "mutation"
RECORD_SECONDS = 1800.0
PATIENCE_SECONDS = 15.0
"""The seconds that a test may take beyond a multiple of its time on the sound code before it counts as hanging."""


class Warm:
    """One warm process in the copy; `perform` gives a job and waits for its result."""

    def __init__(self, copy: Path) -> None:
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": str(copy)}
        environment.pop("HYPOTHESIS_PROFILE", None)
        command = [sys.executable, "-m", "tools.mutation.server"]
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
def warm_process(copy: Path) -> Iterator[Warm]:
    warm = Warm(copy)
    try:
        yield warm
    finally:
        warm.close()


def recorded(copy: Path, modules: Sequence[str], sources: str) -> Recording:
    """The functions that each test enters, as stored; tests that changed since run again."""
    stored = recording.Stored(CACHE / "recording.json", sources)
    if stored.places:
        with warm_process(copy) as warm:
            seeds = dict.fromkeys(recording.seeds(), 2.0) if stored.is_empty else {}
            more = {"record": True, "places": stored.places, "functions": list(modules), "patience": RECORD_SECONDS}
            result = warm.perform(None, b"", seeds, RECORD_SECONDS, **more)
        stored.add(result)
    return stored.recording()


def take(left: queue.SimpleQueue[Mutation]) -> Mutation | None:
    try:
        return left.get_nowait()
    except queue.Empty:
        return None


@dataclass(frozen=True, slots=True)
class Run:
    """One run over mutations: `order` gives the stages of tests of each one (with their seconds), `seconds` bounds each one."""

    copy: Path
    sources: Mapping[str, bytes]
    order: Callable[[Mutation], list[dict[str, float]]]
    results: Results
    jobs: int
    seconds: float
    output: str | None = None

    def judge(self, warm: Warm, mutation: Mutation) -> Result:
        """Run the tests of one mutation until one notes it, they are through, or the time is over."""
        source = mutation.apply(self.sources[mutation.key.module])
        used = 0.0
        for tests in self.order(mutation):
            if not tests or used >= self.seconds:
                continue
            found = warm.perform(mutation, source, tests, self.seconds - used, output=self.output)
            used += found["seconds"]
            if found["verdict"] == "missing":
                raise UsageError(f"{found['test']}: is not among the tests")
            if found["verdict"] in KILLS:
                return self.results.keep(mutation.id, found["verdict"], found["test"], found["reason"], round(used, 2))
        return self.results.keep(mutation.id, "survived", seconds=round(used, 2))

    def control(self, warm: Warm, mutation: Mutation) -> None:
        """Run the likely tests of a mutation in the same way on the sound code. Errors: a UsageError unless they pass."""
        first = self.order(mutation)[0]
        found = warm.perform(mutation, self.sources[mutation.key.module], first, RECORD_SECONDS)
        if found["verdict"] != "passed":
            raise UsageError(f"{found['test']}: on the sound code: {found['verdict']} {found.get('reason', '')}".rstrip())

    def perform(self, mutations: Sequence[Mutation], note: Callable[[Mutation, Result], None]) -> dict[str, Result]:
        """Bring each mutation to a verdict on `jobs` warm processes; `note` is called after each one, by one thread at a time.

        Those that no earlier run killed come first: they are what one waits for.
        """
        found: dict[str, Result] = {}
        left: queue.SimpleQueue[Mutation] = queue.SimpleQueue()
        for mutation in sorted(mutations, key=lambda mutation: mutation.id in self.results.killers):
            if (result := self.results.valid(mutation.id)) is not None:
                found[mutation.id] = result
                note(mutation, result)
            else:
                left.put(mutation)
        lock = threading.Lock()
        errors: list[BaseException] = []

        def work() -> None:
            try:
                with warm_process(self.copy) as warm:
                    is_controlled = False
                    while not errors and (mutation := take(left)) is not None:
                        if not is_controlled:
                            self.control(warm, mutation)
                            is_controlled = True
                        result = self.judge(warm, mutation)
                        with lock:
                            found[mutation.id] = result
                            note(mutation, result)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(min(max(1, self.jobs), left.qsize()))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt as interrupt:
            # What is known is stored; the threads end with the mutations that they are at.
            errors.append(interrupt)
        if errors:
            raise errors[0]
        return found
