"""Spark: partition records of one large log by the export job, and through DataFrames: counted, and to Parquet by Spark's own writer.

Goals on two cores: 1 500 000 rows a second from files to Parquet by the export job, 2 500 000 counted by one column; the last hundredth of
a large log by the option `where` for less than 3 % of its bytes. `write.parquet` of a DataFrame has no goal: what bounds it is Spark's own
writer, which is measured beside it, with Spark copying its own Parquet file of these rows. Each figure has the CPU of Spark and its
workers too: a rate is "by CPU" what so many cores would do if nothing else ran on them. Start-up of the session is measured apart.
`python -m tools.bench spark` measures; `--inner` is the process that is measured, and prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.bench.common import REPOSITORY, bench_directory, bytes_read, generated, log_of, met

RATE_GOAL = 1_500_000
COUNT_GOAL = 2_500_000
BYTES_GOAL = 0.03
RUNS = 4


def main(words: list[str]) -> int:
    """Measure and print; the status tells whether the goals were met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--quick", action="store_true", help="only partition records, on all cores: what the goals are about")
    parser.add_argument("--inner", nargs=3, metavar=("MASTER", "TABLE", "FILE"))
    arguments = parser.parse_args(words)
    if arguments.inner:
        print(json.dumps(measured(*arguments.inner)))
        return 0
    records = arguments.records
    partitions = generated("log", records=records, partitions=records, batch_records=1000)
    cases = [("partition records", partitions, "partition")]
    if not arguments.quick:
        cases.append(("the usual mix, partition changes", log_of(records), "partition_change"))
    rates: dict[tuple[str, int], dict[str, Any]] = {}
    for what, path, table in cases:
        for cores in (os.cpu_count() or 1,) if arguments.quick else (1, os.cpu_count() or 1):
            found = rates[what, cores] = run(cores, table, path)
            shown = [rate_line(name, cores, found["rows"], *each) for name, each in found["s"].items()]
            print(
                f"{what:<36} {cores} core(s) {path.stat().st_size / (1 << 20):6.0f} MiB: session {found['session_s']:.1f} s, first job "
                f"{found['first_s']:.1f} s, then {found['rows']:,} rows; a second: {', '.join(shown)}",
                flush=True,
            )
        several = max(cores for kind, cores in rates if kind == what)
        if (what, 1) in rates:
            one, more = (rates[what, cores]["s"]["exported"][0] for cores in (1, several))
            print(f"{what:<36} {several} cores against one: {one / more:.2f} times")
        print(f"{what:<36} {shares_of(path)}")
    best = rates["partition records", os.cpu_count() or 1]
    share = share_of_bytes(partitions, records - records // 100)
    print(f"the last hundredth of {partitions.stat().st_size / (1 << 20):.0f} MiB: {share:.2%} of its bytes are read")
    cores = os.cpu_count() or 1
    is_met = share < BYTES_GOAL
    for name, goal in (("exported", RATE_GOAL), ("counted by one column", COUNT_GOAL)):
        wall, cpu = best["s"][name]
        is_met &= cores * best["rows"] / cpu >= goal
        print(
            f"goal of {goal:,} {name} a second: {met(best['rows'] / wall >= goal)} with {best['rows'] / wall:,.0f}, by CPU "
            f"{met(cores * best['rows'] / cpu >= goal)} with {cores * best['rows'] / cpu:,.0f}"
        )
    print(f"goal of {BYTES_GOAL:.0%} of the bytes: {met(share < BYTES_GOAL)}")
    return 0 if is_met else 1


def rate_line(name: str, cores: int, rows: int, wall: float, cpu: float) -> str:
    """A rate on the clock, and what so many cores would do if nothing else ran on them."""
    return f"{name} {rows / wall:,.0f} (by CPU {cores * rows / cpu:,.0f})"


def shares_of(path: Path) -> str:
    """How a load is shared out."""
    from spark_reports.source import balanced_splits

    sizes = sorted(split.bytes / (1 << 20) for split in balanced_splits([str(path)], 0, None))
    return f"{len(sizes)} tasks of {sizes[0]:.1f} to {sizes[-1]:.1f} MiB"


def share_of_bytes(path: Path, first_offset: int) -> float:
    """How much of a log a load with `where` reads to find what lies from an offset on, counted by the system."""
    from spark_reports.source import KafkaMetadataSource

    # Imports and the file's own places are read before.
    source = KafkaMetadataSource({"path": str(path), "table": "batches", "where": f"offset >= {first_offset}"})
    for _ in range(2):
        before = bytes_read()
        reader: Any = source.reader(source.schema())
        rows = sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part))
        assert rows, "there are batches"
    return (bytes_read() - before) / path.stat().st_size


def run(cores: int, table: str, path: Path) -> dict[str, Any]:
    """One measured process, bound to its cores; master and workers share them."""
    binding = ["taskset", "-c", "0"] if cores == 1 and shutil.which("taskset") else []
    words = [*binding, sys.executable, "-m", "tools.bench", "--here", "spark", "--inner", f"local[{cores}]", table, str(path)]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measured(master: str, table: str, file: str) -> dict[str, Any]:
    """Session, first job and best of several runs over one table, in this process: seconds on the clock and of CPU."""
    from metashell.tables.export.plan import ExportOptions
    from spark_reports.plain_export import export_plain
    from spark_reports.session import open_session

    started = time.perf_counter()
    spark = open_session("bench", master, {"spark.ui.enabled": "false", "spark.driver.memory": "1g"})
    session_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory(dir=bench_directory()) as folder:

        def exported(number: int) -> None:
            options = ExportOptions(paths=(file,), out=f"{folder}/{number}", tables=(table,))
            export_plain(spark, options, overwrites=False)

        first_s, _ = best(lambda _: load(spark, "topic", file).limit(1).collect(), 1)
        found = {
            "exported": best(exported, RUNS),
            "counted by one column": best(lambda _: load(spark, table, file, columns="offset").count(), 2 * RUNS),
            "counted by all": best(lambda _: load(spark, table, file).count(), 2),
            "read and dropped": best(lambda _: drop(load(spark, table, file)), 2),
            "to Parquet by Spark": best(lambda number: load(spark, table, file).write.parquet(f"{folder}/by-jvm-{number}"), 2),
        }
        written = spark.read.parquet(f"{folder}/by-jvm-0")
        found["from Parquet to Parquet by Spark"] = best(lambda number: written.write.parquet(f"{folder}/again-{number}"), 2)
        rows = written.count()
    spark.stop()
    return {"session_s": session_s, "first_s": first_s, "rows": rows, "s": found}


def drop(frame: Any) -> None:
    """Have all rows made, and written nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def best(work: Callable[[int], Any], runs: int) -> tuple[float, float]:
    """The shortest of several runs, in seconds on the clock, and the least of CPU."""
    times = []
    for number in range(runs):
        started, cpu = time.perf_counter(), cpu_s()
        work(number)
        times.append((time.perf_counter() - started, cpu_s() - cpu))
    return min(wall for wall, _ in times), min(cpu for _, cpu in times)


def cpu_s() -> float:
    """The CPU seconds of this process, its JVM and the workers, also of those that have ended."""
    from spark_reports.session import processes_below

    ticks = 0
    for process_id in (os.getpid(), *processes_below()):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def load(spark: Any, table: str, file: str, **options: str) -> Any:
    return spark.read.format("kafka_metadata").option("table", table).options(**options).load(file)
