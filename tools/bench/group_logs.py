"""Logs of groups: a million committed offsets folded, and `metashell groups list` on them.

Each log is written as a coordinator writes it: 500 groups, with ten commits a batch and with one, and a log in which every commit is of
another partition. Goals: 2 s for the fold, start-up and reading of the file included, and 2.5 s for the list.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from tools.bench.common import Command, bench_directory, best, our_script, print_interpreter, print_pair, run_once

RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "1000000"))
NAME = "00000000000000000000.log"
START_MS = 1_700_000_000_000
FOLD = "import sys; from metashell.groups.log.queries import load; load(sys.argv[1:])"
LOGS = {"ten a batch": (10, 500, 37), "one a batch": (1, 500, 37), "every partition once": (10, RECORDS // 100, 10**9)}
"""What is measured: commits a batch, groups, and after how many a group's topic comes again."""
RUNS = 3


def main() -> int:
    """Measure the fold and the list of each log: seconds of CPU, of the whole process."""
    print_interpreter()
    status = 0
    for what, (batch_size, groups, topics) in LOGS.items():
        log = str(made(batch_size, groups, topics))
        commands = (
            (Command(name="fold", argv=(sys.executable, "-c", FOLD, log)), 2.0),
            (Command(name="list", argv=(our_script("metashell"), "groups", "list", log, "-o", "jsonl")), 2.5),
        )
        for command, goal_s in commands:
            runs = [run_once(command) for _ in range(RUNS)]
            is_met = best(runs).cpu_s <= goal_s
            print_pair(f"{command.name} {RECORDS} commits, {what}", runs, note=f"goal {goal_s} s cpu {'met' if is_met else 'MISSED'}")
            status |= not is_met
    return status


def made(batch_size: int, groups: int, topics: int) -> Path:
    """A log with so many commits a batch; it is made if it is not there."""
    path = bench_directory() / f"group-logs-{RECORDS}-{batch_size}-{groups}" / NAME
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(log_bytes(RECORDS, batch_size, groups, topics))
        part.rename(path)
    return path


def log_bytes(records: int, batch_size: int, groups: int, topics: int) -> bytes:
    """Commits of groups in turn, a batch each, of ten partitions of a topic."""
    key_type, value_type = message_type("offsets", "OffsetCommitKey"), message_type("offsets", "OffsetCommitValue")
    out = bytearray()
    for first in range(0, records, batch_size):
        number = first // 10
        time_ms = START_MS + 7 * number
        made = []
        for offset in range(first, min(first + batch_size, records)):
            key = key_type.cls(group=f"group-{number % groups}", topic=f"topic-{number // groups % topics}", partition=offset % 10)
            value = value_type.cls(offset=3 * offset, leader_epoch=4, metadata="", commit_timestamp=time_ms)
            made.append(Record(offset, time_ms, b"\0\1" + key_type.write(key, 0), b"\0\3" + value_type.write(value, 3)))
        out += write_batch(first, made, leader_epoch=3)
    return bytes(out)


if __name__ == "__main__":
    sys.exit(main())
