"""Follows Kafka's start of the metadata log in Kafka's order: small files, segments, snapshots, and the state of the quorum.

Kafka looks at the ending of a file's name first, then at the number before the first dot. A server exits over a name that ends like that
of a segment, index or checkpoint and does not begin with a number.

Source: UnifiedLog.create, LogLoader.load, KafkaRaftLog.createLog, QuorumState.initialize; LogFileUtils,
LogLoader.removeTempFilesAndCollectSwapFiles and loadSegmentFiles, Snapshots.parse; MetaPropertiesEnsemble, PropertiesUtils,
PartitionMetadataFile, CheckpointFile, FileQuorumStateStore and the generated QuorumStateDataJsonConverter, BootstrapDirectory. Each rule
about small files was seen in real 4.3.1."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from metashell.codec.metadata_records import FrameError, UnknownRecord, read_metadata_record
from metashell.codec.releases import METADATA_VERSION
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import METADATA_TOPIC_ID, ZERO_UUID, OffsetAndEpoch, uuid_from_text, uuid_text
from metashell.disk.files import RegularFile, open_regular
from metashell.disk.indexes import ABORTED_TRANSACTION, TRANSACTION_INDEX_VERSION, aborted_transactions
from metashell.disk.names import (
    BOOTSTRAP_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    QUORUM_STATE,
    checkpoint_name,
    parse_name,
    segment_name,
)
from metashell.disk.properties import json_object, read_text_file
from metashell.disk.state_files import QuorumState, read_leader_epochs
from metashell.inspect.verify.partition import INDEX_SUFFIXES
from metashell.inspect.verify.start import BadLengthError, EpochCache, Segment, ServerExit, placed_batches, read_placed, recover_segment

_EPOCH_MAX = (1 << 31) - 1


@dataclass(slots=True)
class StartLog:
    """The state of a directory after the steps of a start so far; after ServerExit it shows what was done until then.

    `kept` is the log, `dropped` are segments that are removed, each with the reason, `snapshots` are those in use in Kafka's order.
    `bootstrap` are the feature levels in bootstrap.checkpoint, None without one; `quorum_epoch` is that of quorum-state, None without it.
    """

    directory: str
    kept: list[Segment] = field(default_factory=list)
    dropped: list[tuple[Segment, str]] = field(default_factory=list)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    dropped_files: list[tuple[str, str]] = field(default_factory=list)
    start_offset: int = 0
    end_offset: int = 0
    epoch: int = 0
    quorum_epoch: int | None = None
    knows_vote: bool = True
    is_loaded: bool = False
    bootstrap: dict[str, int] | None = None

    @property
    def snapshot(self) -> OffsetAndEpoch | None:
        """The newest snapshot, which the server loads."""
        return self.snapshots[-1] if self.snapshots else None


class Start:
    """One start on a log directory whose meta.properties was accepted."""

    def __init__(self, log_directory: str, directory: str) -> None:
        self._log_directory = log_directory
        self._directory = directory
        self._names = NameReader(directory)
        self.log = StartLog(directory)

    def follow(self) -> None:
        """Follow all steps. Errors: ServerExit where Kafka would exit; OSError."""
        self.log.bootstrap = read_bootstrap(os.path.join(self._log_directory, BOOTSTRAP_CHECKPOINT))
        epochs = read_epochs(self._path(LEADER_EPOCH_CHECKPOINT))
        self._names.check_producer_snapshots()
        for name in self._names.leftovers():
            self.log.dropped_files.append((name, "was being removed"))
        self._recover(self._load_segments(epochs), epochs)
        check_topic_id(self._path(PARTITION_METADATA))
        self._recover_snapshots()
        self._start_at_snapshot(epochs)
        self._join_quorum(epochs)
        self.log.is_loaded = True

    def _path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    # ---- segments

    def _load_segments(self, epochs: EpochCache) -> list[tuple[int, Segment | None]]:
        """Load the segments; return their base offsets. A segment without an index is recovered here already."""
        found: dict[int, Segment | None] = {}
        for name, base in self._names.segments():
            if not name.endswith(".log"):
                if not os.path.exists(self._path(segment_name(base))):
                    self.log.dropped_files.append((name, "is the index of no segment"))
                continue
            stem = self._path(segment_name(base)).removesuffix(".log")
            if base < 0:
                raise ServerExit(self._path(name), "a segment below offset 0", is_known=False)
            lacks_index = not os.path.exists(f"{stem}.index")
            if lacks_index or not _transactions_are_sane(f"{stem}.txnindex", base):
                early = found[base] = recover_segment(f"{stem}.log", base, epochs, is_early=True)
                self.log.kept.append(early)
            else:
                found[base] = None
        return sorted(found.items())

    def _recover(self, found: Sequence[tuple[int, Segment | None]], epochs: EpochCache) -> None:
        """Recover each segment. After one that is cut here, and not when it was loaded, Kafka drops all later ones."""
        log = self.log
        log.kept.clear()
        is_cut = False
        for number, (base, early) in enumerate(found):
            path = self._path(segment_name(base))
            if is_cut:
                log.dropped.append((_whole(path, base), f"{os.path.basename(log.kept[-1].path)}, before it, is cut"))
                continue
            segment = early if early is not None else recover_segment(path, base, epochs)
            log.kept.append(segment)
            if segment.split_at is not None:
                self._split(segment, epochs, is_last=number == len(found) - 1)
                continue
            is_cut = early is None and segment.valid_size < segment.size
        if not log.kept:
            log.kept.append(Segment(self._path(segment_name(0)), 0, 0))
        log.kept.sort(key=lambda segment: segment.base_offset)
        log.start_offset = log.kept[0].base_offset
        log.end_offset = log.kept[-1].next_offset
        epochs.cut(log.end_offset)

    def _split(self, segment: Segment, epochs: EpochCache, *, is_last: bool) -> None:
        """Make the last batch a segment of its own."""
        batch = segment.split_at
        assert batch is not None
        split = Segment(segment.path, batch.base_offset, batch.size, [batch], batch.size)
        self.log.kept.append(split)
        if is_last:
            epochs.found(batch.epoch, batch.base_offset, segment.path)

    # ---- snapshots

    def _recover_snapshots(self) -> None:
        log = self.log
        found = self._names.snapshots(log.start_offset)
        if log.start_offset > 0 and not (found.complete and found.complete[-1].offset >= log.start_offset):
            newest = f"the newest is {checkpoint_name(found.complete[-1])}" if found.complete else "there is none"
            raise ServerExit(self._directory, f"the log starts at offset {log.start_offset} and needs a checkpoint from there on: {newest}")
        log.snapshots = found.complete
        for name in found.leftovers:
            log.dropped_files.append((name, "is unfinished, or lies before the log"))

    def _start_at_snapshot(self, epochs: EpochCache) -> None:
        """Begin the log anew at the newest snapshot if that is ahead of the log's end: by epoch, then by offset."""
        log = self.log
        newest = log.snapshot
        if newest is None:
            return
        latest = epochs.latest or 0
        if newest.epoch < latest or (newest.epoch == latest and newest.offset <= log.end_offset):
            return
        reason = f"the log begins anew at {checkpoint_name(newest)}"
        for segment in log.kept:
            log.dropped.append((_whole(segment.path, segment.base_offset), reason))
        for id in log.snapshots[:-1]:
            log.dropped_files.append((checkpoint_name(id), reason))
        log.snapshots = [newest]
        log.kept = [Segment(self._path(segment_name(newest.offset)), newest.offset, 0)]
        log.start_offset = log.end_offset = newest.offset
        epochs.entries.clear()

    # ---- the quorum

    def _join_quorum(self, epochs: EpochCache) -> None:
        log = self.log
        place = self._path(QUORUM_STATE)
        election = read_election(place)
        last_epoch = epochs.latest
        if last_epoch is None:
            newest = log.snapshot
            last_epoch = 0 if newest is None else newest.epoch
            if newest is not None and not newest.offset == log.start_offset == log.end_offset:
                raise ServerExit(self._directory, f"nothing says of what epoch the log is that ends at offset {log.end_offset}")
        log.epoch = last_epoch
        log.quorum_epoch = None if election is None else election.leader_epoch
        log.knows_vote = log.end_offset == 0 if election is None else election.leader_epoch >= last_epoch
        epoch = max(last_epoch, election.leader_epoch if election is not None else 0)
        if epoch >= _EPOCH_MAX:
            raise ServerExit(place, f"epoch {epoch} is the last there can be: the next election ends the server")


