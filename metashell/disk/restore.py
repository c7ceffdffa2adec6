"""Writes the log directory of the first controller of a restored quorum: its identity, one snapshot, and an empty log behind it.

The records come from the caller. Their snapshot has a place in a new history:

- Its offset and epoch are far above every one that was seen (`new_place`). A node that has an older copy of the log, as each broker has,
  then finds itself behind the new leader, and fetches the snapshot. If its own log were longer than the leader's, it would truncate it
  record by record, and its controller epoch or its broker epoch could repeat.
- Its voters are the new node alone, in control records (kraft.version 1); without these, a server takes them from
  `controller.quorum.voters` (kraft.version 0).
- quorum-state has the snapshot's epoch and no vote, so the node's first election has a later epoch than anyone has seen.

Worked case: the best source ends at offset 503 in epoch 7, and another node had reached epoch 9. The snapshot is
`00000000001000000503-0001000009.checkpoint`: offset 1000000503 stands for 503, and the new leader's first epoch is 1000010.

The directory may be interrupted at any moment. Everything is first written into `__cluster_metadata-0.restoring` and
`meta.properties.restoring`, and synced; then the folder gets its name, then meta.properties. No server starts on a directory without
meta.properties. The next restore removes what an interrupted one left, which these names show.
Source: org.apache.kafka.raft.internals.KafkaRaftLog.truncateToLatestSnapshot; org.apache.kafka.snapshot.RecordsSnapshotWriter; KIP-595,
KIP-630, KIP-853."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from metashell.codec.batch_writer import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, write_batch, write_control_bodies
from metashell.codec.batches import Record
from metashell.codec.messages import SnapshotFooterRecord, SnapshotHeaderRecord
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import METADATA_TOPIC_ID, OffsetAndEpoch
from metashell.disk.bootstrap import Voter, quorum_controls
from metashell.disk.file_system import FILE_MODE, DirectoryLock, Disk, make_directories
from metashell.disk.names import (
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    METADATA_DIRECTORY,
    PARTITION_METADATA,
    QUORUM_STATE,
    checkpoint_name,
    segment_name,
)
from metashell.disk.properties import MetaProperties, format_meta_properties
from metashell.disk.state_files import QuorumState, format_leader_epochs, format_quorum_state, format_topic_id

OFFSET_MARGIN: Final = 1_000_000_000
EPOCH_MARGIN: Final = 1_000_000
"""How far a restored quorum begins above the highest offset and epoch seen. A lone voter of 3.9 that cannot win begins up to 60 000
epochs a day."""
OFFSET_MAX: Final = (1 << 62) - 1
EPOCH_MAX: Final = (1 << 30) - 1

RESTORING_SUFFIX: Final = ".restoring"
_RESTORING_FOLDER: Final = METADATA_DIRECTORY + RESTORING_SUFFIX
_RESTORING_META: Final = META_PROPERTIES + RESTORING_SUFFIX
_IGNORED: Final = frozenset({"lost+found", DirectoryLock.NAME})
_READ_ONLY: Final = 0o444
_BATCH_RECORDS_MAX: Final = 1024
_BATCH_SIZE_MAX: Final = 1 << 20
_STATIC_VERSION, _DYNAMIC_VERSION = 0, 1


def new_place(offset: int, epoch: int) -> OffsetAndEpoch:
    """The end offset and epoch of the restored snapshot, from the highest offset and epoch that any source has seen.

    Errors: MetashellError if they are so high that nothing fits above them.
    """
    if offset > OFFSET_MAX or epoch > EPOCH_MAX:
        raise MetashellError(f"offset {offset} and epoch {epoch} leave no room above them for a new quorum")
    return OffsetAndEpoch(max(offset, 0) + OFFSET_MARGIN, max(epoch, 0) + EPOCH_MARGIN)


class RestorePlan(NamedTuple):
    """The directory to write.

    `voter` is the new node as a voter; `others` are further first voters, whose directories have the same snapshot. With `is_static`
    its name stands in no record, and `voter_ids` go into quorum-state, whose layout then is that of kraft.version 0.
    `last_timestamp_ms` is that of the last record that the snapshot contains. Units: Unix ms.
    """

    path: str
    cluster_id: str
    voter: Voter
    listener: str
    is_static: bool
    snapshot_id: OffsetAndEpoch
    last_timestamp_ms: int
    now_ms: int
    date: str
    others: tuple[Voter, ...] = ()

    @property
    def checkpoint(self) -> str:
        """The name of the snapshot below the directory."""
        return f"{METADATA_DIRECTORY}/{checkpoint_name(self.snapshot_id)}"


def check_target(path: str) -> None:
    """Check that a directory is absent, empty, or what an interrupted restore left.

    Errors: PathError for anything else: nothing that is there is ever replaced.
    """
    try:
        names = set(os.listdir(path)) - _IGNORED
    except FileNotFoundError:
        return
    except OSError as error:
        raise PathError.of(path, error) from None
    if names - _leftovers(path, names):
        raise PathError(f"{path}: is not empty ({', '.join(sorted(names)[:3])}): name a directory that is empty or absent", path)


def _leftovers(path: str, names: set[str]) -> set[str]:
    """The names that an interrupted restore left. The folder of the log is one of them only while meta.properties waits beside it."""
    known = {_RESTORING_FOLDER, _RESTORING_META}
    found = names & (known | {METADATA_DIRECTORY} if _RESTORING_META in names else known)
    # A link may lead to another node's log.
    return {name for name in found if not os.path.islink(os.path.join(path, name))}


def write_restored(plan: RestorePlan, values: Iterable[bytes], disk: Disk | None = None) -> int:
    """Write the directory; `values` are the framed metadata records of the snapshot, in order. Returns the snapshot's size in bytes.

    Errors: PathError if the directory is not empty or cannot be written; nothing stays behind then but directories that were there before.
    """
    return _Restoring(plan, disk or Disk()).run(values)


class _Restoring:
    """One write of a plan."""

    def __init__(self, plan: RestorePlan, disk: Disk) -> None:
        self._plan = plan
        self._disk = disk
        self._made: list[str] = []
        self._lock: DirectoryLock | None = None
        self._is_clear = False
        """Whether the directory holds nothing that is not ours."""

    def run(self, values: Iterable[bytes]) -> int:
        plan = self._plan
        try:
            make_directories(self._disk, plan.path, self._made)
            try:
                self._lock = DirectoryLock(plan.path, self._disk)
            except BlockingIOError:
                raise PathError(f"{plan.path}: in use by a running process, which holds its .lock", plan.path) from None
            check_target(plan.path)
            self._is_clear = True
            self._remove_leftovers()
            size = self._write_aside(values)
            self._put_in_place()
        except BaseException as error:
            self._undo()
            if isinstance(error, OSError):
                raise PathError(f"{error.filename or plan.path}: {error.strerror or error}; nothing was written", plan.path) from None
            raise
        finally:
            if self._lock is not None:
                self._lock.release()
        return size

    def _write_aside(self, values: Iterable[bytes]) -> int:
        plan, disk = self._plan, self._disk
        folder = self._path(_RESTORING_FOLDER)
        disk.make_directory(folder)
        size = self._write(os.path.join(folder, checkpoint_name(plan.snapshot_id)), self._snapshot(values), _READ_ONLY)
        version = _STATIC_VERSION if plan.is_static else _DYNAMIC_VERSION
        state = QuorumState(
            leader_epoch=plan.snapshot_id.epoch,
            current_voters=(plan.voter.node_id,) if plan.is_static else (),
            data_version=version,
        )
        for name, data in (
            (segment_name(plan.snapshot_id.offset), b""),
            (QUORUM_STATE, format_quorum_state(state)),
            (LEADER_EPOCH_CHECKPOINT, format_leader_epochs(())),
            (PARTITION_METADATA, format_topic_id(METADATA_TOPIC_ID)),
        ):
            self._write(os.path.join(folder, name), (data,))
        disk.sync_directory(folder)
        meta = MetaProperties(1, plan.cluster_id, plan.voter.node_id, plan.voter.directory_id)
        self._write(self._path(_RESTORING_META), (format_meta_properties(meta, date=plan.date),))
        disk.sync_directory(plan.path)
        return size

    def _write(self, path: str, pieces: Iterable[bytes], mode: int = FILE_MODE) -> int:
        size = 0
        fd = self._disk.create_file(path, mode)
        try:
            for piece in pieces:
                self._disk.append(fd, piece)
                size += len(piece)
            self._disk.sync_file(fd)
        finally:
            self._disk.close_file(fd)
        return size

    def _snapshot(self, values: Iterable[bytes]) -> Iterator[bytes]:
        """The batches of the snapshot. Their offsets count from 0, and their epoch is the snapshot's."""
        plan = self._plan
        epoch, now = plan.snapshot_id.epoch, plan.now_ms
        header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=plan.last_timestamp_ms)
        controls = quorum_controls(
            _STATIC_VERSION if plan.is_static else _DYNAMIC_VERSION, sorted((plan.voter, *plan.others)), plan.listener
        )
        head = [(SNAPSHOT_HEADER, header), *controls]
        yield write_control_bodies(0, head, now, leader_epoch=epoch)
        offset = len(head)
        batch: list[Record] = []
        size = 0
        for value in values:
            if batch and (len(batch) == _BATCH_RECORDS_MAX or size + len(value) > _BATCH_SIZE_MAX):
                yield write_batch(batch[0].offset, batch, leader_epoch=epoch)
                batch, size = [], 0
            batch.append(Record(offset, now, None, value))
            offset += 1
            size += len(value)
        if batch:
            yield write_batch(batch[0].offset, batch, leader_epoch=epoch)
        yield write_control_bodies(offset, [(SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0))], now, leader_epoch=epoch)

    def _put_in_place(self) -> None:
        disk = self._disk
        disk.rename(self._path(_RESTORING_FOLDER), self._path(METADATA_DIRECTORY))
        # Both names are in one directory. Without this sync, meta.properties could be on disk and the log not.
        disk.sync_directory(self._plan.path)
        disk.rename(self._path(_RESTORING_META), self._path(META_PROPERTIES))
        try:
            disk.sync_directory(self._plan.path)
        except OSError:
            # With its first name, what is there is removed like the rest.
            disk.rename(self._path(META_PROPERTIES), self._path(_RESTORING_META))
            raise

    def _path(self, name: str) -> str:
        return os.path.join(self._plan.path, name)

    def _remove_leftovers(self) -> None:
        """Remove what an interrupted restore left. The file that shows it goes last."""
        found = _leftovers(self._plan.path, set(os.listdir(self._plan.path)))
        for name in (_RESTORING_FOLDER, METADATA_DIRECTORY):
            if name in found:
                self._remove_folder(self._path(name))
        if found:
            self._disk.sync_directory(self._plan.path)
        if _RESTORING_META in found:
            self._disk.remove_file(self._path(_RESTORING_META))
            self._disk.sync_directory(self._plan.path)

    def _remove_folder(self, folder: str) -> None:
        for name in sorted(os.listdir(folder)):
            self._disk.remove_file(os.path.join(folder, name))
        self._disk.remove_directory(folder)

    def _undo(self) -> None:
        """Remove what was written, and the directories that were made, as far as possible."""
        if self._is_clear:
            with suppress(OSError):
                self._remove_leftovers()
        if self._lock is not None:
            self._lock.release()
        for path in reversed(self._made):
            with suppress(OSError):
                self._disk.remove_directory(path)
