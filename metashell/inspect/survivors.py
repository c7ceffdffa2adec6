"""What is left of a quorum: reads surviving metadata logs, and decides which of them can lead a restored one.

A source is the log directory of a controller or a broker, a metadata directory, a checkpoint, or an unpacked bundle. Sources are only read.

`compare` decides as Raft's voters do: the log with the highest last epoch wins, and of these the longest. If a majority of the voters is
among the sources, everything that was committed is in the winner. A log that ends earlier has nothing that the winner lacks, unless the two
differ before that. Then one of them was never committed there, or they are different histories:

    best     epoch 5 from offset 0, epoch 7 from offset 90, ends at 120
    other    epoch 5 from offset 0, epoch 6 from offset 80, ends at 100

They differ at 80. If `other` has a checkpoint at 80 or before, its records from 80 on were never committed: the leader of epoch 7 did not
have them. If it has one at 95, they were, so the log with epoch 7 is not of this quorum, and `compare` refuses.

What a source holds behind a damaged batch does not count. Whether a record behind the newest checkpoint was committed stands in no file.
Source: KIP-595 (comparing logs), KIP-630, KIP-853; org.apache.kafka.raft.OffsetAndEpoch.compareTo."""

from __future__ import annotations

import os
import tarfile
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE, read_control_record
from metashell.codec.batches import RecordBatch
from metashell.common.errors import DecodeError, LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.terminal import update_progress
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch
from metashell.disk.directory import CheckpointEntry, Listing, MetadataDirectory, partition_name
from metashell.disk.file_system import is_locked
from metashell.disk.files import STREAM_NAMES
from metashell.disk.inputs import find_metadata, other_log_fault
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    parse_name,
)
from metashell.disk.properties import MetaProperties, read_meta
from metashell.disk.segment import (
    BatchFault,
    OrderCheck,
    SourceFault,
    Tail,
    fault_of,
    first_snapshot_fault,
    missing_offsets,
    read_batches,
)
from metashell.disk.source import DirectorySource, FileSource
from metashell.disk.state_files import QuorumState, read_leader_epochs, read_quorum_state, read_topic_id
from metashell.metadata.image.provenance import VoterSet, voter_set

LOG_DIRECTORY: Final = "log directory"
METADATA_FOLDER: Final = "metadata directory"
CHECKPOINT: Final = "checkpoint"
BUNDLE: Final = "bundle"
METADATA_TOPIC: Final = "__cluster_metadata"
_BUNDLE_MARKS: Final = frozenset({"README.md", "status.json", "verify.txt"})
_ALIAS_MARK: Final = "(not its real id)"
_BUNDLE_MAX: Final = 16 << 30
_README_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class BatchKeys:
    """The batches of a log, in order: base offset, leader epoch and checksum of each. A million take 16 MB."""

    bases: array[int] = field(default_factory=lambda: array("q"))
    epochs: array[int] = field(default_factory=lambda: array("i"))
    checksums: array[int] = field(default_factory=lambda: array("I"))

    def add(self, batch: RecordBatch) -> None:
        header = batch.header
        self.bases.append(header.base_offset)
        self.epochs.append(header.leader_epoch)
        self.checksums.append(header.crc)

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before `offset`, None if no batch has it."""
        index = bisect_right(self.bases, offset - 1) - 1
        return self.epochs[index] if index >= 0 else None


class KnownQuorum(NamedTuple):
    """The voters that a source knows, and where they stand; `voters` has their addresses, None with kraft.version 0."""

    voter_ids: tuple[int, ...] = ()
    named_by: str = ""
    voters: VoterSet | None = None
    kraft_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """What one source holds. Ids are None where it does not name them.

    `end_offset` and `last_epoch` are its place as Raft compares logs, up to the first damage. Records before `certain_to` are committed;
    None if none is known to be. `seen` is the highest offset and epoch that any of its files names, whole or not. `lost` is the damage that
    ends the log, empty without any; the log then once went on to at least `seen`. `other_faults` are unreadable files that cost nothing.
    """

    label: str
    kind: str
    folder: str
    log_directory: str | None = None
    meta: MetaProperties | None = None
    quorum: KnownQuorum
    snapshot_id: OffsetAndEpoch | None = None
    end_offset: int
    last_epoch: int
    certain_to: int | None = None
    seen: OffsetAndEpoch
    batches: BatchKeys = field(default_factory=BatchKeys)
    election: QuorumState | None = None
    lost: str = ""
    other_faults: tuple[str, ...] = ()
    is_running: bool = False
    is_anonymised: bool = False

    @property
    def is_bundle(self) -> bool:
        """Return whether it was written for other people: it has no secrets, and its batches have other checksums."""
        return self.kind == BUNDLE

    @property
    def cluster_id(self) -> str | None:
        return None if self.meta is None else self.meta.cluster_id

    @property
    def node_id(self) -> int | None:
        return None if self.meta is None else self.meta.node_id

    @property
    def place(self) -> tuple[int, int]:
        """The end of its log as Raft compares logs."""
        return self.last_epoch, self.end_offset

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before `offset`; None if it is not known here."""
        if self.snapshot_id is not None and offset == self.snapshot_id.offset:
            return self.snapshot_id.epoch
        return self.batches.epoch_before(offset) if 0 < offset <= self.end_offset else None

    def open(self) -> DirectorySource | FileSource:
        """Open it to load an image. Errors: UsageError."""
        return FileSource(self.folder) if self.kind == CHECKPOINT else DirectorySource(self.folder)


