"""Reads what is left of a quorum: log directories of controllers and brokers, metadata directories, checkpoints, and bundles.

Sources are only read, and may belong to a running node. A log counts up to its first damage behind the newest whole checkpoint."""

from __future__ import annotations

import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, LEADER_CHANGE, read_control_record
from metashell.codec.batches import RecordBatch
from metashell.common.errors import DecodeError, LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.terminal import update_progress
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch, group_log_topic_id
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
from metashell.disk.source import FileSource
from metashell.disk.state_files import QuorumState, read_leader_epochs, read_quorum_state, read_topic_id
from metashell.inspect.survivors import BUNDLE, CHECKPOINT, LOG_DIRECTORY, METADATA_FOLDER, BatchKeys, KnownQuorum, Survivor
from metashell.metadata.image.provenance import VoterSet, voter_set

METADATA_TOPIC: Final = "__cluster_metadata"
_BUNDLE_MARKS: Final = frozenset({"README.md", "status.json", "verify.txt"})
_ALIAS_MARK: Final = "(not its real id)"
_BUNDLE_MAX: Final = 16 << 30
_README_MAX: Final = 1 << 20


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
    return not has_log and os.path.isdir(path) and read_meta(path) is not None


class PartitionOnDisk(NamedTuple):
    """A partition's directory on a broker. The topic id is None if it cannot be read; without a leader epoch, that is -1."""

    name: str
    partition: int
    topic_id: bytes | None
    leader_epoch: int


def read_partitions(log_directory: str) -> Iterator[PartitionOnDisk]:
    """The partitions of topics in a log directory; marked ones (deleted, stray, future) are left out, and a controller's log of groups."""
    try:
        names = sorted(os.listdir(log_directory))
    except OSError:
        return
    meta = _meta_of(log_directory)
    own_id = None if meta is None else group_log_topic_id(meta.cluster_id or "")
    for name in names:
        found = partition_name(name)
        folder = os.path.join(log_directory, name)
        if found is None or name != f"{found[0]}-{found[1]}" or found[0] == METADATA_TOPIC or not os.path.isdir(folder):
            continue
        try:
            topic_id: bytes | None = read_topic_id(os.path.join(folder, PARTITION_METADATA))
        except (OSError, LogCorruptError):
            topic_id = None
        if topic_id is not None and topic_id == own_id:
            continue
        yield PartitionOnDisk(found[0], found[1], topic_id, max(_later_epochs(folder), default=-1))
