"""Spark: partition records of one large log to Parquet by the export job, after start-up, on one core and on all.

Goal: 550 000 records a second on two cores. Start-up of the session is measured apart, since it does not grow with the input.
`python -m tools.bench.spark` measures; `--inner` is the process that is measured, and prints one JSON line.
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
from pathlib import Path
from typing import Any

from tools.bench.common import REPOSITORY, bench_directory, generated, log_of, print_interpreter

RATE_GOAL = 550_000
RUNS = 3


def main() -> int:
    """Measure and print; the status tells whether the goal was met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--inner", nargs=3, metavar=("MASTER", "TABLE", "FILE"))
    arguments = parser.parse_args()
    if arguments.inner:
        print(json.dumps(measured(*arguments.inner)))
        return 0
    print_interpreter()
    records = arguments.records
    partitions = generated("log", records=records, partitions=records, batch_records=1000)
    mixed = log_of(records)
    rates = {}
    for what, path, table in (
        ("partition records", partitions, "partition"),
        ("the usual mix, partition changes", mixed, "partition_change"),
    ):
        for cores in (1, os.cpu_count() or 1):
            found = run(cores, table, path)
            rates[what, cores] = found["rate"]
            print(
                f"{what:<36} {cores} core(s) {path.stat().st_size / (1 << 20):6.0f} MiB: session {found['session_s']:.1f} s, "
                f"first job {found['first_s']:.1f} s, then {found['rows']:,} rows in {found['best_s']:.2f} s, "
                f"{found['rate']:,.0f} records of the file a second (by Spark's own writer, once: {found['jvm_rate']:,.0f})",
                flush=True,
            )
        several = max(cores for kind, cores in rates if kind == what)
        print(f"{what:<36} {several} cores against one: {rates[what, several] / rates[what, 1]:.2f} times")
    best = rates["partition records", os.cpu_count() or 1]
    print(f"goal of {RATE_GOAL:,} records a second: {'met' if best >= RATE_GOAL else 'MISSED'} with {best:,.0f}")
    return 0 if best >= RATE_GOAL else 1


def run(cores: int, table: str, path: Path) -> dict[str, Any]:
    """One measured process, bound to its cores; master and workers share them."""
    binding = ["taskset", "-c", "0"] if cores == 1 and shutil.which("taskset") else []
    words = [*binding, sys.executable, "-m", "tools.bench.spark", "--inner", f"local[{cores}]", table, str(path)]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}: {done.stderr[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measured(master: str, table: str, file: str) -> dict[str, Any]:
    """Session, first job and best of several exports of one table, in this process."""
    from spark_reports.export_job import export_tables
    from spark_reports.session import open_session

    started = time.perf_counter()
    spark = open_session("bench", master, {"spark.ui.enabled": "false", "spark.driver.memory": "1g"})
    session_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory(dir=bench_directory()) as folder:
        started = time.perf_counter()
        load(spark, "topic", file).limit(1).collect()
        first_s = time.perf_counter() - started
        times = []
        for number in range(RUNS):
            started = time.perf_counter()
            export_tables(spark, [file], f"{folder}/{number}", [table])
            times.append(time.perf_counter() - started)
        started = time.perf_counter()
        load(spark, table, file).write.option("compression", "zstd").parquet(f"{folder}/by-jvm")
        jvm_s = time.perf_counter() - started
        rows = spark.read.parquet(f"{folder}/0/table={table}").count()
        records = load(spark, "batches", file).selectExpr("sum(count)").collect()[0][0]
    spark.stop()
    best_s = min(times)
    return {
        "session_s": session_s,
        "first_s": first_s,
        "best_s": best_s,
        "rows": rows,
        "rate": records / best_s,
        "jvm_rate": records / jvm_s,
    }


def load(spark: Any, table: str, file: str) -> Any:
    return spark.read.format("kafka_metadata").option("table", table).load(file)


if __name__ == "__main__":
    sys.exit(main())
