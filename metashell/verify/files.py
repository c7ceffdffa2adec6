"""One file that was named: a log or checkpoint by itself, an index against the log beside it, or a small file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import chain

from metashell.codec.batches import RecordBatch
from metashell.log.files import STREAM_NAMES, OpenFile, open_file
from metashell.log.meta_properties import META_PROPERTIES
from metashell.log.names import LEADER_EPOCH_CHECKPOINT, METADATA_DIRECTORY, PARTITION_METADATA, QUORUM_STATE, classify, parse_name
from metashell.log.segment import BatchFault, read_batches
from metashell.log.tail import empty_tail, may_lack_batches
from metashell.progress import tell
from metashell.verify.checkpoint import check_checkpoint_batches
from metashell.verify.epochs import check_epoch_cache
from metashell.verify.finding import Report
from metashell.verify.indexes import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from metashell.verify.options import VerifyOptions
from metashell.verify.partition import INDEX_SUFFIXES, PRODUCER_SUFFIX, kind_of_path
from metashell.verify.records import RecordCheck, UncheckedRecords
from metashell.verify.small_files import (
    OFFSET_CHECKPOINTS,
    check_meta_properties,
    check_partition_offsets,
    check_producer_snapshot,
    check_quorum_state,
    check_topic_id,
)
from metashell.verify.walk import LogState, LogWalk, SegmentIndexes, kind_of_items

SmallCheck = Callable[[str, Report], object]


def check_file(path: str, report: Report, options: VerifyOptions) -> None:
    """Check a file by what its name says it is, else by what it begins with. Errors: UsageError, OSError."""
    tell(f"verifying {path}")
    name = os.path.basename(path)
    small = _SMALL_FILES.get(name)
    if small is not None:
        small(path, report)
    elif name.endswith(PRODUCER_SUFFIX):
        check_producer_snapshot(path, report)
    elif name.endswith(INDEX_SUFFIXES):
        _check_index(path, report)
    else:
        _check_batches(path, report, options)
    report.end_file(path)


def _check_batches(path: str, report: Report, options: VerifyOptions) -> None:
    report.counts["files"] += 1
    with open_file(path) as file:
        items = read_batches(file)
        first = next(items, None)
        if first is None:
            is_usual = path not in STREAM_NAMES and may_lack_batches(kind_of_path(os.path.dirname(os.path.abspath(path))))
            if file.trouble or not is_usual:
                report.error(file.name, file.trouble or empty_tail(file.name).reason, position=0)
            return
        batch = first.batch if isinstance(first, BatchFault) else first
        name = "" if path in STREAM_NAMES else os.path.basename(path)
        again: Iterator[RecordBatch | BatchFault] = chain((first,), items)
        if classify(name, batch) != "segment":
            check_checkpoint_batches(again, file.name, name, report, options)
            return
        kind = kind_of_path(os.path.dirname(os.path.abspath(path)))
        if kind is None or kind == "data":
            kind, again = kind_of_items(again)
        records = RecordCheck(report, kind, deep=options.deep, max_decompressed=options.max_decompressed)
        parsed = parse_name(name)
        LogWalk(report, records, LogState(expected_offset=None if parsed is None else parsed.base_offset)).walk(again)


def _check_index(path: str, report: Report) -> None:
    """Check an index; without the log that it is of, only by itself."""
    report.counts["files"] += 1
    stem, suffix = os.path.splitext(path)
    name = os.path.basename(stem)
    base = int(name) if name.isascii() and name.isdigit() else 0
    log = f"{stem}.log"
    with open_file(path) as file:
        if not os.path.exists(log):
            report.warn(path, f"there is no {os.path.basename(log)} to compare it with")
            _indexes(suffix, report, file, base, is_metadata=False).drain()
            return
        with open_file(log) as segment:
            kind, items = kind_of_items(read_batches(segment))
            indexes = _indexes(suffix, report, file, base, is_metadata=kind == "metadata")
            quiet = Report(lambda finding: None)
            LogWalk(quiet, UncheckedRecords(quiet, kind), LogState(expected_offset=base)).walk(items, indexes)
    if quiet.by_severity["error"]:
        report.warn(path, f"{os.path.basename(log)}, which it is held against, has faults of its own")


def _indexes(suffix: str, report: Report, file: OpenFile, base_offset: int, *, is_metadata: bool) -> SegmentIndexes:
    if suffix == ".index":
        return SegmentIndexes(offset=OffsetIndexCheck(report, file, base_offset, is_active=False))
    if suffix == ".timeindex":
        return SegmentIndexes(time=TimeIndexCheck(report, file, base_offset, is_active=False, names_last=is_metadata))
    return SegmentIndexes(transaction=TransactionIndexCheck(report, file))


def _check_epochs(path: str, report: Report) -> None:
    check_epoch_cache(path, LogState(), report)


def _check_topic_id(path: str, report: Report) -> None:
    directory = os.path.basename(os.path.dirname(os.path.abspath(path)))
    check_topic_id(path, report, is_metadata=directory == METADATA_DIRECTORY)


_SMALL_FILES: dict[str, SmallCheck] = {
    META_PROPERTIES: check_meta_properties,
    QUORUM_STATE: check_quorum_state,
    PARTITION_METADATA: _check_topic_id,
    LEADER_EPOCH_CHECKPOINT: _check_epochs,
    **dict.fromkeys(OFFSET_CHECKPOINTS, check_partition_offsets),
}