def read_survivor(path: str, *, label: str = "") -> Survivor:
    """Read a source; `label` is its name in messages, by default the path.

    Errors: UsageError if it has no metadata log, or nothing of it can be used.
    """
    if path in STREAM_NAMES:
        raise UsageError("standard input is no source of a quorum: name a directory or a checkpoint", path)
    label = label or path
    if os.path.isdir(path):
        return _read_directory(path, label)
    return _read_checkpoint(path, label)


@contextmanager
def unpacked_bundle(path: str) -> Iterator[str]:
    """The folder of a bundle's archive, unpacked into a temporary folder while the block runs; only files that `bundle` writes are taken.

    Errors: UsageError for another archive, or one that is damaged or too large.
    """
    with TemporaryDirectory(prefix="metashell-restore-") as work:
        size = 0
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    inner = _place_in_bundle(member.name)
                    if not member.isfile() or not inner:
                        continue
                    size += member.size
                    if size > _BUNDLE_MAX:
                        raise UsageError(f"{path}: unpacks to more than {_BUNDLE_MAX} bytes: no bundle is so large", path)
                    target = os.path.join(work, inner)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    source = archive.extractfile(member)
                    assert source is not None, "a file has bytes"
                    with source, open(target, "wb") as file:
                        copyfileobj(source, file)
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise UsageError(f"{path}: cannot be unpacked: {error}", path) from None
        if not all(os.path.exists(os.path.join(work, name)) for name in _BUNDLE_MARKS):
            raise UsageError(f"{path}: no bundle of metashell: unpack it, and name the directory in it", path)
        yield work


def is_archive(path: str) -> bool:
    """Return whether a file is a tar archive, packed or not, by its name."""
    return path.endswith((".tar", ".tar.gz", ".tgz")) and os.path.isfile(path)


def _place_in_bundle(name: str) -> str:
    """The place of a member below the top folder of a bundle; empty for one that no bundle has."""
    _, *parts = name.split("/")
    is_known = parts in ([one] for one in (*_BUNDLE_MARKS, META_PROPERTIES, BOOTSTRAP_CHECKPOINT))
    is_of_log = len(parts) == 2 and parts[0] == METADATA_DIRECTORY and parts[1] not in ("", ".", "..")
    return "/".join(parts) if is_known or is_of_log else ""


# ---- a checkpoint


