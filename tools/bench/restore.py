"""`metashell quorum restore` of a million partitions in a hundred thousand topics, from a log directory with one checkpoint.

Goals: below 15 s and 400 MiB. METASHELL_BENCH_PARTITIONS (1000000) is the size of the snapshot. Kafka has no such tool.

"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tools.bench.common import best, met, ours, run_once, snapshot_of

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
RUNS = 3
GOAL_S = 15.0
GOAL_MIB = 400.0


def main() -> int:
    """Measure and print; the status tells whether the goals were met."""
    path = snapshot_of(PARTITIONS)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source = _source(Path(folder), path)
        runs = []
        for number in range(RUNS):
            out = Path(folder) / f"new-{number}"
            words = ("--out", str(out), "--node-id", "1", "--listener", "localhost:9093", "--force")
            runs.append(run_once(ours("metashell", "quorum", "restore", str(source), *words)))
            (written,) = (out / "__cluster_metadata-0").glob("*.checkpoint")
        size = written.stat().st_size
    run = best(runs)
    memory = max(one.peak_mib for one in runs)
    print(f"{PARTITIONS} partitions: {run.wall_s:.1f} s, {run.cpu_s:.1f} s of CPU, {memory:.0f} MiB; {size / 1e6:.0f} MB written")
    is_met = run.wall_s < GOAL_S and memory < GOAL_MIB
    print(f"goal of {GOAL_S:.0f} s and {GOAL_MIB:.0f} MiB: {met(is_met)}")
    return 0 if is_met else 1


def _source(folder: Path, snapshot: Path) -> Path:
    """A log directory with the snapshot as its checkpoint."""
    source = folder / "source"
    metadata = source / "__cluster_metadata-0"
    metadata.mkdir(parents=True)
    (source / "meta.properties").write_text("version=1\ncluster.id=4L6g3nShT-eMCtK--X86sw\nnode.id=1\n", encoding="utf-8")
    name = snapshot.name if snapshot.name[:20].isdigit() else f"{2_000_000:020d}-{7:010d}.checkpoint"
    (metadata / name).hardlink_to(snapshot)
    return source
