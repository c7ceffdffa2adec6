"""Loads group logs and answers queries: the list of groups, one group in full, its offsets, and the offsets that expire."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from metashell.codec.framing import BatchFrame
from metashell.codec.primitives import MAX_DECOMPRESSED, kafka_text
from metashell.common.errors import DecodeError
from metashell.common.runtime import PausedCollector
from metashell.disk.segment import OrderCheck, SourceFault, TakesFrames
from metashell.groups.coordinator.offset_fetch import expires_ms
from metashell.groups.decision import Finding
from metashell.groups.log import Decoder
from metashell.groups.log.fold import Fold, RawRecord
from metashell.groups.log.log_dir import PartitionLog, find_group_logs, merge_batches, put_newest_first
from metashell.groups.state import Committed, Group
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, OffsetRow

_LOOKED_EVERY: Final = 20_000
EndOffsets = Mapping[tuple[str, int], int]


def group_summaries(loaded: LoadedLogs) -> list[GroupSummary]:
    """Return the groups of all logs, sorted by id."""
    found = [summary for log in loaded.logs for summary in _of_log(log)]
    found.sort(key=lambda summary: summary.group_id)
    return found


def _of_log(log: LoadedLog) -> Iterator[GroupSummary]:
    fold, partition = log.fold, log.log.partition
    counts, held = _by_text(fold.offset_counts()), _by_text(fold.pending_counts())
    findings = Counter(finding.group_id for finding in fold.state.findings)
    groups = fold.state.groups
    for group_id, group in groups.items():
        yield replace(
            group.summary(),
            offsets=counts.get(group_id, 0),
            pending=held.get(group_id, 0),
            partition=partition,
            findings=findings.get(group_id, 0),
        )
    for raw in fold.groups():
        group_id = kafka_text(raw)
        if group_id not in groups and fold.is_simple(raw):
            yield _simple(group_id, counts.get(group_id, 0), held.get(group_id, 0), partition, findings.get(group_id, 0))


def _simple(group_id: str, offsets: int, pending: int, partition: int | None, findings: int) -> GroupSummary:
    """Return the row of a group with commits only. There may be a million of them, so no group object is made."""
    return GroupSummary(
        group_id=group_id,
        kind="classic",
        state="Empty",
        epoch=0,
        members=0,
        offsets=offsets,
        pending=pending,
        partition=partition,
        findings=findings,
    )


def _by_text(counts: Counter[bytes]) -> dict[str, int]:
    return {kafka_text(raw): count for raw, count in counts.items()}


# ---- one group


class FoundGroup(NamedTuple):
    """A group and its log. `raw` are the bytes of its id."""

    log: LoadedLog
    group: Group
    raw: bytes


def find_group(loaded: LoadedLogs, group_id: str) -> list[FoundGroup]:
    """Find a group: in one log, or in several if the number of partitions of `__consumer_offsets` was changed."""
    raw = group_id.encode()
    found = []
    for log in loaded.logs:
        fold = log.fold
        group = fold.state.groups.get(group_id)
        if group is None and fold.is_simple(raw):
            group = fold.state.make_simple(group_id)
        if group is not None:
            found.append(FoundGroup(log, group, raw))
    return found


def describe_found_group(found: FoundGroup, topics: Topics) -> GroupDescription:
    """Return the group with its members, and the findings of its log that name it."""
    fold = found.log.fold
    description = found.group.description(topics)
    texts = tuple(finding_text(finding) for finding in fold.state.findings if finding.group_id == found.group.group_id)
    summary = replace(
        description.summary,
        offsets=fold.offset_count(found.raw),
        pending=fold.pending_count(found.raw),
        partition=found.log.log.partition,
        findings=len(texts) + len(description.findings) + sum(len(member.findings) for member in description.members),
    )
    return replace(description, summary=summary, findings=(*description.findings, *texts))


def finding_text(finding: Finding) -> str:
    """Return the line for a finding, with its place."""
    return f"offset {finding.place.offset}: {finding.kind}: {finding.text}"


def offset_rows(found: FoundGroup, topics: Topics, ends: EndOffsets) -> list[OffsetRow]:
    """Return the group's offsets by topic and partition; a pending offset follows the committed one of its partition."""
    fold, group_id = found.log.fold, found.group.group_id
    owners = _owners(found.group.description(topics))

    def row(key: tuple[str, int], committed: Committed, producer: int | None = None) -> OffsetRow:
        owner = owners.get(key)
        return OffsetRow(
            group_id=group_id,
            topic=key[0],
            partition=key[1],
            offset=committed.offset,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_ms=committed.commit_ms,
            expire_ms=committed.expire_ms if committed.expire_ms >= 0 else None,
            topic_id=committed.topic_id,
            pending_producer=producer,
            end_offset=ends.get(key),
            member_id=None if owner is None else owner.member_id,
            client_id=None if owner is None else owner.client_id,
        )

    rows = [row(key, committed) for key, committed in fold.committed(found.raw)]
    rows += [row(key, committed, producer) for producer, key, committed in fold.pending(found.raw)]
    rows.sort(key=lambda row: (row.topic, row.partition, row.pending_producer is not None))
    return rows


def _owners(description: GroupDescription) -> dict[tuple[str, int], MemberDescription]:
    return {(topic, partition): member for member in description.members for topic, numbers in member.assigned for partition in numbers}


# ---- what expires


class Expiring(NamedTuple):
    """An offset, and when it expires if its group stays as it is."""

    group_id: str
    kind: str
    state: str
    row: OffsetRow
    expires_ms: int


