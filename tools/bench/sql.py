"""One question about the state of a million partitions: `metashell sql` from start to answer.

Goal: below 3 s for an aggregate over all partitions. METASHELL_BENCH_PARTITIONS (1000000) is the size of the snapshot.
"""

from __future__ import annotations

import os
import sys

from tools.bench.common import Command, alternate, best, our_script, print_interpreter, snapshot_of

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
RUNS = 3
GOAL_S = 3.0
QUESTIONS = {
    "partitions by leader": "select leader, count(*) from partitions group by all",
    "under-replicated": "select count(*) from partitions where is_under_replicated",
    "topics by size": "select partition_count, count(*) from topics group by all",
    "brokers": "select state, count(*) from brokers group by all",
}


def main() -> int:
    """Measure and print every question."""
    print_interpreter()
    snapshot = snapshot_of(PARTITIONS)
    commands = [Command(name=name, argv=(our_script("metashell"), "sql", text, str(snapshot))) for name, text in QUESTIONS.items()]
    for name, runs in alternate(commands, RUNS).items():
        run = best(runs)
        verdict = "met" if run.wall_s < GOAL_S else "MISSED"
        print(f"{name:<24} {run.wall_s:6.2f} s wall {run.cpu_s:6.2f} s cpu {run.peak_mib:6.0f} MiB | goal {GOAL_S} s {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
