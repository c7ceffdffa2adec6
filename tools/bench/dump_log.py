"""dump-log of 10 000, 100 000, 1 million and (with METASHELL_BENCH_LARGE=1) 10 million records to a file, in turn with Kafka's tool.

Goals: 7 times faster at 10 000 records; 4 times (at least 3) in wall time and less than half the CPU time at 1 million; 2.5
times at 10 million, with at most 15 % more CPU a record than at 100 000 once start-up is subtracted, and below 200 MB.
"""

from __future__ import annotations

import compileall
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.common import (
    REPOSITORY,
    Command,
    Run,
    alternate,
    bench_directory,
    best,
    generated,
    kafka_argv,
    log_of,
    our_script,
    print_interpreter,
    print_pair,
)

MEMORY_GOAL_MIB = 200 * 1000 * 1000 / (1 << 20)


@dataclass(frozen=True, slots=True)
class Size:
    """A number of records: how often it is run, and how many times faster than Kafka it has to be."""

    records: int
    runs: int
    kafka_runs: int
    goal: float
    cpu_goal: float = 0.0


SIZES = (
    Size(10_000, 9, 3, 7),
    Size(100_000, 5, 3, 0),
    Size(1_000_000, 3, 3, 4, 2),
)
LARGE = Size(10_000_000, 1, 1, 2.5)


def main() -> int:
    """Measure and print every size in both voices."""
    # An installed package is byte-compiled; PYTHONDONTWRITEBYTECODE in the environment must not make every run recompile it.
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    print_interpreter()
    start_up = {voice: start_up_cpu_s(voice) for voice in VOICES}
    sizes = (*SIZES, LARGE) if os.environ.get("METASHELL_BENCH_LARGE") else SIZES
    per_record: dict[tuple[str, int], float] = {}
    for size in sizes:
        for voice, ours, theirs in measured(size):
            print_pair(f"{voice} {size.records}", ours, theirs, verdict(size, ours, theirs))
            cpu_s = best(ours).cpu_s - start_up[voice]
            per_record[voice, size.records] = cpu_s / size.records * 1e6
    for (voice, records), cost_us in per_record.items():
        growth = cost_us / per_record[voice, 100_000] - 1
        print(f"{voice} {records}: {cost_us:.2f} us of CPU a record without start-up, {growth:+.0%} against 100 000")
    return 0


VOICES = ("JSON lines", "Kafka's text")


def argv_of(voice: str, log: Path) -> tuple[str, ...]:
    """Our command line for one voice."""
    if voice == VOICES[0]:
        return (our_script("dump-log"), "--cluster-metadata-decoder", str(log))
    return (our_script("kafka-dump-log"), "--cluster-metadata-decoder", "--files", str(log))


def start_up_cpu_s(voice: str) -> float:
    """CPU seconds of a run on a log of ten records."""
    command = Command(name="ours", argv=argv_of(voice, generated("log", records=10, partitions=10)))
    return best(alternate([command], 7)["ours"]).cpu_s


def measured(size: Size) -> list[tuple[str, Sequence[Run], Sequence[Run]]]:
    """Our runs and Kafka's for each voice, all into files of the same folder."""
    log = log_of(size.records)
    target = bench_directory() / "dump-log.out"
    theirs_argv = kafka_argv("dump-log", "--cluster-metadata-decoder", "--files", str(log))
    found: list[tuple[str, Sequence[Run], Sequence[Run]]] = []
    theirs: Sequence[Run] = ()
    for voice in VOICES:
        ours = Command(name="ours", argv=argv_of(voice, log), stdout=target)
        if theirs_argv is not None and not theirs:
            kafka = Command(name="kafka", argv=theirs_argv, stdout=target)
            runs = alternate([ours, kafka], size.kafka_runs, warm_up=int(size.records < LARGE.records))
            theirs = runs["kafka"]
        found.append((voice, alternate([ours], size.runs)["ours"], theirs))
    target.unlink(missing_ok=True)
    return found


def verdict(size: Size, ours: Sequence[Run], theirs: Sequence[Run]) -> str:
    """What the goals say of one line."""
    mine = best(ours)
    said = [] if mine.peak_mib <= MEMORY_GOAL_MIB else ["memory MISSED"]
    if theirs and size.goal:
        ratio = best(theirs).wall_s / mine.wall_s
        said.append(f"goal {size.goal} x {'met' if ratio >= size.goal else 'MISSED'}")
    if theirs and size.cpu_goal:
        ratio = best(theirs).cpu_s / mine.cpu_s
        said.append(f"cpu {size.cpu_goal} x {'met' if ratio > size.cpu_goal else 'MISSED'}")
    return ", ".join(said)


if __name__ == "__main__":
    sys.exit(main())
