"""Logs to tables: Arrow on one core, Parquet on all, memory, growth, and what people do today for comparison.

Goals, with `--partitions N/10` unless said: partition records (`--partitions N --batch-records 1000`) to Arrow below 0.40 us a record
on one core; 10 million records to Parquet at 4.0 million a second on two cores, 1.75 times one process, from ONE file; 1 million in
0.7 s, start-up and all; 10 000 small files below 1 ms of CPU time each; a worker below 400 MB; the cost of a record grows by at most 15 %
from the smallest input to the largest. 10 times faster than
`kafka-dump-log | python json.loads`, and 20 times when both write Parquet (theirs by `from_pylist`).

`python -m tools.bench columns [arrow] [export] [million] [small] [memory] [growth] [kafka]` runs those parts, by default all.
METASHELL_BENCH_LARGEST (10000000) is the largest log, METASHELL_BENCH_FILES (10000) the number of small files.
"""

from __future__ import annotations

import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.bench.common import (
    KAFKA_VERSION,
    Command,
    Run,
    bench_directory,
    best,
    generated,
    kafka_argv,
    log_of,
    met,
    our_script,
    run_once,
)
from tools.bench.small_files import dumps, segments

LARGEST = int(os.environ.get("METASHELL_BENCH_LARGEST", "10000000"))
GROWTH = (100_000, 1_000_000, 10_000_000)
PARTITION_RECORDS = 300_000
RUNS = 5
ARROW_GOAL_US = 0.40
EXPORT_GOAL_PER_S = 4.0e6
MILLION_GOAL_S = 0.7
SMALL_GOAL_MS = 1.0
FILES = int(os.environ.get("METASHELL_BENCH_FILES", "10000"))
SPEED_UP_GOAL = 1.75
MEMORY_GOAL_MIB = 400
GROWTH_GOAL = 1.15
JSON_GOAL, PARQUET_GOAL = 10, 20

READ_THEIRS = """
import json, sys
for line in sys.stdin:
    _, found, text = line.partition("payload: ")
    if found:
        json.loads(text)
"""
WRITE_THEIRS = """
import json, sys
import pyarrow as pa
import pyarrow.parquet as pq
tables, writers = {}, {}
def flush(kind):
    table = pa.Table.from_pylist(tables[kind], schema=writers[kind].schema if kind in writers else None)
    if kind not in writers:
        writers[kind] = pq.ParquetWriter(f"{sys.argv[1]}/{kind}.parquet", table.schema)
    writers[kind].write_table(table)
    tables[kind] = []
for line in sys.stdin:
    _, found, text = line.partition("payload: ")
    if found:
        record = json.loads(text)
        rows = tables.setdefault(record["type"], [])
        rows.append(record["data"])
        if len(rows) == 100_000:
            flush(record["type"])
for kind in tables:
    if tables[kind]:
        flush(kind)
for writer in writers.values():
    writer.close()
"""


def main(words: list[str]) -> int:
    """Run the parts that are named."""
    parts = {"arrow": arrow, "export": exports, "million": million, "small": small, "memory": memory, "growth": growth, "kafka": kafka}
    for name, part in parts.items():
        if not words or name in words:
            part()
    return 0


def arrow() -> None:
    """Records to Arrow in this process: partitions, and the usual mix."""
    partitions = generated("log", records=PARTITION_RECORDS, partitions=PARTITION_RECORDS, batch_records=1000)
    cpu_s, rows = min(to_arrow(partitions, None) for _ in range(RUNS))
    cost_us = cpu_s / rows * 1e6
    print(f"partition records to Arrow   {cost_us:6.3f} us a record | goal {ARROW_GOAL_US} us {met(cost_us <= ARROW_GOAL_US)}")
    cpu_s, rows = min(to_arrow(log_of(1_000_000), None) for _ in range(RUNS))
    print(f"default mix to Arrow         {cpu_s / rows * 1e6:6.3f} us a record")
    cpu_s, rows = min(to_arrow(partitions, ["records"]) for _ in range(2))
    print(f"all records with JSON text   {cpu_s / rows * 1e6:6.3f} us a record")


def to_arrow(log: Path, tables: list[str] | None) -> tuple[float, int]:
    """CPU seconds of one pass over a log on one core, and its records."""
    from metashell.tables import ReadOptions, plan_splits, read_split

    rows = 0
    started = time.process_time()
    for split in plan_splits(str(log), 1 << 40):
        for name, batch in read_split(split, ReadOptions(tables=tables)):
            rows += batch.num_rows if name != "batches" else 0
    return time.process_time() - started, rows


def export_command(log: Path, jobs: int) -> Command:
    out = bench_directory() / "export"
    shutil.rmtree(out, ignore_errors=True)
    argv = (our_script("metashell"), "export", str(log), "--out", str(out), "--jobs", str(jobs), "--quiet")
    return Command(name=f"export by {jobs}", argv=argv)


def export_run(log: Path, jobs: int, runs: int = 3) -> Run:
    return best([run_once(export_command(log, jobs)) for _ in range(runs)])


def export_seconds(log: Path, jobs: int, runs: int = 3) -> float:
    return export_run(log, jobs, runs).wall_s


