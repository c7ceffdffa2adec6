"""Appending small files to a lake: below 1 ms of CPU time each.

Segments of one log, and dumps of many nodes of one cluster. Where each dump is of a cluster of its own, a lake has files of their own for
each: that costs by files that are written, and is not measured here. The second time nothing is new: the ledger is read, and each file is
looked for.

`python -m tools.bench lake`; METASHELL_BENCH_FILES (10000) is the number of files.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.bench.common import Command, bench_directory, met, our_script, run_once
from tools.bench.small_files import dumps, segments

GOAL_MS = 1.0
FILES = int(os.environ.get("METASHELL_BENCH_FILES", "10000"))


def main() -> int:
    """Measure both inputs, each three times into a new lake."""
    for what, folder in ((f"a log in {FILES} segments", segments(FILES)), (f"{FILES} nodes of a cluster", nodes(FILES))):
        count = sum(1 for _ in folder.rglob("*.log"))
        first, again = min((appended(folder) for _ in range(3)), key=lambda found: found[0])
        cost_ms = first / count * 1e3
        print(
            f"{what:<28} {cost_ms:6.2f} ms of CPU time each of {count} files, {again / count * 1e3:.2f} ms where nothing is new | "
            f"goal {GOAL_MS} ms {met(cost_ms <= GOAL_MS)}"
        )
    return 0


def appended(folder: Path) -> tuple[float, float]:
    """The CPU seconds of an append to a new lake, and of the same again."""
    out = bench_directory() / "lake"
    shutil.rmtree(out, ignore_errors=True)
    argv = (our_script("metashell"), "export", str(folder), "--append", "--out", str(out), "--jobs", "2", "--quiet")
    first, again = (run_once(Command(name="append", argv=argv)).cpu_s for _ in range(2))
    return first, again


def nodes(count: int) -> Path:
    """The same dumps as `dumps` has, of one cluster."""
    top = bench_directory() / f"nodes-{count}"
    if not (top / "complete").exists():
        shutil.copytree(dumps(count), top, dirs_exist_ok=True)
        for number, path in enumerate(sorted(top.glob("dump-*/meta.properties"))):
            path.write_text(f"version=1\ncluster.id=One-fleet-of-many-nodes\nnode.id={number}\n")
    return top
