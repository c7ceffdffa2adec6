"""Partition records on one core, CRC included: as objects, and as JSON lines.

The log has three replicas and three directories a partition, a thousand records a batch. Goals: 1.6 us a record for
objects, 3.0 us for JSON lines. Reading the file is part of it; start-up is not.
"""

from __future__ import annotations

import gc
import io
import os
import time
from collections.abc import Callable
from pathlib import Path

from metashell.codec.batches import RecordBatch
from metashell.codec.metadata_records import metadata_message, usual_headers
from metashell.disk.files import open_file
from metashell.disk.segment import read_batches
from metashell.inspect.dump import DumpOptions, run_dump
from tools.bench.common import generated, met

Reader = Callable[[bytes, int, int], object]

RECORDS = int(os.environ.get("METASHELL_BENCH_RECORDS", "300000"))
RUNS = 5


def main() -> int:
    """Measure and print both."""
    log = generated("log", records=RECORDS, partitions=RECORDS, batch_records=1000)
    for what, work, goal_us in (("objects", read_objects, 1.6), ("JSON lines", write_json_lines, 3.0)):
        best_s, count = min(timed(work, log) for _ in range(RUNS))
        per_record_us = best_s / count * 1e6
        verdict = met(per_record_us <= goal_us)
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
    """Decode every record of the log to an object, and keep those of one batch at a time."""
    readers: dict[bytes, Reader] = {}
    count = 0
    with open_file(str(log)) as file:
        for batch in read_batches(file):
            assert isinstance(batch, RecordBatch)
            if not batch.header.is_control:
                count += len(objects_of(batch, readers))
    return count


def objects_of(batch: RecordBatch, readers: dict[bytes, Reader]) -> list[object]:
    """The objects of a batch whose records are all of the usual form: null key, no headers, sizes below 8192."""
    buffer, at, _ = batch.records_area()
    kept: list[object] = []
    headers, sizes, _ = usual_headers(0, batch.header.count)
    for header, header_size in zip(headers[: batch.header.count], sizes, strict=False):
        size = buffer[at]
        at += 1
        if size > 127:
            size = size & 127 | buffer[at] << 7
            at += 1
        assert buffer.startswith(header, at)
        start = at + header_size
        start += 2 if buffer[start] > 127 else 1
        at += size >> 1
        kind = buffer[start : start + 3]
        read = readers.get(kind) or readers.setdefault(kind, reader_of(kind))
        kept.append(read(buffer, start + 3, at - 1))
    return kept


def reader_of(kind: bytes) -> Reader:
    """What reads the body of records with these first bytes: frame version 1, a type and a version below 128."""
    frame_version, type_id, version = kind
    message = metadata_message(type_id)
    assert frame_version == 1
    assert message is not None
    return message.reader(version)


def write_json_lines(log: Path) -> int:
    """Dump the log as JSON lines to the null device, in one process."""
    options = DumpOptions(files=(str(log),), cluster_metadata_decoder=True, jobs=1)
    with open(os.devnull, "wb") as sink:
        status = run_dump(options, sink.fileno(), io.StringIO())
    assert status == 0
    return RECORDS
