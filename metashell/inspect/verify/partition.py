"""Checks the directory of one partition: segments in order, with their indexes, then checkpoints and small files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

from metashell.common.terminal import update_progress
from metashell.disk import directory as identity
from metashell.disk.directory import Listing, MetadataDirectory, SegmentEntry
from metashell.disk.files import OpenFile
from metashell.disk.names import (
    BOOTSTRAP_SNAPSHOT,
    DAMAGED_SUFFIX,
    DATA,
    LEADER_EPOCH_CHECKPOINT,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    REMOTE_LOG,
    TOPICS,
    LogKind,
    parse_name,
)
from metashell.disk.segment import missing_offsets, read_batches
from metashell.inspect.verify import Report, VerifyOptions
from metashell.inspect.verify.batches import RecordCheck
from metashell.inspect.verify.indexes import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from metashell.inspect.verify.small_files import (
    PRODUCER_SUFFIX,
    check_epoch_cache,
    check_producer_snapshot,
    check_promises,
    check_topic_id,
    read_promises,
)
from metashell.inspect.verify.walk import CheckpointFacts, LogState, LogWalk, SegmentIndexes, check_checkpoint, kind_of_items

INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
_STEM = re.compile(r"[0-9]{20}", re.ASCII)
_NEEDED = (
    (LEADER_EPOCH_CHECKPOINT, "a server makes it anew of the log when it starts"),
    (PARTITION_METADATA, "a server makes it anew when it starts"),
)
_LEFT_OVER = re.compile(r".*\.(?:deleted|swap|cleaned|part|tmp)", re.DOTALL)


class PartitionFacts(NamedTuple):
    """The facts of a partition that are compared with other directories. Offsets are -1 where there is no log.

    For a metadata log, `checkpoints` are the names of the whole ones, and `certain_to` is where the newest ends, 0 without one: everything
    before it is committed.
    """

    topic: str
    partition: int
    topic_id: bytes | None
    start_offset: int
    end_offset: int
    is_certain: bool
    is_metadata: bool = False
    certain_to: int = 0
    checkpoints: tuple[str, ...] = ()


def partition_name(directory: str) -> tuple[str, int] | None:
    """As `identity.partition_name`, for a path."""
    return identity.partition_name(os.path.basename(os.path.abspath(directory)))


def kind_of_path(directory: str) -> LogKind | None:
    """The kind of log that a directory's name says, None if it is no partition's. The log of remote storage is checked as data."""
    name = partition_name(directory)
    if name is None:
        return None
    kind = TOPICS.get(name[0], DATA)
    return DATA if kind == REMOTE_LOG else kind


def check_partition(path: str, report: Report, options: VerifyOptions, *, is_of_log_directory: bool = False) -> PartitionFacts:
    """Check a partition's directory. In a log directory it must also have every file that a server leaves there.

    Errors: OSError where it cannot be listed.
    """
    return _PartitionCheck(path, report, options, is_of_log_directory).check()


class _PartitionCheck:
    def __init__(self, path: str, report: Report, options: VerifyOptions, is_of_log_directory: bool) -> None:
        self.path = path
        self.is_of_log_directory = is_of_log_directory
        self.report = report
        self.options = options
        self.directory = MetadataDirectory(path)
        self.names: set[str] = set()
        self.kind: LogKind | None = kind_of_path(path)
        self.state = LogState()
        self.checkpoints: list[CheckpointFacts] = []

    def check(self) -> PartitionFacts:
        self.report.counts["directories"] += 1
        with self.directory:
            listing = self.directory.list()
            self.names = set(os.listdir(self.path))
            if self.kind == "data":
                self.kind = self._kind_of_data()
            # Read before the log: a running node writes the log first, so the log will hold what these files say.
            promises = read_promises(self.path, self.names, is_metadata=self.kind == "metadata")
            self._check_checkpoints(listing)
            self._check_segments(listing)
            self._check_presence(listing)
            self._check_ends()
            check_promises(promises, self.state, self._end_offset(), self.report)
            self._check_small_files(listing)
        topic, partition = partition_name(self.path) or ("", -1)
        start = self.state.first_offset
        whole = [facts for facts in self.checkpoints if facts.is_whole]
        return PartitionFacts(
            topic,
            partition,
            self._topic_id(topic),
            -1 if start is None else start,
            self._end_offset(),
            self.state.is_certain,
            self.kind == "metadata",
            max((facts.end_offset for facts in whole), default=0),
            tuple(os.path.basename(facts.file) for facts in whole),
        )

    def _check_presence(self, listing: Listing) -> None:
        """Check that there is a segment, and for the metadata log the small files that a server needs."""
        label = self.path
        if not listing.segments:
            if [entry.name for entry in listing.checkpoints] == [BOOTSTRAP_SNAPSHOT]:
                self.report.note(label, "is as formatting left it: no server has started on it")
            elif listing.checkpoints:
                what = "there is a checkpoint but no segment: a server begins a new log at its end"
                self.report.warn(label, what)
            else:
                self.report.error(label, "holds neither a segment nor a checkpoint: there is nothing to verify")
        if not (self.is_of_log_directory and self.kind == "metadata" and listing.segments):
            return
        for name, meaning in _NEEDED:
            if name not in self.names:
                self.report.warn(os.path.join(label, name), f"is not there: {meaning}")

    def _kind_of_data(self) -> LogKind | None:
        """The kind of a log by its content: a directory named like a topic's, such as `backup-1`, may be a copy of the metadata log."""
        if QUORUM_STATE in self.names:
            return "metadata"
        return "data" if PARTITION_METADATA in self.names else None

    def _end_offset(self) -> int:
        """The end of the log; that of the newest checkpoint where there are no segments."""
        newest = max((facts.end_offset for facts in self.checkpoints if facts.is_whole), default=-1)
        return self.state.end_offset if self.state.end_offset >= 0 else newest

    # ---- checkpoints

    def _check_checkpoints(self, listing: Listing) -> None:
        for entry in reversed(listing.checkpoints):
            with self._opened(entry.name) as stack:
                file = stack.file
                if file is not None:
                    facts = check_checkpoint(file, entry.name, self.report, self.options)
                    self.checkpoints.append(facts)
                    if facts.end_offset > 0:
                        self.state.watched.append(facts.end_offset - 1)
        self.state.watched = sorted(set(self.state.watched), reverse=True)

    # ---- segments

    def _check_segments(self, listing: Listing) -> None:
        walk: LogWalk | None = None
        for number, entry in enumerate(listing.segments):
            is_active = number == len(listing.segments) - 1
            with self._opened(entry.name) as stack:
                if stack.file is None:
                    self.state.expected_offset = self.state.epoch = None
                    continue
                items = iter(read_batches(stack.file))
                if self.kind is None:
                    self.kind, items = kind_of_items(items)
                if walk is None:
                    walk = LogWalk(self.report, self._records(self.kind), self.state)
                self._begin_segment(entry, stack.file)
                walk.walk(items, self._indexes(entry, stack, is_active), active=stack.file if is_active else None)
                if not is_active and listing.segments[number + 1].base_offset < self.state.end_offset:
                    what = f"goes on to offset {self.state.end_offset - 1}, past where {listing.segments[number + 1].name} begins"
                    self.report.error(stack.file.name, what, offset=self.state.end_offset - 1)
                    self.state.expected_offset = None

    def _records(self, kind: LogKind) -> RecordCheck:
        options = self.options
        return RecordCheck(self.report, kind, deep=options.deep, max_decompressed=options.max_decompressed)

    def _begin_segment(self, entry: SegmentEntry, file: OpenFile) -> None:
        """Compare a segment's name with the end of the log so far and with its own first batch."""
        state = self.state
        state.earlier_end = entry.base_offset if state.expected_offset is None else state.expected_offset
        if state.expected_offset is None:
            state.expected_offset = entry.base_offset
        elif self.kind == "metadata" and entry.base_offset > state.expected_offset:
            missing = f"{missing_offsets(state.expected_offset, entry.base_offset)} before this segment"
            self.report.error(file.name, missing, offset=state.expected_offset)
            state.expected_offset = entry.base_offset
        else:
            state.expected_offset = max(state.expected_offset, entry.base_offset)
        state.segment_start = state.expected_offset

    def _indexes(self, entry: SegmentEntry, stack: _Files, is_active: bool) -> SegmentIndexes:
        stem = f"{entry.base_offset:020d}"
        indexes = SegmentIndexes()
        if f"{stem}.index" in self.names and (file := stack.also(f"{stem}.index")) is not None:
            indexes.offset = OffsetIndexCheck(self.report, file, entry.base_offset, is_active=is_active)
        if f"{stem}.timeindex" in self.names and (file := stack.also(f"{stem}.timeindex")) is not None:
            names_last = self.kind == "metadata"
            indexes.time = TimeIndexCheck(self.report, file, entry.base_offset, is_active=is_active, names_last=names_last)
        if f"{stem}.txnindex" in self.names and (file := stack.also(f"{stem}.txnindex")) is not None:
            indexes.transaction = TransactionIndexCheck(self.report, file)
        return indexes

    # ---- checkpoints and the log

    def _check_ends(self) -> None:
        """Compare epoch and timestamp at the end of each checkpoint with those of the log at that offset."""
        if self.kind != "metadata" and not self.checkpoints:
            return
        for facts in self.checkpoints:
            seen = self.state.seen.get(facts.end_offset - 1)
            if seen is not None:
                self._compare(facts, *seen)
            elif self.state.is_certain and facts.end_offset > self.state.end_offset >= 0:
                what = f"ends after the log, whose end is offset {self.state.end_offset}: a server drops the log when it starts"
                self.report.warn(facts.file, what, offset=facts.end_offset)

    def _compare(self, facts: CheckpointFacts, epoch: int, timestamp: int) -> None:
        last = facts.end_offset - 1
        if facts.epoch != epoch:
            self.report.error(facts.file, f"epoch {facts.epoch} is not that of offset {last} in the log, {epoch}", offset=last)
        if facts.timestamp_ms is not None and facts.timestamp_ms != timestamp:
            what = f"last contained timestamp {facts.timestamp_ms} is not that of offset {last} in the log, {timestamp}"
            self.report.error(facts.file, what, offset=last)

    # ---- small files

    def _check_small_files(self, listing: Listing) -> None:
        bases = {f"{entry.base_offset:020d}" for entry in listing.segments}
        for name in sorted(self.names):
            path = os.path.join(self.path, name)
            stem, suffix = os.path.splitext(name)
            if suffix in INDEX_SUFFIXES and stem not in bases and _STEM.fullmatch(stem):
                self.report.warn(path, "index of a segment that is not there")
            elif DAMAGED_SUFFIX in name:
                self.report.warn(path, "damaged file that was set aside; the log does not use it; not checked")
            elif suffix == PRODUCER_SUFFIX and _STEM.fullmatch(stem):
                # A running node removes old ones.
                if os.path.exists(path):
                    check_producer_snapshot(path, self.report)
            elif suffix in (*INDEX_SUFFIXES, PRODUCER_SUFFIX, ".log", ".checkpoint") and stem not in bases and parse_name(name) is None:
                self.report.warn(path, "does not have the name of a log file; not checked")
            elif _LEFT_OVER.fullmatch(name) and parse_name(name.removesuffix(".deleted")) is not None:
                self.report.note(path, "was being written or removed")
        self.report.counts["files"] += QUORUM_STATE in self.names and self.kind == "metadata"  # read by the checks of disks
        if LEADER_EPOCH_CHECKPOINT in self.names:
            check_epoch_cache(os.path.join(self.path, LEADER_EPOCH_CHECKPOINT), self.state, self.report)

    def _topic_id(self, topic: str) -> bytes | None:
        if PARTITION_METADATA not in self.names:
            return None
        path = os.path.join(self.path, PARTITION_METADATA)
        return check_topic_id(path, self.report, is_metadata=os.path.basename(os.path.abspath(self.path)) == METADATA_DIRECTORY)

    # ---- files

    def _opened(self, name: str) -> _Files:
        return _Files(self, name)

    def open(self, name: str) -> OpenFile | None:
        """Open a listed file; None if a running node has removed it meanwhile."""
        self.report.counts["files"] += 1
        path = os.path.join(self.path, name)
        update_progress(f"verifying {path}")
        try:
            return self.directory.open(name)
        except FileNotFoundError:
            self.report.note(path, "was removed before it was read")
        except OSError as error:
            self.report.error(path, error.strerror or str(error))
        return None