def _read_checkpoint(path: str, label: str) -> Survivor:
    with FileSource(path) as source:
        kind, _ = source.log_kind()
        if source.kind == "segment":
            if kind not in (METADATA, None):
                raise other_log_fault(path, kind, METADATA)
            raise UsageError(f"{path}: a segment, or no log at all: name its directory, or a checkpoint", path)
    parsed = parse_name(os.path.basename(path))
    id = None if parsed is None else parsed.snapshot_id
    if id is None or id == BOOTSTRAP_SNAPSHOT_ID:
        what = "its name has no end offset and epoch" if id is None else "it is what formatting wrote: it holds no cluster"
        raise UsageError(f"{path}: {what}; a checkpoint of a node is named like {5000:020d}-{12:010d}.checkpoint", path)
    source = FileSource(path)
    with source:
        found = _Controls()
        fault = None
        for batch in source.snapshot_batches():
            if source.faults:
                break
            found.note(batch, id.offset)
        fault = source.faults[0] if source.faults else None
    if fault is not None:
        raise PathError(str(fault), path)
    return Survivor(
        label=label,
        kind=CHECKPOINT,
        folder=path,
        quorum=found.quorum(),
        meta=_meta_of(os.path.dirname(os.path.dirname(os.path.abspath(path)))),
        snapshot_id=id,
        end_offset=id.offset,
        last_epoch=id.epoch,
        certain_to=id.offset,
        seen=id,
    )


def _meta_of(folder: str) -> MetaProperties | None:
    found = read_meta(folder)
    return found if isinstance(found, MetaProperties) else None


# ---- a directory


def _read_directory(path: str, label: str) -> Survivor:
    folder = find_metadata(path)
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: formatted only: no server has written to it, so it holds no cluster", path)
    above = os.path.dirname(os.path.abspath(folder))
    is_bundle = all(os.path.exists(os.path.join(above, name)) for name in _BUNDLE_MARKS)
    is_metadata = os.path.abspath(path) == os.path.abspath(folder)
    log = _read_log(folder)
    if log.snapshot_id is None and log.end_offset == 0:
        raise PathError(f"{path}: {log.lost or 'nothing in it: the metadata log has no batch'}", path)
    election, fault = _election(os.path.join(folder, QUORUM_STATE))
    faults = [*log.other_faults, *([fault] if fault else [])]
    epochs = [log.seen.epoch, log.last_epoch, *_later_epochs(folder)]
    if election is not None:
        epochs.append(election.leader_epoch)
    quorum = log.controls.quorum()
    if not quorum.voter_ids and election is not None:
        quorum = quorum._replace(voter_ids=tuple(sorted(election.current_voters)), named_by=QUORUM_STATE)
    return Survivor(
        label=label,
        kind=BUNDLE if is_bundle else METADATA_FOLDER if is_metadata else LOG_DIRECTORY,
        folder=folder,
        log_directory=above,
        meta=_meta_of(above),
        quorum=quorum,
        snapshot_id=log.snapshot_id,
        end_offset=log.end_offset,
        last_epoch=log.last_epoch,
        certain_to=None if log.snapshot_id is None else log.snapshot_id.offset,
        seen=OffsetAndEpoch(max(log.seen.offset, log.end_offset), max(epochs)),
        batches=log.batches,
        election=election,
        lost=log.lost,
        other_faults=tuple(faults),
        is_running=is_locked(above),
        is_anonymised=is_bundle and _has_aliases(above),
    )


def _has_aliases(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "README.md"), encoding="utf-8", errors="replace") as file:
            return _ALIAS_MARK in file.read(_README_MAX)
    except OSError:
        return True


def _election(path: str) -> tuple[QuorumState | None, str]:
    """The election state, None without one, and why it cannot be read."""
    try:
        return (read_quorum_state(path), "") if os.path.exists(path) else (None, "")
    except (OSError, LogCorruptError) as error:
        return None, str(error)


def _later_epochs(folder: str) -> list[int]:
    try:
        return [entry.epoch for entry in read_leader_epochs(os.path.join(folder, LEADER_EPOCH_CHECKPOINT))]
    except (OSError, LogCorruptError):
        return []


