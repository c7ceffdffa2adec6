"""Directories above partitions: a log directory with its small files, and folders of log directories.

Whose they are, and whether they fit each other, is judged by `metashell.checks`.
"""

from __future__ import annotations

import os
from contextlib import suppress

from metashell.errors import LogCorruptError, UsageError
from metashell.log.directory import MetadataDirectory
from metashell.log.meta_properties import META_PROPERTIES, MetaProperties, read_meta_properties
from metashell.log.names import BOOTSTRAP_CHECKPOINT
from metashell.log.text_checkpoints import PartitionOffset
from metashell.values import uuid_text
from metashell.verify.census import Census
from metashell.verify.checkpoint import check_checkpoint
from metashell.verify.finding import Report
from metashell.verify.options import VerifyOptions
from metashell.verify.partition import PartitionFacts, check_partition, is_partition, partition_directories, partition_name
from metashell.verify.replicas import MetadataPlace
from metashell.verify.small_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    OFFSET_CHECKPOINTS,
    check_partition_offsets,
)

_DEPTH_MAX = 8
_MEANS = {HIGH_WATERMARKS: "high watermark", LOG_STARTS: "log start", CLEANER_OFFSETS: "cleaned up to"}


def check_directory(path: str, report: Report, options: VerifyOptions, census: Census | None = None) -> None:
    """Check a partition's directory, a log directory, or all that lie below a folder.

    What several directories have to agree about is reported when the `census` is finished, which is here where none is given.
    Errors: UsageError where there is none of these; OSError.
    """
    taken = Census() if census is None else census
    _Tree(report, options, taken).check(path)
    if census is None:
        taken.finish(report)


class _Tree:
    def __init__(self, report: Report, options: VerifyOptions, census: Census) -> None:
        self.report = report
        self.options = options
        self.census = census
        self.topic_ids: dict[str, tuple[bytes, str]] = {}

    def check(self, path: str) -> None:
        if not self._check_below(path, _DEPTH_MAX):
            raise UsageError(f"{path}: neither a segment nor a checkpoint nor a log directory here", path)

    def _check_below(self, path: str, depth: int) -> bool:
        """Check what `path` is or holds; whether that was anything."""
        if os.path.exists(os.path.join(path, META_PROPERTIES)):
            self._check_log_directory(path)
            return True
        if is_partition(path):
            self._check_partition(path, _meta_in(os.path.dirname(os.path.abspath(path))), is_of_log_directory=False)
            return True
        if any(True for _ in partition_directories(path)) or os.path.exists(os.path.join(path, BOOTSTRAP_CHECKPOINT)):
            self._check_log_directory(path)
            return True
        below = self._folders_in(path)
        if below and depth == 0:
            self.report.warn(path, "nested too deeply; not checked")
            return False
        found = [place for place in below if self._is_something(place, depth)]
        return bool(found)

    def _is_something(self, place: str, depth: int) -> bool:
        """As `_check_below`, of a folder that cannot be listed too: that is reported, and the others are checked."""
        try:
            return self._check_below(place, depth - 1)
        except OSError as error:
            self.report.error(place, error.strerror or str(error))
            return True

    def _folders_in(self, path: str) -> list[str]:
        """The folders in a folder, in order. Links are not followed, since they may lead round in circles, and that is reported."""
        below = []
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif entry.is_dir():
                    self.report.warn(entry.path, "is a link to a directory and was not followed; name it to check it")
        return below

    # ---- one log directory

    def _check_log_directory(self, path: str) -> None:
        if not self.census.is_new(path):
            return
        self.report.counts["directories"] += 1
        partitions: dict[tuple[str, int], PartitionFacts] = {}
        self.report.counts["files"] += os.path.exists(os.path.join(path, META_PROPERTIES))
        meta = _meta_in(path)
        # A running node moves these on: what they say now, the logs hold when they are read.
        offsets = {
            place: check_partition_offsets(place, self.report)
            for place in (os.path.join(path, name) for name in OFFSET_CHECKPOINTS)
            if os.path.exists(place)
        }
        for below in self._partitions_in(path):
            facts = self._check_partition(below, meta, is_of_log_directory=True)
            if facts is not None:
                partitions[facts.topic, facts.partition] = facts
        self._check_bootstrap(path)
        for place, entries in offsets.items():
            self._check_offsets(place, entries, partitions)

    def _partitions_in(self, path: str) -> list[str]:
        """The directories of a log directory that a server loads: all that are named like partitions, empty ones too."""
        return [place for place in self._folders_in(path) if partition_name(place) is not None]

    def _check_partition(self, path: str, meta: MetaProperties | None, *, is_of_log_directory: bool) -> PartitionFacts | None:
        if not self.census.is_new(path):
            return None
        try:
            facts = check_partition(path, self.report, self.options, is_of_log_directory=is_of_log_directory)
        except FileNotFoundError:
            self.report.note(path, "was removed before it was read")
            return None
        except OSError as error:
            self.report.error(path, error.strerror or str(error))
            return None
        self._take(facts, path)
        if facts.is_metadata:
            cluster_id = None if meta is None else meta.cluster_id
            self.census.metadata.append(MetadataPlace(path, cluster_id, facts.certain_to, facts.checkpoints))
        return facts

    def _check_bootstrap(self, path: str) -> None:
        if not os.path.exists(os.path.join(path, BOOTSTRAP_CHECKPOINT)):
            return
        try:
            self.report.counts["files"] += 1
            with MetadataDirectory(path) as directory, directory.open(BOOTSTRAP_CHECKPOINT) as file:
                check_checkpoint(file, BOOTSTRAP_CHECKPOINT, self.report, self.options)
            self.report.end_file(os.path.join(path, BOOTSTRAP_CHECKPOINT))
        except OSError as error:
            self.report.error(os.path.join(path, BOOTSTRAP_CHECKPOINT), error.strerror or str(error))

    def _take(self, facts: PartitionFacts, path: str) -> None:
        """Hold a partition's topic id against that of the topic's other partitions."""
        if facts.topic_id is None or not facts.topic:
            return
        other_id, other = self.topic_ids.setdefault(facts.topic, (facts.topic_id, path))
        if other_id != facts.topic_id:
            what = f"topic id {uuid_text(facts.topic_id)} is not that of {other}, {uuid_text(other_id)}"
            self.report.error(path, what)

    def _check_offsets(self, path: str, entries: tuple[PartitionOffset, ...], partitions: dict[tuple[str, int], PartitionFacts]) -> None:
        """Hold the offsets that a log directory's checkpoint names against the logs in it."""
        means = _MEANS.get(os.path.basename(path), "recovery point")
        for entry in entries:
            facts = partitions.get((entry.topic, entry.partition))
            if facts is None or not facts.is_certain or facts.end_offset < 0:
                continue
            if entry.offset > facts.end_offset:
                what = f"{entry.topic}-{entry.partition}: {means} {entry.offset} is past the log's end, {facts.end_offset}"
                self.report.error(path, what, offset=entry.offset)


def _meta_in(path: str) -> MetaProperties | None:
    """The meta.properties of a log directory, None where it cannot be read, which the checks of disks report."""
    place = os.path.join(path, META_PROPERTIES)
    with suppress(OSError, LogCorruptError):
        return read_meta_properties(place) if os.path.isfile(place) else None
    return None
