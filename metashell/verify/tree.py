"""Directories above partitions: a log directory with its small files, and folders of log directories.

Log directories side by side are those of one node, so they have to agree about which node and cluster it is.
"""

from __future__ import annotations

import os

from metashell.errors import UsageError
from metashell.log.directory import MetadataDirectory
from metashell.log.meta_properties import META_PROPERTIES, MetaProperties
from metashell.log.names import BOOTSTRAP_CHECKPOINT
from metashell.log.text_checkpoints import PartitionOffset
from metashell.values import uuid_text
from metashell.verify.checkpoint import check_checkpoint
from metashell.verify.finding import Report
from metashell.verify.options import VerifyOptions
from metashell.verify.partition import PartitionFacts, check_partition, is_partition, partition_directories
from metashell.verify.small_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    OFFSET_CHECKPOINTS,
    check_meta_properties,
    check_partition_offsets,
)

_DEPTH_MAX = 4
_MEANS = {HIGH_WATERMARKS: "high watermark", LOG_STARTS: "log start", CLEANER_OFFSETS: "cleaned up to"}


def check_directory(path: str, report: Report, options: VerifyOptions) -> None:
    """Check a partition's directory, a log directory, or all that lie below a folder.

    Errors: UsageError where there is none of these; OSError.
    """
    _Tree(report, options).check(path)


class _Tree:
    def __init__(self, report: Report, options: VerifyOptions) -> None:
        self.report = report
        self.options = options
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
            self._take(check_partition(path, self.report, self.options), path)
            return True
        if any(True for _ in partition_directories(path)) or os.path.exists(os.path.join(path, BOOTSTRAP_CHECKPOINT)):
            self._check_log_directory(path)
            return True
        if depth == 0:
            return False
        below = [entry.path for entry in sorted(os.scandir(path), key=lambda entry: entry.name) if entry.is_dir(follow_symlinks=False)]
        found = [place for place in below if self._check_below(place, depth - 1)]
        self._compare_nodes(found)
        return bool(found)

    # ---- one log directory

    def _check_log_directory(self, path: str) -> None:
        self.report.counts["directories"] += 1
        partitions: dict[tuple[str, int], PartitionFacts] = {}
        meta = os.path.join(path, META_PROPERTIES)
        if os.path.exists(meta):
            check_meta_properties(meta, self.report)
        # A running node moves these on: what they say now, the logs hold when they are read.
        offsets = {
            place: check_partition_offsets(place, self.report)
            for place in (os.path.join(path, name) for name in OFFSET_CHECKPOINTS)
            if os.path.exists(place)
        }
        for below in partition_directories(path):
            try:
                facts = check_partition(below, self.report, self.options)
            except FileNotFoundError:
                self.report.note(below, "was removed before it was read")
                continue
            except OSError as error:
                self.report.error(below, error.strerror or str(error))
                continue
            self._take(facts, below)
            partitions[facts.topic, facts.partition] = facts
        self._check_bootstrap(path)
        for place, entries in offsets.items():
            self._check_offsets(place, entries, partitions)

    def _check_bootstrap(self, path: str) -> None:
        if not os.path.exists(os.path.join(path, BOOTSTRAP_CHECKPOINT)):
            return
        directory = MetadataDirectory(path)
        try:
            self.report.counts["files"] += 1
            with directory.open(BOOTSTRAP_CHECKPOINT) as file:
                check_checkpoint(file, BOOTSTRAP_CHECKPOINT, self.report, self.options)
            self.report.end_file(os.path.join(path, BOOTSTRAP_CHECKPOINT))
        except OSError as error:
            self.report.error(os.path.join(path, BOOTSTRAP_CHECKPOINT), error.strerror or str(error))
        finally:
            directory.close()

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

    # ---- log directories side by side

    def _compare_nodes(self, paths: list[str]) -> None:
        """Tell where log directories of one folder are of different nodes or clusters, or have the same id."""
        metas = {}
        for path in paths:
            place = os.path.join(path, META_PROPERTIES)
            if os.path.exists(place):
                quiet = Report(lambda finding: None)
                if (meta := check_meta_properties(place, quiet)) is not None:
                    metas[place] = meta
        first: tuple[str, MetaProperties] | None = None
        directories: dict[bytes, str] = {}
        for place, meta in metas.items():
            if first is None:
                first = place, meta
            self._compare(first, place, meta)
            if meta.directory_id is None:
                continue
            other = directories.setdefault(meta.directory_id, place)
            if other != place:
                self.report.error(place, f"directory.id {uuid_text(meta.directory_id)} is that of {other} too")

    def _compare(self, first: tuple[str, MetaProperties], place: str, meta: MetaProperties) -> None:
        other, expected = first
        if meta.cluster_id != expected.cluster_id:
            self.report.error(place, f"cluster.id {meta.cluster_id} is not that of {other}, {expected.cluster_id}")
        if meta.node_id != expected.node_id:
            self.report.error(place, f"node.id {meta.node_id} is not that of {other}, {expected.node_id}")