def exports() -> None:
    """One large file to Parquet, by one process and by two in turn; and by two exports at once that share nothing.

    The last says what the machine's cores have to give: what lies between is the cost of sharing the work.
    """
    log = log_of(LARGEST)
    run_once(export_command(log, 2))
    turns = [(run_once(export_command(log, 2)), run_once(export_command(log, 1)), two_at_once_s(log)) for _ in range(RUNS)]
    two, one = best([turn[0] for turn in turns]), best([turn[1] for turn in turns])
    rate, speed_up = LARGEST / two.wall_s, one.wall_s / two.wall_s
    limit = 2 * one.wall_s / min(turn[2] for turn in turns)
    print(
        f"export of {LARGEST} records      {two.wall_s:7.2f} s by two, {rate / 1e6:.2f} M records/s | "
        f"goal {EXPORT_GOAL_PER_S / 1e6} M {met(rate >= EXPORT_GOAL_PER_S)}"
    )
    judged = met(speed_up >= SPEED_UP_GOAL)
    print(f"one process                  {one.wall_s:7.2f} s, {speed_up:.2f} times | goal {SPEED_UP_GOAL} {judged}")
    print(f"two whole exports at once    {limit:7.2f} times the rate of one: what this machine's cores give")
    print(f"in CPU time                  {two.cpu_s:7.2f} s by two, {one.cpu_s:.2f} s by one")


def two_at_once_s(log: Path) -> float:
    """The wall time of two exports by one process each, side by side."""
    outs = [bench_directory() / f"export-{number}" for number in range(2)]
    for out in outs:
        shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    exports = [subprocess.Popen([our_script("metashell"), "export", str(log), "--out", str(out), "-j", "1", "-q"]) for out in outs]
    statuses = [export.wait() for export in exports]
    assert not any(statuses), "an export failed"
    taken_s = time.perf_counter() - start
    for out in outs:
        shutil.rmtree(out)
    return taken_s


def million() -> None:
    """A million records by two processes, from the command line to its end; and the size of what it wrote."""
    run_once(export_command(log_of(1_000_000), 2))
    runs = [run_once(export_command(log_of(1_000_000), 2)) for _ in range(RUNS)]
    found = best(runs)
    size = sum(path.stat().st_size for path in (bench_directory() / "export").rglob("*") if path.is_file())
    print(
        f"1 000 000 records, whole     {found.wall_s:7.2f} s, {found.cpu_s:.2f} s of CPU time, {size / 1e6:.1f} MB written | "
        f"goal {MILLION_GOAL_S} s {met(found.wall_s <= MILLION_GOAL_S)}"
    )


def small() -> None:
    """Many small files by two processes: the CPU time of each, dumps of many clusters and segments of one log."""
    for what, folder in ((f"{FILES} dumps", dumps(FILES)), (f"a log in {FILES} segments", segments(FILES))):
        count = sum(1 for _ in folder.rglob("*.log"))
        found = best([run_once(export_command(folder, 2)) for _ in range(3)])
        cost_ms = found.cpu_s / count * 1e3
        print(
            f"{what:<28} {cost_ms:7.2f} ms of CPU time each of {count} files, {found.wall_s:.2f} s | "
            f"goal {SMALL_GOAL_MS} ms {met(cost_ms <= SMALL_GOAL_MS)}"
        )


def memory() -> None:
    """The peak of the largest process at the largest size."""
    run_once(export_command(log_of(LARGEST), 2))
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak of a worker             {peak_mib:7.0f} MiB | goal {MEMORY_GOAL_MIB} MiB {met(peak_mib <= MEMORY_GOAL_MIB)}")


def growth() -> None:
    """Cost per record at three sizes, without the cost of an export of next to nothing."""
    start_s = export_seconds(log_of(10), 1, RUNS)
    sizes = [size for size in GROWTH if size <= LARGEST]
    costs = [(export_seconds(log_of(size), 1) - start_s) / size for size in sizes]
    for size, cost in zip(sizes, costs, strict=True):
        print(f"export of {size:>9} records  {cost * 1e6:7.3f} us a record, start-up of {start_s:.2f} s left out")
    factor = costs[-1] / costs[0]
    print(f"largest against smallest     {factor:7.2f} | goal {GROWTH_GOAL} {met(factor <= GROWTH_GOAL)}")


def kafka() -> None:
    """What people do today: Kafka's dump through a pipe into Python, read only, and written as Parquet."""
    for size in (1_000_000, LARGEST):
        log = log_of(size)
        theirs = kafka_argv("dump-log", "--cluster-metadata-decoder", "--files", str(log))
        if theirs is None:
            print(f"no Kafka {KAFKA_VERSION} here")
            return
        out = bench_directory() / "theirs"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        ours_s = export_seconds(log, 2)
        for what, script, goal in (("json.loads", READ_THEIRS, JSON_GOAL), ("Parquet by from_pylist", WRITE_THEIRS, PARQUET_GOAL)):
            pipe = f"set -o pipefail; {shlex.join(theirs)} | {shlex.join((sys.executable, '-c', script, str(out)))}"
            theirs_s = best([run_once(Command(name=what, argv=("bash", "-c", pipe)))]).wall_s
            factor = theirs_s / ours_s
            print(
                f"{size:>9} records: kafka-dump-log | {what:<22} {theirs_s:7.2f} s, export {ours_s:6.2f} s, "
                f"{factor:5.1f} times | goal {goal} {met(factor >= goal)}"
            )