def _whole(path: str, base_offset: int) -> Segment:
    """Recover a segment that is dropped, to count what is lost with it. It changes no epochs."""
    try:
        return recover_segment(path, base_offset, EpochCache())
    except ServerExit as end:
        size = os.path.getsize(path) if os.path.exists(path) else 0
        return Segment(path, base_offset, size, reason=end.reason)


def _transactions_are_sane(path: str, base_offset: int) -> bool:
    """Return whether Kafka accepts a transaction index, which a metadata log has none of. Errors: ServerExit for an unknown version."""
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        data = file.read(1 << 20)
    for number, aborted in enumerate(aborted_transactions(data)):
        if aborted.version != TRANSACTION_INDEX_VERSION:
            raise ServerExit(
                path, f"version {aborted.version} of an aborted transaction is not known", position=number * ABORTED_TRANSACTION.size
            )
        if aborted.last_offset < base_offset:
            return False
    return True


def is_sane_transaction_index(path: str) -> bool:
    """Return whether Kafka accepts a transaction index of the metadata log. Errors: ServerExit for an unknown version."""
    return _transactions_are_sane(path, 0)


_CHECKPOINT_ENDINGS = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")
_LONG = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)


@dataclass(slots=True)
class Snapshots:
    """Complete snapshots in Kafka's order (epoch, then offset), and files that are removed in any case."""

    complete: list[OffsetAndEpoch] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