class _Controls:
    """What control records say of the quorum; the last one of a kind counts."""

    def __init__(self) -> None:
        self.voters: VoterSet | None = None
        self.leader_voters: tuple[int, ...] = ()
        self.kraft_version = 0

    def note(self, batch: RecordBatch, offset: int) -> None:
        """Note the records of a control batch; one that does not decode says nothing."""
        if not batch.header.is_control:
            return
        try:
            for record in batch.records():
                control = read_control_record(record.key, record.value)
                if control.type == KRAFT_VOTERS:
                    self.voters = voter_set(control.body, offset)
                elif control.type == KRAFT_VERSION_RECORD:
                    self.kraft_version = control.body.k_raft_version
                elif control.type == LEADER_CHANGE:
                    self.leader_voters = tuple(sorted(voter.voter_id for voter in control.body.voters))
        except (DecodeError, MetashellError):
            return

    def quorum(self) -> KnownQuorum:
        if self.voters is not None:
            ids = tuple(voter.id for voter in self.voters.voters)
            return KnownQuorum(ids, "VotersRecord", self.voters, self.kraft_version)
        return KnownQuorum(self.leader_voters, "LeaderChangeMessage" if self.leader_voters else "", None, self.kraft_version)


class _Log(NamedTuple):
    """What a metadata directory holds; fields as in Survivor."""

    snapshot_id: OffsetAndEpoch | None
    end_offset: int
    last_epoch: int
    seen: OffsetAndEpoch
    batches: BatchKeys
    controls: _Controls
    lost: str
    other_faults: list[str]


def _read_log(folder: str) -> _Log:
    controls = _Controls()
    faults: list[str] = []
    with MetadataDirectory(folder) as directory:
        listing = directory.list()
        snapshot = _newest_whole(directory, listing, controls, faults)
        log = _read_segments(directory, listing, 0 if snapshot is None else snapshot.offset, controls)
    end, epoch = (0, 0) if snapshot is None else (snapshot.offset, snapshot.epoch)
    if log.end > end:
        end, epoch = log.end, log.keys.epochs[-1]
    if snapshot is None and listing.segments and listing.segments[0].base_offset > 0:
        missing = f"the log starts at offset {listing.segments[0].base_offset}, and no whole checkpoint has what was before"
        raise PathError("; ".join([f"{folder}: {missing}", *faults]), folder)
    ids = [entry.snapshot_id for entry in listing.checkpoints]
    seen = OffsetAndEpoch(
        max([end, log.claimed, *(id.offset for id in ids), *(entry.base_offset for entry in listing.segments)]),
        max([epoch, *(id.epoch for id in ids)]),
    )
    return _Log(snapshot, end, epoch, seen, log.keys, controls, log.lost, faults)


def _newest_whole(directory: MetadataDirectory, listing: Listing, controls: _Controls, faults: list[str]) -> OffsetAndEpoch | None:
    """The id of the newest whole checkpoint; its control records are noted. Reasons against newer ones go to `faults`."""
    for entry in listing.checkpoints:
        if entry.snapshot_id == BOOTSTRAP_SNAPSHOT_ID:
            _note_head(directory, entry, controls)
            continue
        try:
            with directory.open(entry.name) as file:
                fault = first_snapshot_fault(file)
        except OSError as error:
            faults.append(f"{os.path.join(directory.path, entry.name)}: {error.strerror or error}")
            continue
        if fault is None:
            _note_head(directory, entry, controls)
            return entry.snapshot_id
        faults.append(str(fault))
    return None


def _note_head(directory: MetadataDirectory, entry: CheckpointEntry, controls: _Controls) -> None:
    """Note the control records at the start of a checkpoint."""
    try:
        with directory.open(entry.name) as file:
            for item in read_batches(file):
                if isinstance(item, BatchFault) or not item.header.is_control:
                    return
                controls.note(item, entry.snapshot_id.offset)
    except OSError:
        return


class _Segments(NamedTuple):
    """The batches that follow each other to the log's end, the damage that ends it, and the highest offset that was in it."""

    keys: BatchKeys
    end: int
    lost: str
    claimed: int


