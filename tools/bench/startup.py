"""One-shot commands on small files, in turn with Kafka's tools on their smallest class path.

Goals: any of them within 90 ms, `--version` within 25 ms, seven times faster than Kafka's.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

from tools.bench.common import REPOSITORY, Command, alternate, best, generated, kafka_argv, our_script, print_interpreter, print_pair

RUNS = 15
KAFKA_RUNS = 5


def main() -> int:
    """Measure and print every pair."""
    # An installed package is byte-compiled; PYTHONDONTWRITEBYTECODE in the environment must not make every run recompile it.
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    snapshot = generated("snapshot", partitions=10)
    log = generated("log", records=10, partitions=10)
    for what, ours, theirs in rows(snapshot, log):
        mine = alternate([Command(name="ours", argv=ours)], RUNS)["ours"]
        others = alternate([Command(name="kafka", argv=theirs)], KAFKA_RUNS)["kafka"] if theirs else []
        goal_ms = 25 if "--version" in what else 90
        wall_ms = best(mine).wall_s * 1000
        verdict = "met" if wall_ms <= goal_ms else "MISSED"
        print_pair(what, mine, others, f"goal {goal_ms} ms {verdict}")
    return 0


def rows(snapshot: Path, log: Path) -> list[tuple[str, tuple[str, ...], tuple[str, ...] | None]]:
    """What is measured: a label, our command line, and Kafka's where it has the same command."""
    decode = ("--cluster-metadata-decoder", "--files", str(log))
    shell = ("--snapshot", str(snapshot))
    kafka_dump = kafka_argv("dump-log", *decode)
    kafka_ls = kafka_argv("shell", *shell, "ls", "/")
    kafka_cat = kafka_argv("shell", *shell, "cat", "/image/features/metadataVersion")
    return [
        ("kafka-shell --version", script("kafka-shell", "--version"), None),
        ("dump-log --version", script("dump-log", "--version"), None),
        ("kafka-dump-log --version", script("kafka-dump-log", "--version"), None),
        ("metashell --version", script("metashell", "--version"), None),
        ("dump-log FILE", script("dump-log", "--cluster-metadata-decoder", str(log)), kafka_dump),
        ("kafka-dump-log --files FILE", script("kafka-dump-log", *decode), kafka_dump),
        ("kafka-shell --snapshot FILE ls /", script("kafka-shell", *shell, "ls", "/"), kafka_ls),
        ("kafka-shell ... ls -l /image", script("kafka-shell", *shell, "ls", "-l", "/image"), kafka_ls),
        ("kafka-shell ... cat LEAF", script("kafka-shell", *shell, "cat", "/image/features/metadataVersion"), kafka_cat),
        ("kafka-shell ... find /", script("kafka-shell", *shell, "find", "/"), kafka_ls),
        ("kafka-metadata-shell ... ls /", script("kafka-metadata-shell", *shell, "ls", "/"), kafka_ls),
        ("kafka-shell --help", script("kafka-shell", "--help"), None),
    ]


def script(name: str, *arguments: str) -> tuple[str, ...]:
    """A command line of an installed console script."""
    return (our_script(name), *arguments)


if __name__ == "__main__":
    sys.exit(main())
