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
from pathlib import Path
from typing import Any

from metashell.errors import UsageError
from tools.mutation import recording
from tools.mutation.choosing import stages
from tools.mutation.mutants import ROOT, Mutation
from tools.mutation.recording import Recording
from tools.mutation.results import KILLS, Result, Results

CACHE = ROOT / ".cache" / "mutation"
RECORD_SECONDS = 1800.0


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
    """What the tests enter, as stored; what changed since is run again."""
    stored = recording.Stored(CACHE / "recording.json", sources)
    if stored.places:
        with warm_process(copy) as warm:
            seeds = dict.fromkeys(recording.seeds(), 2.0) if stored.is_empty else {}
            result = warm.perform(None, b"", seeds, RECORD_SECONDS, record=True, places=stored.places, functions=list(modules))
        stored.add(recording.check(result))
    return stored.recording()


def judge(warm: Warm, mutation: Mutation, source: bytes, known: Recording, results: Results, seconds: float, output: str | None) -> Result:
    """Run the tests of one mutation until one notes it, they are through, or `seconds` are over."""
    used = 0.0
    for tests in stages(mutation, known, results.killers.get(mutation.id)):
        if not tests or used >= seconds:
            continue
        found = warm.perform(mutation, mutation.apply(source), tests, seconds - used, output=output)
        used += found["seconds"]
        verdict = found["verdict"]
        if verdict == "missing":
            raise UsageError(f"{found['test']}: is not there in the copy of the checkout")
        if verdict in KILLS:
            return results.keep(mutation.id, verdict, found["test"], found["reason"], round(used, 2))
    return results.keep(mutation.id, "survived", seconds=round(used, 2))


def control(warm: Warm, mutation: Mutation, source: bytes, known: Recording) -> None:
    """Run the tests of a mutation on the sound code by the same way. Errors: a UsageError unless all pass, for then no kill means a thing."""
    first, _ = stages(mutation, known, None)
    found = warm.perform(mutation, source, first, RECORD_SECONDS)
    if found["verdict"] != "passed":
        raise UsageError(f"{found['test']}: {found['verdict']} on the sound code: {found.get('reason', '')}")


def run(
    copy: Path,
    mutations: Sequence[Mutation],
    sources: Mapping[str, bytes],
    known: Recording,
    results: Results,
    *,
    jobs: int,
    seconds: float,
    note: Callable[[Mutation, Result], None],
    output: str | None = None,
) -> dict[str, Result]:
    """Bring each mutation to a verdict on `jobs` warm processes; `note` is called after each one, by one thread at a time."""
    found: dict[str, Result] = {}
    left: queue.SimpleQueue[Mutation] = queue.SimpleQueue()
    for mutation in mutations:
        if (result := results.valid(mutation.id)) is not None:
            found[mutation.id] = result
            note(mutation, result)
        else:
            left.put(mutation)
    if left.empty():
        return found
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with warm_process(copy) as warm:
                is_controlled = False
                while not errors:
                    try:
                        mutation = left.get_nowait()
                    except queue.Empty:
                        return
                    source = sources[mutation.key.module]
                    if not is_controlled:
                        control(warm, mutation, source, known)
                        is_controlled = True
                    result = judge(warm, mutation, source, known, results, seconds, output)
                    with lock:
                        found[mutation.id] = result
                        note(mutation, result)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(max(1, jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found