def _read_segments(directory: MetadataDirectory, listing: Listing, certain: int, controls: _Controls) -> _Segments:
    """Walk the log up to the first damage. Damage before the checkpoint's end, `certain`, costs nothing: the batches behind it count."""
    keys, order = BatchKeys(), OrderCheck(None)
    end, claimed, lost = 0, 0, ""
    for item, is_last in _items(directory, listing):
        if isinstance(item, Tail) and is_last and item.may_be_tail:
            break
        if isinstance(item, RecordBatch):
            header = item.header
            claimed = max(claimed, header.last_offset + 1)
            if lost:
                continue
            fault = order.check(item)
            if fault is not None and end < certain:
                keys, fault = BatchKeys(), None
            if fault is None and not keys.bases and header.base_offset > certain:
                fault = SourceFault(item.file, certain, item.position, missing_offsets(certain, header.base_offset))
            if fault is None:
                keys.add(item)
                end = header.last_offset + 1
                controls.note(item, header.base_offset)
            else:
                lost = str(fault)
        elif not lost:
            if end < certain:
                keys, order = BatchKeys(), OrderCheck(None)
            else:
                lost = item if isinstance(item, str) else str(fault_of(item))
    return _Segments(keys, end if keys.bases else 0, lost, claimed)


def _items(directory: MetadataDirectory, listing: Listing) -> Iterator[tuple[RecordBatch | BatchFault | str, bool]]:
    """The batches and faults of all segments, and whether each is of the last one; a text for a segment that cannot be opened."""
    for entry in listing.segments:
        is_last = entry is listing.segments[-1]
        update_progress(f"reading {entry.name}")
        try:
            with directory.open(entry.name) as file:
                for item in read_batches(file):
                    yield item, is_last
        except OSError as error:
            yield f"{os.path.join(directory.path, entry.name)}: {error.strerror or error}", is_last


# ---- the directories of partitions


def is_data_directory(path: str) -> bool:
    """Return whether a path is a log directory without a metadata log, as a broker's further ones are: it shows only partitions."""
    has_log = os.path.lexists(os.path.join(path, METADATA_DIRECTORY))
    return not has_log and read_meta(path) is not None


class PartitionOnDisk(NamedTuple):
    """A partition's directory on a broker. The topic id is None if it cannot be read; without a leader epoch, that is -1."""

    name: str
    partition: int
    topic_id: bytes | None
    leader_epoch: int


def read_partitions(log_directory: str) -> Iterator[PartitionOnDisk]:
    """The partitions of topics in a log directory; marked ones (deleted, stray, future) are left out."""
    try:
        names = sorted(os.listdir(log_directory))
    except OSError:
        return
    for name in names:
        found = partition_name(name)
        folder = os.path.join(log_directory, name)
        if found is None or name != f"{found[0]}-{found[1]}" or found[0] == METADATA_TOPIC or not os.path.isdir(folder):
            continue
        try:
            topic_id: bytes | None = read_topic_id(os.path.join(folder, PARTITION_METADATA))
        except (OSError, LogCorruptError):
            topic_id = None
        yield PartitionOnDisk(found[0], found[1], topic_id, max(_later_epochs(folder), default=-1))


# ---- the choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Records of another source that the best one does not have: offsets from `first` to before `end`, and of which epoch the last is.

    `is_replaced` means that the best source has other records of a later epoch there, so that these were never committed if it is right.
    """

    survivor: Survivor
    first: int
    end: int
    last_epoch: int
    is_replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The best source, and what is known of the others.

    Records before `certain_to` are committed, None if no source knows of any. `conflicts` are the reasons why the sources are not of one
    history, each a sentence. `seen` is the highest offset and epoch of all sources.
    """

    best: Survivor
    others: tuple[Survivor, ...]
    certain_to: int | None
    lacks: tuple[Lack, ...]
    conflicts: tuple[str, ...]
    seen: OffsetAndEpoch


