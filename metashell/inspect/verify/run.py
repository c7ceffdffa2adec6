"""A whole run of `metashell verify`. A fault in one path does not keep the others from being checked.

A path is a log directory with its small files, a folder of log directories, or one file: a log or checkpoint by itself, an index against
the log beside it, or a small file. Log directories with a metadata log of one cluster are compared with each other. `metadata.checks`
judges whose the directories are, and whether they fit each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from metashell.codec.batches import RecordBatch
from metashell.codec.releases import NEWEST_RELEASE, RELEASES, Release
from metashell.common.errors import LogCorruptError, MetashellError, UsageError
from metashell.common.forms import Display
from metashell.common.terminal import update_progress
from metashell.common.values import uuid_text
from metashell.disk.directory import MetadataDirectory
from metashell.disk.files import STREAM_NAMES, OpenFile, open_file
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    classify,
    parse_name,
)
from metashell.disk.properties import MetaProperties, read_meta_properties
from metashell.disk.segment import BatchFault, empty_tail, may_lack_batches, read_batches
from metashell.disk.state_files import PartitionOffset
from metashell.inspect.verify import Report, VerifyOptions
from metashell.inspect.verify.batches import RecordCheck, UncheckedRecords
from metashell.inspect.verify.indexes import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from metashell.inspect.verify.output import ReportWriter, make_writer, report_starts, report_verdict, usable_paths
from metashell.inspect.verify.partition import (
    INDEX_SUFFIXES,
    PartitionFacts,
    check_partition,
    is_partition,
    kind_of_path,
    partition_directories,
    partition_name,
)
from metashell.inspect.verify.replicas import (
    Digest,
    MetadataPlace,
    common_offset_of,
    compare_digests,
    compare_replicas,
    digest_of,
    without_metadata,
)
from metashell.inspect.verify.small_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    OFFSET_CHECKPOINTS,
    PRODUCER_SUFFIX,
    check_epoch_cache,
    check_meta_properties,
    check_partition_offsets,
    check_producer_snapshot,
    check_quorum_state,
    check_topic_id,
)
from metashell.inspect.verify.walk import LogState, LogWalk, SegmentIndexes, check_checkpoint, check_checkpoint_batches, kind_of_items
from metashell.metadata.checks import judge_disks, other_bad_checks
from metashell.metadata.facts import gather_facts

if TYPE_CHECKING:
    from metashell.metadata.checks.model import Verdict


STATUS_FINE = 0
STATUS_FINDINGS = 1


def run_verify(options: VerifyOptions, display: Display) -> int:
    """Check all paths, print the findings, and return the exit status."""
    writer = make_writer(options.output, display, verbose=options.verbose, has_starts=options.start_safe)
    report = Report(writer.finding)
    if options.start_safe:
        return _run_starts(options, writer, report)
    checked = CheckedDirectories()
    for path in options.paths:
        _check(path, report, options, checked)
    checked.finish(report)
    judged = _judge(options, report)
    if options.digest:
        others = without_metadata(options.paths)
        for path in others:
            report.note(path, "no digest: the metadata of this node is in another of its directories")
        paths = [path for path in options.paths if path not in others]
        if options.digest_offset is None and len(paths) > 1:
            common = common_offset_of(paths)
            if common is not None:
                options = replace(options, digest_offset=common.offset)
                writer.compared(common)
        digests: list[Digest] = []
        for path in paths:
            try:
                digest = digest_of(path, report, options)
            except (MetashellError, OSError) as error:
                report.error(path, _reason(path, error))
                continue
            digests.append(digest)
            writer.digest(digest)
        compare_digests(digests, report)
    if judged is not None:
        writer.checks(*judged)
    writer.summary(report)
    # With --digest the question is whether images are equal, and a warning about a small file does not change the answer.
    is_fine = not report.by_severity["error"] if options.digest else report.is_fine
    return STATUS_FINE if is_fine else STATUS_FINDINGS


def _judge(options: VerifyOptions, report: Report) -> tuple[Verdict, str] | None:
    """Return what the checks of disks find, and which other checks are bad; None if only files were named."""
    paths = [path for path in options.paths if path not in STREAM_NAMES and os.path.isdir(path)]
    facts = gather_facts(paths, [options.config] if options.config else (), max_decompressed=options.max_decompressed)
    if not facts.directories and not facts.configurations:
        return None
    verdict = judge_disks(facts)
    report_verdict(verdict, report)
    return verdict, other_bad_checks(facts)


def _run_starts(options: VerifyOptions, writer: ReportWriter, report: Report) -> int:
    """Report for each node whether a server would start on its directories; status 0 if all would, and lose nothing."""
    paths = usable_paths(options.paths, report)
    configs = [options.config] if options.config else []
    facts = gather_facts(paths, configs, release=_release(options), max_decompressed=options.max_decompressed)
    verdict = judge_disks(facts)
    report_verdict(verdict, report)
    is_safe = report_starts(facts, writer, report)
    writer.checks(verdict, other_bad_checks(facts))
    writer.summary(report)
    return STATUS_FINE if is_safe and report.is_fine else STATUS_FINDINGS


def _release(options: VerifyOptions) -> Release:
    """The release to judge for, by default the newest known."""
    return next((release for release in RELEASES if release.name == options.release), NEWEST_RELEASE)


def _check(path: str, report: Report, options: VerifyOptions, checked: CheckedDirectories) -> None:
    if path in STREAM_NAMES and options.digest:
        return  # A stream is read once, for its image.
    try:
        if path not in STREAM_NAMES and os.path.isdir(path):
            check_directory(path, report, options, checked)
        else:
            check_file(path, report, options)
    except (MetashellError, OSError) as error:
        report.error(path, _reason(path, error))


def _reason(path: str, error: MetashellError | OSError) -> str:
    text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return text.removeprefix(f"{path}: ")


_DEPTH_MAX = 8
_MEANS = {HIGH_WATERMARKS: "high watermark", LOG_STARTS: "log start", CLEANER_OFFSETS: "cleaned up to"}


def check_directory(path: str, report: Report, options: VerifyOptions, checked: CheckedDirectories | None = None) -> None:
    """Check a partition's directory, a log directory, or all that lie below a folder.

    Differences between directories are reported by `checked.finish`, which is called here if none is given.
    Errors: UsageError where there is none of these; OSError.
    """
    checked_here = CheckedDirectories() if checked is None else checked
    _Tree(report, options, checked_here).check(path)
    if checked is None:
        checked_here.finish(report)


class _Tree:
    def __init__(self, report: Report, options: VerifyOptions, checked: CheckedDirectories) -> None:
        self.report = report
        self.options = options
        self.checked = checked
        self.topic_ids: dict[str, tuple[bytes, str]] = {}

    def check(self, path: str) -> None:
        if not self._check_below(path, _DEPTH_MAX):
            raise UsageError(f"{path}: neither a segment nor a checkpoint nor a log directory here", path)

    def _check_below(self, path: str, depth: int) -> bool:
        """Check a path and everything below it; return whether there was anything to check."""
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
        """As `_check_below`; a folder that cannot be listed is reported, and counts as something."""
        try:
            return self._check_below(place, depth - 1)
        except OSError as error:
            self.report.error(place, error.strerror or str(error))
            return True

    def _folders_in(self, path: str) -> list[str]:
        """The folders in a folder, in order. A link is reported and not followed, since it may lead round in a circle."""
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
        if not self.checked.is_new(path):
            return
        self.report.counts["directories"] += 1
        partitions: dict[tuple[str, int], PartitionFacts] = {}
        self.report.counts["files"] += os.path.exists(os.path.join(path, META_PROPERTIES))
        meta = _meta_in(path)
        # Read before the logs: a running node raises these offsets only after it has written the records.
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
        """The directories that a server loads from a log directory: all that are named like partitions, even empty ones."""
        return [place for place in self._folders_in(path) if partition_name(place) is not None]

    def _check_partition(self, path: str, meta: MetaProperties | None, *, is_of_log_directory: bool) -> PartitionFacts | None:
        if not self.checked.is_new(path):
            return None
        try:
            facts = check_partition(path, self.report, self.options, is_of_log_directory=is_of_log_directory)
        except FileNotFoundError:
            self.report.note(path, "was removed before it was read")
            return None
        except OSError as error:
            self.report.error(path, error.strerror or str(error))
            return None
        self._compare_topic_id(facts, path)
        if facts.is_metadata:
            cluster_id = None if meta is None else meta.cluster_id
            self.checked.metadata.append(MetadataPlace(path, cluster_id, facts.certain_to, facts.checkpoints))
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

    def _compare_topic_id(self, facts: PartitionFacts, path: str) -> None:
        """Compare a partition's topic id with that of the topic's other partitions."""
        if facts.topic_id is None or not facts.topic:
            return
        other_id, other = self.topic_ids.setdefault(facts.topic, (facts.topic_id, path))
        if other_id != facts.topic_id:
            what = f"topic id {uuid_text(facts.topic_id)} is not that of {other}, {uuid_text(other_id)}"
            self.report.error(path, what)

    def _check_offsets(self, path: str, entries: tuple[PartitionOffset, ...], partitions: dict[tuple[str, int], PartitionFacts]) -> None:
        """Compare the offsets in a log directory's checkpoint file with the logs."""
        means = _MEANS.get(os.path.basename(path), "recovery point")
        for entry in entries:
            facts = partitions.get((entry.topic, entry.partition))
            if facts is None or not facts.is_certain or facts.end_offset < 0:
                continue
            if entry.offset > facts.end_offset:
                what = f"{entry.topic}-{entry.partition}: {means} {entry.offset} is past the log's end, {facts.end_offset}"
                self.report.error(path, what, offset=entry.offset)


