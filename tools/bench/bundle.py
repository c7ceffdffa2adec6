"""metashell bundle of a large snapshot and a long log, with names and without: all of it, with what it asks of its own copy.

There is no goal from outside: it has to stay linear, and nobody waits for it often. Kafka has no such tool.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

from tools.bench.common import REPOSITORY, Command, alternate, best, log_of, our_script, print_interpreter, print_pair, snapshot_of

RUNS = 3
PARTITIONS = 1_000_000


def main() -> int:
    """Measure and print."""
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    for what, path, records in (
        ("log of 1 000 000 records", log_of(1_000_000), 1_000_000),
        ("snapshot of 1 000 000 partitions", snapshot_of(PARTITIONS), PARTITIONS + PARTITIONS // 10),
    ):
        for words in ((), ("--anonymise",)):
            measure(what, path, records, *words)
    return 0


def measure(what: str, path: Path, records: int, *words: str) -> None:
    """Print the times and the memory of one bundle, which goes nowhere."""
    command = Command(name="ours", argv=(our_script("metashell"), "bundle", str(path), *words, "--out", "-"))
    runs = alternate([command], RUNS, warm_up=0)["ours"]
    print_pair(f"{what}{''.join(f', {word}' for word in words)}", runs, note=f"{best(runs).cpu_s / records * 1e6:.1f} us of CPU a record")


if __name__ == "__main__":
    sys.exit(main())
