"""`metashell rehearse` as a whole process, its snapshot read and its answer written.

Goals: `kill-broker` at 100 000 partitions on 100 brokers within 3 s, at 1 million within 30 s; `roll-brokers` of 100 brokers at 100 000
partitions within 2 minutes. METASHELL_BENCH_PARTITIONS takes the place of the million.
"""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path

from tools.bench.common import REPOSITORY, Command, best, generated, our_script, print_interpreter, run_once

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
BROKERS = 100
RUNS = 3


def main() -> int:
    """Measure and print every rehearsal; the status is 1 if a goal is missed."""
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    usual = generated("snapshot", partitions=100_000, brokers=BROKERS)
    large = generated("snapshot", partitions=PARTITIONS, brokers=BROKERS)
    results = [
        show("kill-broker, 100 000 partitions", usual, ("kill-broker", "3"), 3, RUNS),
        show(f"kill-broker, {PARTITIONS:_} partitions".replace("_", " "), large, ("kill-broker", "3"), 30, RUNS),
        show("standing questions, 100 000 partitions", usual, (), None, RUNS),
        show("restart-broker, 100 000 partitions", usual, ("restart-broker", "3"), None, RUNS),
        show("lose-rack, 100 000 partitions", usual, ("lose-rack", "rack-a"), None, 1),
        show("roll-brokers, 100 000 partitions", usual, ("roll-brokers",), 120, 1),
    ]
    return 0 if all(results) else 1


def show(what: str, snapshot: Path, words: tuple[str, ...], goal_s: float | None, runs: int) -> bool:
    """Run one rehearsal some times; whether the best of them meets its goal."""
    argv = (our_script("metashell"), "rehearse", "--snapshot", str(snapshot), *words)
    # Some partitions of the snapshot have one replica in sync, so that the verdict is 1.
    run = best([run_once(Command(name=what, argv=argv, statuses=(0, 1))) for _ in range(runs)])
    verdict = "" if goal_s is None else f"| goal {goal_s:g} s {'met' if run.wall_s <= goal_s else 'MISSED'}"
    print(f"{what:<44} {run.wall_s:8.2f} s {run.cpu_s:8.2f} s cpu {run.peak_mib:7.0f} MiB {verdict}", flush=True)
    return goal_s is None or run.wall_s <= goal_s


if __name__ == "__main__":
    sys.exit(main())
