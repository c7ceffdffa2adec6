"""Ask kafka-reassign-partitions --generate of several releases about random clusters, and write down what it proposes:
tests/golden/reassign.

    python -m tools.make_reassign_golden

Needs Java. Kafka begins at a random broker, so every file is another one; what is compared with it must hold for all.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Final

from metashell.common.forms import compact_json
from tests.java import PROGRAMS, run_program
from tests.rehearse.placement.random_clusters import answers, movable, question, random_cluster

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "tests" / "golden" / "reassign"
GENERATES: Final = PROGRAMS / "Generates.java"
RELEASES: Final = ("4.3.1", "3.9.2")
SEEDS: Final = range(50)
RUNS: Final = 5


def generated(release: str, seeds: range, runs: int) -> dict[int, list[list[list[int]]]]:
    """For each seed and run the replicas of each partition of the random cluster, in the order of `movable`."""
    clusters = {seed: random_cluster(seed) for seed in seeds}
    text = "".join(question(cluster, runs) for cluster in clusters.values())
    found = iter(answers(run_program(GENERATES, version=release, stdin=text.encode()).decode()))
    return {
        seed: [
            [list(run[partition.topic, partition.partition]) for partition in movable(cluster)]
            for run in (next(found) for _ in range(runs))
        ]
        for seed, cluster in clusters.items()
    }


def main() -> int:
    """See the module."""
    for release in RELEASES:
        lines = [compact_json({"seed": seed, "runs": runs}) + "\n" for seed, runs in generated(release, SEEDS, RUNS).items()]
        (FOLDER / f"generate-{release}.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
