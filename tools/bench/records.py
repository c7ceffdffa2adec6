"""Partition records on one core, CRC included: as objects, and as JSON lines.

The log has three replicas and three directories a partition, a thousand records a batch. Goals: 1.6 us a record for
objects, 3.0 us for JSON lines. Reading the file is part of it; start-up is not.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools.bench.common import generated, print_interpreter

RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "300000"))
RUNS = 5


def main() -> int:
    """Measure and print both."""
    print_interpreter()
    log = generated("log", records=RECORDS, partitions=RECORDS, batch_records=1000)
    for what, work, goal_us in (("objects", read_objects, 1.6), ("JSON lines", write_json_lines, 3.0)):
        best_s, count = min(timed(work, log) for _ in range(RUNS))
        per_record_us = best_s / count * 1e6
        verdict = "met" if per_record_us <= goal_us else "MISSED"
        print(f"{what:<12} {count} records {best_s:.3f} s cpu {per_record_us:6.2f} us a record | goal {goal_us} us {verdict}")
    return 0


def timed(work: Callable[[Path], int], log: Path) -> tuple[float, int]:
    """CPU seconds of one pass, and the records in it; the collector is off, as in every bulk load."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        count = work(log)
        return time.process_time() - started, count
    finally:
        gc.enable()


def read_objects(log: Path) -> int:
    """Decode every record of the log to an object, batch by batch."""
    from metashell.codec.frame import read_metadata_record

    count = 0
    for batch in batches_of(log):
        kept = []
        buffer, start, end = batch.records_area()
        for row in batch.walk(buffer, start, end):
            kept.append(read_metadata_record(buffer, row.value_start, row.value_end))
        count += len(kept)
    return count


if __name__ == "__main__":
    sys.exit(main())