class NameReader:
    """Sorts the names of a directory's regular files as Kafka does. The directory may be missing."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name) if os.path.isdir(directory) else []
        self.names = [entry.name for entry in entries if entry.is_file()]
        self._all = [entry.name for entry in entries]

    def check_producer_snapshots(self) -> None:
        """Errors: ServerExit."""
        for name in self.names:
            if name.endswith(".snapshot"):
                self._number(name)

    def leftovers(self) -> list[str]:
        """Files that are removed before anything is loaded. Errors: ServerExit."""
        found: list[str] = []
        swaps: list[str] = []
        for name in self.names:
            if not os.access(os.path.join(self.directory, name), os.R_OK):
                raise ServerExit(os.path.join(self.directory, name), "Kafka cannot read the file")
            if name.endswith(".deleted") and not name.endswith(".checkpoint.deleted"):
                found.append(name)
            elif name.endswith((".cleaned", ".swap")):
                self._number(name)
                (swaps if name.endswith(".swap") else found).append(name)
        if swaps:
            what = "what Kafka makes of a file that was being swapped in is not known here"
            raise ServerExit(os.path.join(self.directory, swaps[0]), what, is_known=False)
        return found

    def segments(self) -> Iterator[tuple[str, int]]:
        """Indexes and segments in the order in which they are loaded, each with its offset. Errors: ServerExit."""
        for name in self.names:
            if name.endswith((*INDEX_SUFFIXES, ".log")):
                yield name, self._number(name)

    def snapshots(self, start_offset: int) -> Snapshots:
        """Errors: ServerExit."""
        found = Snapshots()
        for name in self._all:
            if not name.endswith(_CHECKPOINT_ENDINGS) or name == BOOTSTRAP_CHECKPOINT:
                continue
            parsed = parse_name(name)
            if parsed is None or parsed.snapshot_id is None or parsed.is_compressed:
                known = not (_LONG.fullmatch(name[:20]) and _LONG.fullmatch(name[21:31]) and len(name[:20]) == 20)
                raise ServerExit(os.path.join(self.directory, name), "Kafka fails to read the name as a checkpoint's", is_known=known)
            if parsed.state or parsed.snapshot_id.offset < start_offset:
                found.leftovers.append(name)
            else:
                found.complete.append(parsed.snapshot_id)
        found.complete.sort(key=lambda id: (id.epoch, id.offset))
        return found

    def _number(self, name: str) -> int:
        stem = name[: name.index(".")]
        if not _LONG.fullmatch(stem) or not -(1 << 63) <= int(stem) < 1 << 63:
            raise ServerExit(os.path.join(self.directory, name), "Kafka fails to read the name as that of a file of the log")
        return int(stem)


T = TypeVar("T")

_VERSION_LINE = re.compile(r"version: \+?([0-9]{1,9})", re.ASCII)
_TOPIC_LINE = re.compile(r"topic_id: (\S+)", re.ASCII)


def read_bootstrap(path: str) -> dict[str, int] | None:
    """The feature levels of a bootstrap checkpoint, None where there is none.

    Kafka reads it at each start without checking checksums, and it must have a metadata.version. Errors: ServerExit.
    """
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        raise ServerExit(path, "is not a regular file")
    try:
        with open_regular(path) as file:
            levels = _levels(file)
    except (BadLengthError, DecodeError, FrameError) as error:
        raise ServerExit(path, str(error)) from None
    if METADATA_VERSION not in levels:
        raise ServerExit(path, "has no record of a metadata.version")
    return levels


def _levels(file: RegularFile) -> dict[str, int]:
    """The feature levels in a bootstrap checkpoint. Every record is read, since Kafka exits over any that it cannot read."""
    levels = {}
    for placed in placed_batches(file):
        batch = read_placed(file, placed)
        for record in batch.records():
            value = record.value or b""
            if batch.header.is_control:
                continue
            found = read_metadata_record(value, 0, len(value))
            if isinstance(found.body, UnknownRecord):
                raise DecodeError(f"offset {record.offset}: {found.fault}")
            if found.type_name == "FEATURE_LEVEL_RECORD":
                levels[found.body.name] = found.body.feature_level
    return levels


def read_epochs(path: str) -> EpochCache:
    """Load the leader epoch cache. Errors: ServerExit."""
    cache = EpochCache()
    if os.path.lexists(path) and _read(path, read_text_file).strip() != b"0":  # a version alone is no entries
        for entry in _read(path, read_leader_epochs):
            cache.assign(entry.epoch, entry.start_offset, path)
    return cache


def check_topic_id(path: str) -> None:
    """Check a partition.metadata, of which Kafka reads two lines. Errors: ServerExit."""
    if not os.path.lexists(path):
        return
    lines = _read(path, read_text_file).decode("utf-8", "replace").split("\n")
    version = _VERSION_LINE.fullmatch(lines[0].rstrip("\r"))
    topic = _TOPIC_LINE.fullmatch(lines[1].rstrip("\r")) if len(lines) > 1 else None
    if version is None or topic is None:
        raise ServerExit(path, "is not partition metadata")
    try:
        topic_id = uuid_from_text(topic[1])
    except ValueError as error:
        raise ServerExit(path, str(error)) from None
    if topic_id == ZERO_UUID:
        raise ServerExit(path, "its topic id is zero")
    if topic_id != METADATA_TOPIC_ID:
        raise ServerExit(path, f"topic id {uuid_text(topic_id)} is not that of the metadata log")


def read_election(path: str) -> QuorumState | None:
    """Read a quorum-state, None without one: a JSON value in the first line, with every field of its version.

    Errors: ServerExit.
    """
    if not os.path.lexists(path):
        return None
    line = _read(path, read_text_file).split(b"\n")[0]
    try:
        fields = json_object(line, ignores_rest=True)
    except ValueError as error:
        raise ServerExit(path, str(error)) from None
    version = fields.get("data_version")
    if version is None:
        raise ServerExit(path, "data_version is missing")
    if isinstance(version, dict | list) or version not in _MANDATORY:
        raise ServerExit(path, f"data_version {version} is not known")
    for name, holds in _MANDATORY[version].items():
        if name not in fields:
            raise ServerExit(path, f"{name} is missing, which version {version} requires")
        if not holds(fields[name]):
            raise ServerExit(path, f"{name} {json.dumps(fields[name])[:80]} has the wrong type")
    directory_id = fields["votedDirectoryId"] if version else None
    return QuorumState(
        leader_epoch=fields["leaderEpoch"],
        leader_id=fields["leaderId"],
        voted_id=fields["votedId"],
        voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
        data_version=version,
    )


def _is_int32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def _is_uuid(value: object) -> bool:
    try:
        uuid_from_text(str(value))
    except ValueError:
        return False
    return isinstance(value, str)


def _are_voters(value: object) -> bool:
    # The schema allows null, but Kafka exits over it.
    return isinstance(value, list) and all(isinstance(voter, dict) and _is_int32(voter.get("voterId")) for voter in value)


_MANDATORY: dict[int, dict[str, Callable[[object], bool]]] = {
    0: {
        "clusterId": lambda value: isinstance(value, str),
        "leaderId": _is_int32,
        "leaderEpoch": _is_int32,
        "votedId": _is_int32,
        "appliedOffset": _is_int64,
        "currentVoters": _are_voters,
    },
    1: {"leaderId": _is_int32, "leaderEpoch": _is_int32, "votedId": _is_int32, "votedDirectoryId": _is_uuid},
}


def _read(path: str, read: Callable[[str], T]) -> T:
    if not os.path.isfile(path):
        raise ServerExit(path, "is not a regular file")
    try:
        return read(path)
    except LogCorruptError as error:
        raise ServerExit(path, error.reason) from None
    except OSError as error:
        raise ServerExit(path, error.strerror or str(error)) from None