class _Files:
    """An open file of a partition, None if it cannot be read, and others that are closed with it."""

    def __init__(self, check: _PartitionCheck, name: str) -> None:
        self._check = check
        self._stack = ExitStack()
        self._labels: list[str] = []
        self.file = self.also(name)

    def also(self, name: str) -> OpenFile | None:
        file = self._check.open(name)
        self._labels.append(os.path.join(self._check.path, name))
        return None if file is None else self._stack.enter_context(file)

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        for label in self._labels:
            self._check.report.end_file(label)


def is_partition(path: str) -> bool:
    """Return whether a directory is that of a partition, by name and content: a folder of nodes may have such a name too (`node-1`)."""
    name = os.path.basename(os.path.abspath(path))
    if name == METADATA_DIRECTORY:
        return True
    names = os.listdir(path)
    if any(parsed is not None and parsed.kind != "bootstrap" for parsed in map(parse_name, names)):
        return True
    return partition_name(path) is not None and (PARTITION_METADATA in names or LEADER_EPOCH_CHECKPOINT in names)


def partition_directories(path: str) -> Iterator[str]:
    """The directories of partitions in a log directory, in order."""
    with os.scandir(path) as entries:
        below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    for place in below:
        with suppress(FileNotFoundError):
            if partition_name(place) is not None and is_partition(place):
                yield place
