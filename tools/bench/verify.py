"""metashell verify on logs and a snapshot, plain and with every record decoded, and the digest of a million partitions.

Goals: below 0.6 us a record on one core, start-up included, with memory that does not grow with the file; the digest of an image of 1
million partitions, loading included, below 5 s. Kafka has no such tool.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

from tools.bench.common import (
    REPOSITORY,
    Command,
    alternate,
    best,
    generated,
    log_of,
    our_script,
    print_interpreter,
    print_pair,
    snapshot_of,
)

RECORD_GOAL_US = 0.6
DIGEST_GOAL_S = 5.0
MEMORY_GROWTH_MAX = 1.1
"""How much more memory ten times the records may take."""
PARTITIONS = 1_000_000
RUNS = 5


def main() -> int:
    """Measure and print; the status tells whether the goals were met."""
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    inputs = {
        "log of 100 000 records": (log_of(100_000), 100_000, False),
        "log of 1 000 000 records": (log_of(1_000_000), 1_000_000, True),
        "log of 300 000, larger batches": (generated("log", records=300_000, partitions=300_000, batch_records=1000), 300_000, True),
        "snapshot of 1 000 000 partitions": (snapshot_of(PARTITIONS), PARTITIONS + PARTITIONS // 10, True),
    }
    met = True
    memory: list[float] = []
    for what, (path, records, is_judged) in inputs.items():
        for deep in (False, True):
            peak_mib, is_good = measure(what, path, records, deep=deep, is_judged=is_judged and not deep)
            met = met and is_good
            if not deep:
                memory.append(peak_mib)
    if memory[1] > MEMORY_GROWTH_MAX * memory[0]:
        print(f"memory MISSED: {memory[0]:.0f} MiB for 100 000 records, {memory[1]:.0f} MiB for 1 000 000")
        met = False
    return 0 if measure_digest() and met else 1


def measure(what: str, path: Path, records: int, *, deep: bool, is_judged: bool) -> tuple[float, bool]:
    """The peak of memory in MiB, and whether the goal was met."""
    words = ("verify", "--deep") if deep else ("verify",)
    command = Command(name="ours", argv=(our_script("metashell"), *words, str(path)))
    runs = alternate([command], RUNS)["ours"]
    cost_us = best(runs).cpu_s / records * 1e6
    is_good = not is_judged or cost_us < RECORD_GOAL_US
    note = f"{cost_us:.2f} us of CPU a record"
    if is_judged:
        note += f", goal {RECORD_GOAL_US} {'met' if is_good else 'MISSED'}"
    print_pair(f"{what}{', deep' if deep else ''}", runs, note=note)
    return best(runs).peak_mib, is_good


def measure_digest() -> bool:
    """Whether the digest of a large image is made in time."""
    command = Command(name="ours", argv=(our_script("metashell"), "verify", "--digest", str(snapshot_of(PARTITIONS))))
    runs = alternate([command], RUNS)["ours"]
    is_good = best(runs).wall_s < DIGEST_GOAL_S
    print_pair(f"digest of {PARTITIONS} partitions, and verify", runs, note=f"goal {DIGEST_GOAL_S} s {'met' if is_good else 'MISSED'}")
    return is_good


if __name__ == "__main__":
    sys.exit(main())
