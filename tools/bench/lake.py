"""Appending to a lake: 10 million records, a million to a folder and to S3, and small files, below 1 ms of CPU time each.

Small files are segments of one log, and dumps of many nodes of one cluster. The second time nothing is new: the table of appends is read,
and each file is looked for. S3 is a server of moto's on this machine, which takes its time from the same cores.

`python -m tools.bench lake`; METASHELL_BENCH_LAKE_RECORDS (10000000) and METASHELL_BENCH_FILES (10000) are the sizes.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.bench.common import Command, Run, bench_directory, log_of, met, our_script, run_once
from tools.bench.small_files import dumps, segments
from tools.bench.stores import s3_server

GOAL_MS = 1.0
GOAL_RATE = 4e6
GOAL_MILLION_S = 0.8
GOAL_STORE = 1.5
GOAL_MIB = 300
RECORDS = int(os.environ.get("METASHELL_BENCH_LAKE_RECORDS", "10000000"))
FILES = int(os.environ.get("METASHELL_BENCH_FILES", "10000"))
RUNS = 3


def main() -> int:
    """Measure the large inputs, then both of small files, each three times into a new lake."""
    large()
    for what, folder in ((f"a log in {FILES} segments", segments(FILES)), (f"{FILES} nodes of a cluster", nodes(FILES))):
        count = sum(1 for _ in folder.rglob("*.log"))
        first, again = min((appended(folder) for _ in range(RUNS)), key=lambda found: found[0].cpu_s)
        cost_ms = first.cpu_s / count * 1e3
        print(
            f"{what:<28} {cost_ms:6.2f} ms of CPU time each of {count} files, {again.cpu_s / count * 1e3:.2f} ms where nothing is new | "
            f"goal {GOAL_MS} ms {met(cost_ms <= GOAL_MS)}"
        )
    return 0


def large() -> None:
    """Print the rate of a large append beside a plain export of the same, and a million records to a folder and to S3."""
    log = log_of(RECORDS)
    plain = min((plain_export(log) for _ in range(RUNS)), key=lambda run: run.wall_s)
    lake = min((appended(log)[0] for _ in range(RUNS)), key=lambda run: run.wall_s)
    rate = RECORDS / lake.wall_s
    print(
        f"{RECORDS:,} records: {lake.wall_s:.2f} s, {lake.cpu_s:.2f} s of CPU, {rate / 1e6:.2f} M/s, {lake.peak_mib:.0f} MiB; "
        f"a plain export {plain.wall_s:.2f} s, {plain.cpu_s:.2f} s of CPU | "
        f"goal {GOAL_RATE / 1e6:.1f} M/s {met(rate >= GOAL_RATE)}, {GOAL_MIB} MiB a process"
    )
    log = log_of(1_000_000)
    here = min((appended(log)[0] for _ in range(RUNS)), key=lambda run: run.wall_s)
    print(
        f"a million records: {here.wall_s:.2f} s, {here.cpu_s:.2f} s of CPU | goal {GOAL_MILLION_S} s {met(here.wall_s <= GOAL_MILLION_S)}"
    )
    with s3_server():
        there = min((append_to(log, f"s3://bench-bucket/{number}") for number in range(RUNS)), key=lambda run: run.wall_s)
    ratio = there.wall_s / here.wall_s
    print(f"the same to S3: {there.wall_s:.2f} s, {ratio:.2f} times | goal {GOAL_STORE} times {met(ratio <= GOAL_STORE)}")


def plain_export(log: Path) -> Run:
    """A plain export to a new folder."""
    out = bench_directory() / "plain"
    shutil.rmtree(out, ignore_errors=True)
    argv = (our_script("metashell"), "export", str(log), "--out", str(out), "--jobs", "2", "--quiet")
    return run_once(Command(name="export", argv=argv))


def append_to(source: Path, out: str) -> Run:
    argv = (our_script("metashell"), "export", str(source), "--append", "--out", out, "--jobs", "2", "--quiet")
    return run_once(Command(name="append", argv=argv))


def appended(folder: Path) -> tuple[Run, Run]:
    """An append to a new lake, and the same again."""
    out = bench_directory() / "lake"
    shutil.rmtree(out, ignore_errors=True)
    return append_to(folder, str(out)), append_to(folder, str(out))


def nodes(count: int) -> Path:
    """The same dumps as `dumps` has, of one cluster."""
    top = bench_directory() / f"nodes-{count}"
    if not (top / "complete").exists():
        shutil.copytree(dumps(count), top, dirs_exist_ok=True)
        for number, path in enumerate(sorted(top.glob("dump-*/meta.properties"))):
            path.write_text(f"version=1\ncluster.id=One-fleet-of-many-nodes\nnode.id={number}\n")
    return top
