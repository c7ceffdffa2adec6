"""The warm process: it has imported pytest and all that no mutation touches, and forks for each job.

`python -m tools.mutation.server MODULE...` is told what will be changed. It runs in the copy of the checkout, reads jobs from stdin and
writes results to stdout, both as lines of JSON. A job names tests with the seconds they took on the sound code; a result is a verdict:

`killed` by a test that failed, `hung` in one that takes far longer than it should, `died` where the process ended, `passed` where all
went well, `cut` where the time was over before, `missing` where a test is not there (the fault of who asked, never a kill).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from typing import Any

from tools.mutation import child

WARM = ("pytest", "hypothesis.stateful", "hypothesis.strategies", "asyncio", "immutables", "cramjam", "google_crc32c")
OWN = ("metashell.common", "metashell.codec", "metashell.metadata.image", "metashell.net")
"""What most modules stand on: imported once, up to the first one of these that is to be changed."""
HEAVY = ("numpy", "pyarrow", "pyarrow.parquet", "pyarrow.fs")
COLLECT_SECONDS = 60.0


def is_imported_first(module: str) -> bool:
    """Whether a module, by its name in Python, is one of those that a warm process imports where none of them is to be changed."""
    return any(f"{module}.".startswith(f"{name}.") for name in OWN)


def main() -> int:
    sys.path[0:1] = [os.getcwd()]
    changed = sys.argv[1:]
    for name in (*WARM, *(HEAVY if any(name.startswith(("metashell.tables", "spark_reports")) for name in changed) else ())):
        importlib.import_module(name)
    for name in OWN:
        if any(f"{one}.".startswith(f"{name}.") for one in changed):
            break
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(perform(json.loads(line))), flush=True)
    return 0


def perform(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a fork, which ends with all that it started."""
    assert job["module"] not in sys.modules, "what is changed must not be imported before"
    job["scratch"] = tempfile.mkdtemp(dir=os.getcwd(), prefix="scratch-")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.close(reading)
        try:
            child.main(job, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with suppress(OSError):
        os.setpgid(pid, pid)  # As the child does: whoever comes first, the group is there before it is needed.
    began = time.monotonic()
    try:
        result = watch(job, reading, began + job["seconds"])
    finally:
        os.close(reading)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        shutil.rmtree(job["scratch"], ignore_errors=True)
    return {**result, "seconds": round(time.monotonic() - began, 2)}


def watch(job: dict[str, Any], reading: int, deadline: float) -> dict[str, Any]:
    """Follow what the child tells until something is known."""
    test, limit = "collection", time.monotonic() + COLLECT_SECONDS
    rest = b""
    entered: dict[str, Any] = {}
    failed: list[Any] = []
    while True:
        now = time.monotonic()
        if now >= deadline:
            return {"verdict": "cut", "test": test, "entered": entered}
        if now >= limit:
            return {"verdict": "hung", "test": test, "reason": "takes far longer than on the sound code"}
        ready, _, _ = select.select([reading], [], [], max(0.0, min(deadline, limit) - now))
        if not ready:
            continue
        data = os.read(reading, 1 << 20)
        if not data:
            return {"verdict": "died", "test": test, "reason": "the process ended", "failed": failed}
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            match json.loads(line):
                case ["start", name]:
                    test, limit = name, time.monotonic() + seconds_of(job, name)
                case ["fail", name, reason] if job["record"]:
                    failed.append([name, reason])
                case ["fail", name, reason]:
                    return {"verdict": "killed", "test": name or test, "reason": reason}
                case ["entered", name, seconds, functions]:
                    entered[name] = [seconds, functions]
                case ["missing", name]:
                    return {"verdict": "missing", "test": name}
                case ["end", status]:
                    if status:
                        return {"verdict": "killed", "test": "collection", "reason": f"pytest ends with status {status}", "failed": failed}
                    return {"verdict": "passed", "entered": entered, "failed": failed}


def seconds_of(job: dict[str, Any], test: str) -> float:
    """How long a test may take: machines are busy, and the sound run was recorded on another minute."""
    tests = job["tests"]
    return float(job["patience"] + 20.0 * tests.get(test, tests.get(child.file_of(test), 2.0)))


if __name__ == "__main__":
    sys.exit(main())
