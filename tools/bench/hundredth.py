"""The last hundredth of a log of 1 GB: how much of its bytes the readers here, `metashell sql` and Spark's source read to find it.

Goal: below 3 % by offset. What a condition on the time costs is said too: for that the headers of all batches are looked at.
METASHELL_BENCH_RECORDS (20000000) is the size of the log. Bytes are those that the system counts for this process, which reads as the
tasks of Spark do; each is done once before it is counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.bench.common import bytes_read, generated, met

RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "20000000"))
GOAL = 0.03


def main() -> int:
    """Measure and print; the status tells whether the goal was met."""
    path = generated("log", records=RECORDS, partitions=max(RECORDS // 20, 10))
    size = path.stat().st_size
    end, begins_at_ms = _end_of(path)
    first = end - end // 100
    conditions = {"by offset": f'"offset" >= {first}', "by time": f"timestamp >= time_of({begins_at_ms})"}
    print(f"{path}: {size / 1e9:.2f} GB, offsets up to {end - 1:,}")
    shares = []
    for what, work in (
        ("readers, by offset", lambda: _by_reader(path, first)),
        *((f"sql, {name}", lambda condition=condition: _by_sql(path, condition)) for name, condition in conditions.items()),
        ("Spark's source, by offset", lambda: _by_spark(path, f"offset >= {first}")),
    ):
        rows, share, seconds = _measured(work, size)
        print(f"{what:<28} {rows:>10,} records in {seconds:6.2f} s of CPU, {share:7.2%} of the bytes")
        if "offset" in what:
            shares.append(share)
            assert rows == end - first, "the records are those that there are"
    print(f"goal of {GOAL:.0%} by offset: {met(max(shares) < GOAL)}")
    return 0 if max(shares) < GOAL else 1


def _end_of(path: Path) -> tuple[int, int]:
    """The offset after the last one, and the time of the record at which the last hundredth begins."""
    from metashell.tables.sql.query import query

    ((end,),) = query('select max(last_offset) + 1 from batches where "offset" > 0', [str(path)]).rows
    ((ms,),) = query(f'select epoch_ms(min(timestamp)) from records where "offset" = {end - end // 100}', [str(path)]).rows
    return end, ms


def _measured(work: Callable[[], int], size: int) -> tuple[int, float, float]:
    work()
    before, cpu = bytes_read(), time.process_time()
    rows = work()
    return rows, (bytes_read() - before) / size, time.process_time() - cpu


def _by_reader(path: Path, first: int) -> int:
    from metashell.tables import ReadOptions, plan_splits, read_split
    from metashell.tables.read_options import Bounds, Range

    only = Bounds(offset=Range(first, None))
    options = ReadOptions(tables=["records"], payloads=False, only=only)
    return sum(batch.num_rows for split in plan_splits(str(path), only=only) for _, batch in read_split(split, options))


def _by_sql(path: Path, condition: str) -> int:
    from metashell.tables.sql.query import query

    ((count,),) = query(f"select count(*) from records where {condition}", [str(path)]).rows
    return int(count)


def _by_spark(path: Path, condition: str) -> int:
    from spark_reports.source import KafkaMetadataSource

    source = KafkaMetadataSource({"path": str(path), "table": "records", "columns": "offset", "where": condition})
    reader: Any = source.reader(source.schema())
    return sum(batch.num_rows for part in reader.partitions() for batch in reader.read(part))