def expiring_offsets(loaded: LoadedLogs, until_ms: int, retention_ms: int, looked: Callable[[int], None] | None = None) -> list[Expiring]:
    """Return the offsets that expire until a time, the earliest first. An offset with a pending one for its partition does not expire.

    `looked` is called now and then with the number of groups of a log seen so far.
    """
    found = []
    for log in loaded.logs:
        fold = log.fold
        # All simple groups are alike, so one object serves for a million of them.
        simple = fold.state.make_simple("")
        for number, raw in enumerate(list(fold.groups())):
            if looked is not None and not number % _LOOKED_EVERY:
                looked(number)
            group_id = kafka_text(raw)
            group = fold.state.groups.get(group_id)
            if group is None:
                if not fold.is_simple(raw):
                    continue
                group = simple
            held = {key for _, key, _ in fold.pending(raw)}
            for key, committed in fold.committed(raw):
                due = expires_ms(group, key[0], committed, retention_ms)
                if due is not None and due <= until_ms and key not in held:
                    row = OffsetRow(
                        group_id=group_id, topic=key[0], partition=key[1], offset=committed.offset, commit_ms=committed.commit_ms
                    )
                    found.append(Expiring(group_id, group.type, group.state_name(), row, due))
    found.sort(key=lambda one: (one.expires_ms, one.group_id, one.row.topic, one.row.partition))
    return found


FAULTS_MAX = 100


class LoadedLog(NamedTuple):
    """A partition's log and its fold."""

    log: PartitionLog
    fold: Fold


class LoadedLogs:
    """All logs at the named paths.

    Shape: `faults` are the first `FAULTS_MAX` places that could not be read, torn tails included. `fault_count` counts all except torn
    tails. `notes` are lines about skipped paths.
    """

    def __init__(self) -> None:
        self.logs: list[LoadedLog] = []
        self.faults: list[SourceFault] = []
        self.fault_count = 0
        self.notes: list[str] = []

    def add_fault(self, fault: SourceFault) -> None:
        """Note a fault. Only the first `FAULTS_MAX` are kept."""
        if not fault.is_tail:
            self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def load_logs(
    paths: Sequence[str],
    *,
    wants: Callable[[RawRecord], bool] | None = None,
    mark: bytes | None = None,
    max_decompressed: int = MAX_DECOMPRESSED,
    has_past: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> LoadedLogs:
    """Read the logs at some paths; `wants` and `mark` as in `Fold`. `progress` is called with the bytes read so far and the total.

    Of several copies the newest one counts. They are merged with `has_past`, and if the newest one is damaged.
    Errors: UsageError if no path has a group log.
    """
    loaded = LoadedLogs()
    reader = _Reader(loaded, wants, mark, max_decompressed, has_past=has_past)
    with PausedCollector():
        unusable: list[SourceFault] = []
        logs = [put_newest_first(log) for log in find_group_logs(paths, loaded.notes, unusable)]
        for fault in unusable:
            loaded.add_fault(fault)
        reader.meter = _Meter(logs, progress, has_past=has_past)
        for log in logs:
            loaded.logs.append(LoadedLog(log, reader.fold_of(log)))
    return loaded


class _Meter:
    """Counts the bytes that were read, for `progress`."""

    def __init__(self, logs: Sequence[PartitionLog], progress: Callable[[int, int], None] | None, *, has_past: bool) -> None:
        self._progress = progress
        self._done = 0
        copies = [] if progress is None else [copy for log in logs for copy in (log.copies if has_past else log.copies[:1])]
        self._all = sum(_size_of(file.path) for copy in copies for file in copy)

    def add(self, size: int) -> None:
        """Report that some more bytes were read."""
        if self._progress is not None:
            self._done += size
            self._progress(self._done, max(self._all, self._done))


def _size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


class _Reader:
    def __init__(
        self, loaded: LoadedLogs, wants: Callable[[RawRecord], bool] | None, mark: bytes | None, max_decompressed: int, *, has_past: bool
    ) -> None:
        self.meter = _Meter((), None, has_past=has_past)
        self._mark = mark
        self._loaded = loaded
        self._wants = wants
        self._max_decompressed = max_decompressed
        self._has_past = has_past
        self._decoder = Decoder()

    def fold_of(self, log: PartitionLog) -> Fold:
        """Fold a log whose newest copy is the first one."""
        is_merged = self._has_past or len(log.copies) == 1
        fold, faults = self._read(log if is_merged else log._replace(copies=log.copies[:1]))
        # A second reading would hand every record to `wants` twice.
        if not is_merged and self._wants is None and not all(fault.is_tail for fault in faults):
            text = "its newest copy is damaged; older ones fill in what it lacks, and may bring back what was deleted since"
            self._loaded.notes.append(f"{log.name}: {text}")
            fold, faults = self._read(log)
        for fault in faults:
            self._loaded.add_fault(fault)
        return fold

    def _read(self, log: PartitionLog) -> tuple[Fold, list[SourceFault]]:
        fold = Fold(self._decoder, self._wants, self._max_decompressed, self._mark)

        def quick(order: OrderCheck) -> TakesFrames | None:
            takes = fold.quick(order)
            if takes is None:
                return None

            def metered(buf: bytes, frames: list[BatchFrame], first: int) -> int:
                done = takes(buf, frames, first)
                if done > first:
                    at, size = frames[done - 1]
                    self.meter.add(at + size - frames[first][0])
                return done

            return metered

        faults: list[SourceFault] = []
        for item in merge_batches(log, quick):
            if isinstance(item, SourceFault):
                faults.append(item)
                continue
            self.meter.add(len(item.data))
            try:
                fold.add(item)
            except DecodeError as error:
                place = item.header.base_offset
                faults.append(SourceFault(item.file, place, item.position, f"offset {place}: {error}"))
        return fold, faults