def _meta_in(path: str) -> MetaProperties | None:
    """The meta.properties of a log directory; None where it cannot be read, which the checks of disks report."""
    place = os.path.join(path, META_PROPERTIES)
    with suppress(OSError, LogCorruptError):
        return read_meta_properties(place) if os.path.isfile(place) else None
    return None


@dataclass(slots=True)
class CheckedDirectories:
    """Collects the log directories of a run, each once, to compare those of one cluster at the end."""

    metadata: list[MetadataPlace] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def is_new(self, path: str) -> bool:
        """Return whether a directory was not checked before, under this name or another."""
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True

    def finish(self, report: Report) -> None:
        """Report where the logs of one cluster differ."""
        clusters: dict[str | None, list[MetadataPlace]] = {}
        for place in self.metadata:
            clusters.setdefault(place.cluster_id, []).append(place)
        for places in clusters.values():
            compare_replicas(places, report)


SmallCheck = Callable[[str, Report], object]


def check_file(path: str, report: Report, options: VerifyOptions) -> None:
    """Check a file as the kind that its name says, else as the kind that its first bytes show. Errors: UsageError, OSError."""
    update_progress(f"verifying {path}")
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
    """Check an index against its log; by itself if the log is not there."""
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
        report.warn(path, f"{os.path.basename(log)}, the log that it is compared with, has faults of its own")


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
