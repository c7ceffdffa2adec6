"""A checkpoint: header and footer, batches that count from 0 in one epoch, and records like those of the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.codec.control import SNAPSHOT_HEADER, read_control_record
from metashell.errors import DecodeError
from metashell.log.files import OpenFile
from metashell.log.names import parse_name
from metashell.log.segment import BatchFault, read_batches
from metashell.log.snapshot import checked_snapshot
from metashell.log.source_fault import SourceFault
from metashell.verify.finding import Report
from metashell.verify.options import VerifyOptions
from metashell.verify.records import RecordCheck


class CheckpointFacts(NamedTuple):
    """What a checkpoint says of the log: where in it it ends, and the timestamp there, None without a header."""

    file: str
    end_offset: int
    epoch: int
    timestamp_ms: int | None
    is_whole: bool


def check_checkpoint(file: OpenFile, name: str, report: Report, options: VerifyOptions) -> CheckpointFacts:
    """Check an opened checkpoint, or bootstrap checkpoint, whose name is `name`."""
    return check_checkpoint_batches(read_batches(file), file.name, name, report, options)


def check_checkpoint_batches(
    items: Iterator[RecordBatch | BatchFault], label: str, name: str, report: Report, options: VerifyOptions
) -> CheckpointFacts:
    """The same for what is read of one."""
    records = RecordCheck(report, "checkpoint", deep=options.deep, max_decompressed=options.max_decompressed)
    parsed = parse_name(os.path.basename(name))
    snapshot_id = None if parsed is None else parsed.snapshot_id
    faults: list[SourceFault] = []
    timestamp_ms: int | None = None
    epoch: int | None = None
    told_errors = report.by_severity["error"]
    for batch in checked_snapshot(items, label, faults):
        report.counts["batches"] += 1
        report.counts["records"] += records.check(batch)
        if epoch is None:
            epoch = batch.header.leader_epoch
            timestamp_ms = _header_timestamp(batch)
            if snapshot_id is not None and epoch != snapshot_id.epoch:
                what = f"leader epoch {epoch} is not that of the file's name, {snapshot_id.epoch}"
                report.error(label, what, position=batch.position, offset=batch.header.base_offset)
        elif batch.header.leader_epoch != epoch:
            what = f"leader epoch {batch.header.leader_epoch} is not that of the first batch, {epoch}"
            report.error(label, what, position=batch.position, offset=batch.header.base_offset)
    for fault in faults:
        report.error(fault.file, fault.reason, position=fault.position, offset=fault.offset)
    is_whole = report.by_severity["error"] == told_errors
    if snapshot_id is None:
        return CheckpointFacts(label, 0, 0, timestamp_ms, is_whole)
    return CheckpointFacts(label, snapshot_id.offset, snapshot_id.epoch, timestamp_ms, is_whole)


def _header_timestamp(batch: RecordBatch) -> int | None:
    if not batch.header.is_control:
        return None
    with suppress(DecodeError, StopIteration):
        record = next(batch.records())
        control = read_control_record(record.key, record.value)
        if control.type == SNAPSHOT_HEADER:
            return int(control.body.last_contained_log_timestamp)
    return None