def compare(survivors: Sequence[Survivor]) -> Choice:
    """Choose the source with the longest log as Raft compares logs. Errors: MetashellError for sources of several clusters."""
    ids: dict[str, Survivor] = {}
    for one in survivors:
        # An anonymised bundle has an id of its own.
        if one.cluster_id is not None and not one.is_anonymised:
            ids.setdefault(one.cluster_id, one)
    if len(ids) > 1:
        named = "; ".join(f"{one.label} is of cluster {id}" for id, one in ids.items())
        raise MetashellError(f"the sources are of several clusters: {named}")
    # Of equal logs, one with secrets and without damage comes first, and the first that was named.
    best = max(survivors, key=lambda one: (one.place, not one.is_bundle, not one.lost))
    others = tuple(one for one in survivors if one is not best)
    conflicts: list[str] = []
    lacks: list[Lack] = []
    for other in others:
        conflict, lack = _difference(best, other)
        conflicts += [conflict] if conflict else []
        lacks += [lack] if lack is not None else []
    return Choice(
        best=best,
        others=others,
        certain_to=max((one.certain_to for one in survivors if one.certain_to is not None), default=None),
        lacks=tuple(lacks),
        conflicts=tuple(conflicts),
        seen=OffsetAndEpoch(max(one.seen.offset for one in survivors), max(one.seen.epoch for one in survivors)),
    )


def _difference(best: Survivor, other: Survivor) -> tuple[str, Lack | None]:
    """Why two sources are not of one history, empty if they may be; and what the other one has that the best lacks."""
    at = first_difference(best, other)
    if at is not None:
        offset, epoch, other_epoch = at
        words = f"{other.label} and {best.label} differ at offset {offset}: epoch {other_epoch} and epoch {epoch}"
        if epoch == other_epoch:
            return f"{words}, and two batches of one epoch at one offset come from two histories", None
        if other.certain_to is not None and other.certain_to > offset:
            return f"{words}, though {other.label} knows that all before offset {other.certain_to} is committed", None
    if other.certain_to is not None and other.certain_to > best.end_offset:
        # The best source has a later epoch, whose leader had all that was committed before.
        words = f"{best.label} ends at offset {best.end_offset} in epoch {best.last_epoch}"
        return f"{words}, though {other.label} knows that all before offset {other.certain_to} is committed", None
    id = other.snapshot_id
    known = None if id is None else best.epoch_before(id.offset)
    if id is not None and known not in (None, id.epoch):
        words = f"the checkpoint of {other.label} ends at offset {id.offset} in epoch {id.epoch}"
        return f"{words}, and {best.label} has epoch {known} there", None
    if at is not None and other.end_offset > at[0]:
        return "", Lack(survivor=other, first=at[0], end=other.end_offset, last_epoch=other.last_epoch, is_replaced=True)
    if other.end_offset > best.end_offset:
        first = best.end_offset
        return "", Lack(survivor=other, first=first, end=other.end_offset, last_epoch=other.last_epoch, is_replaced=False)
    return "", None


def first_difference(one: Survivor, other: Survivor) -> tuple[int, int, int] | None:
    """The first offset at which two logs differ, with the epoch in each; None if they agree wherever both have batches."""
    a, b = one.batches, other.batches
    if not a.bases or not b.bases:
        return None
    has_same_bytes = not (one.is_bundle or other.is_bundle)
    start = max(a.bases[0], b.bases[0])
    i, j = bisect_left(a.bases, start), bisect_left(b.bases, start)
    count = min(len(a.bases) - i, len(b.bases) - j)
    lists = [(a.bases, b.bases), (a.epochs, b.epochs), *([(a.checksums, b.checksums)] if has_same_bytes else [])]
    if all(left[i : i + count] == right[j : j + count] for left, right in lists):
        return None
    for k in range(count):
        if any(left[i + k] != right[j + k] for left, right in lists):
            return min(a.bases[i + k], b.bases[j + k]), a.epochs[i + k], b.epochs[j + k]
    raise AssertionError("the lists differ somewhere")
