"""Spark: partition records of one large log by the export job, and through DataFrames: counted, and to Parquet by Spark's own writer.

Goals on two cores: 550 000 records a second by the export job, 800 000 rows a second from a DataFrame to Parquet, 1 500 000 counted; the
last hundredth of a large log by the option `where` for less than 3 % of its bytes. What bounds the figures is measured in the same run: our
rows read and dropped; and Spark copying its own Parquet file of these rows, which less the reading of that file is what its writer takes by
itself. Start-up of the session is measured apart, since it does not grow with the input.
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
from pathlib import Path
from typing import Any

from tools.bench.common import REPOSITORY, bench_directory, bytes_read, generated, log_of, met

RATE_GOAL = 550_000
PARQUET_GOAL = 800_000
COUNT_GOAL = 1_500_000
BYTES_GOAL = 0.03
RUNS = 3


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
            print(
                f"{what:<36} {cores} core(s) {path.stat().st_size / (1 << 20):6.0f} MiB: session {found['session_s']:.1f} s, "
                f"first job {found['first_s']:.1f} s, then {found['rows']:,} rows: exported in {found['best_s']:.2f} s, "
                f"{found['rate']:,.0f} records of the file a second; DataFrame to Parquet {found['parquet_rate']:,.0f} "
                f"(read and dropped {found['source_rate']:,.0f}; without us: from Parquet to Parquet {found['copy_rate']:,.0f}, "
                f"Spark's writer alone {found['writer_rate']:,.0f}), "
                f"counted {found['count_rate']:,.0f}, by one column {found['column_rate']:,.0f} rows a second",
                flush=True,
            )
        several = max(cores for kind, cores in rates if kind == what)
        if (what, 1) in rates:
            print(f"{what:<36} {several} cores against one: {rates[what, several]['rate'] / rates[what, 1]['rate']:.2f} times")
        print(f"{what:<36} {shares_of(path)}")
    best = rates["partition records", os.cpu_count() or 1]
    share = share_of_bytes(partitions, records - records // 100)
    print(f"the last hundredth of {partitions.stat().st_size / (1 << 20):.0f} MiB: {share:.2%} of its bytes are read")
    goals = (
        ("records exported a second", best["rate"], RATE_GOAL),
        ("rows to Parquet a second", best["parquet_rate"], PARQUET_GOAL),
        ("rows counted a second", best["count_rate"], COUNT_GOAL),
    )
    for name, found_rate, goal in goals:
        print(f"goal of {goal:,} {name}: {met(found_rate >= goal)} with {found_rate:,.0f}")
    print(
        f"DataFrame to Parquet is {best['parquet_rate'] / best['copy_rate']:.2f} of Spark copying its own file. Of rows that cost nothing "
        f"its writer takes {best['writer_rate']:,.0f} a second, {best['writer_rate'] / PARQUET_GOAL:.0%} of the goal"
    )
    print(f"goal of {BYTES_GOAL:.0%} of the bytes: {met(share < BYTES_GOAL)}")
    return 0 if share < BYTES_GOAL and all(found_rate >= goal for _, found_rate, goal in goals) else 1


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
    """Session, first job and best of several runs over one table, in this process."""
    from metashell.tables.lake.append import AppendOptions
    from spark_reports.export_job import export_tables
    from spark_reports.session import open_session

    started = time.perf_counter()
    spark = open_session("bench", master, {"spark.ui.enabled": "false", "spark.driver.memory": "1g"})
    session_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory(dir=bench_directory()) as folder:
        first_s = best(lambda _: load(spark, "topic", file).limit(1).collect(), 1)
        best_s = best(
            lambda number: export_tables(spark, AppendOptions(paths=(file,), out=f"{folder}/{number}", mode="error", tables=(table,))), RUNS
        )
        count_s = best(lambda _: load(spark, table, file).count(), RUNS)
        column_s = best(lambda _: load(spark, table, file, columns="offset").count(), RUNS)
        parquet_s = best(lambda number: load(spark, table, file).write.parquet(f"{folder}/by-jvm-{number}"), RUNS)
        written = spark.read.parquet(f"{folder}/by-jvm-0")
        copy_s = best(lambda number: written.write.parquet(f"{folder}/again-{number}"), RUNS)
        read_s = best(lambda _: drop(written), RUNS)
        source_s = best(lambda _: drop(load(spark, table, file)), RUNS)
        rows = load(spark, table, file, columns="offset").count()
        records = load(spark, "batches", file).selectExpr("sum(count)").collect()[0][0]
    spark.stop()
    return {
        "session_s": session_s,
        "first_s": first_s,
        "best_s": best_s,
        "rows": rows,
        "rate": records / best_s,
        "parquet_rate": rows / parquet_s,
        "copy_rate": rows / copy_s,
        "writer_rate": rows / max(copy_s - read_s, 1e-9),
        "source_rate": rows / source_s,
        "count_rate": rows / count_s,
        "column_rate": rows / column_s,
    }


def drop(frame: Any) -> None:
    """Have all rows made, and written nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def best(work: Callable[[int], Any], runs: int) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for number in range(runs):
        started = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - started)
    return min(times)


def load(spark: Any, table: str, file: str, **options: str) -> Any:
    return spark.read.format("kafka_metadata").option("table", table).options(**options).load(file)
