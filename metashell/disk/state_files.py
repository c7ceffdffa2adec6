"""Small text files beside a log: `quorum-state`, the text checkpoints, and our own `recovery-point`.

`quorum-state` is a node's election state, one line of JSON.

A text checkpoint has a version, a number of entries, and one entry a line. `leader-epoch-checkpoint` has lines of epoch and start offset;
the offset checkpoints (`recovery-point-offset-checkpoint`, `replication-offset-checkpoint`, `log-start-offset-checkpoint`) of topic,
partition and offset. `partition.metadata` is a small file of its own form.

`recovery-point` says how far a log was known to be durable, which distinguishes damage from a write that was cut off. If the machine stops
during a flush, one batch may be written in part, and later batches of the same flush as a whole. Below the recovery point that is
impossible: everything there was synced, so a bad or missing batch was damaged or lost afterwards. Example: the point is 500, and the batch
at 480 has a wrong checksum: this is damage, and the replica loses its vote. With the point at 480 and nothing whole behind that batch, it
is a torn write, which is cut off.

The file is written in place after each flush, and the flush does not wait for it: after a kill of the process it is exact. It is synced
every `SYNC_EVERY` flushes, at the start, at the end, and before anything below it is cut off. So after a power failure it may be a little
too low, never too high: a low point only lets some damage pass for a torn write, while a high one would report damage that never was.
Kafka has no such file for this log, and may have truncated the log since, following a later leader: a reader compares the point's epoch
with that of quorum-state.

Shape: `0 OFFSET EPOCH CRC`, one line of fixed width; OFFSET is exclusive, EPOCH is that of the batch before it, CRC is the CRC-32C of the
text before it, in hex. A file of another form is ignored."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any, Final, NamedTuple, NoReturn

from metashell.codec.framing import whole_frames
from metashell.codec.primitives import crc32c
from metashell.codec.redaction import shown_text
from metashell.common.errors import LogCorruptError
from metashell.common.values import ZERO_UUID, uuid_from_text, uuid_text
from metashell.disk.file_system import Disk, replace_file
from metashell.disk.names import ACKNOWLEDGED, METADATA_DIRECTORY, QUORUM_STATE, RECOVERY_POINT
from metashell.disk.properties import json_object, read_json_file, read_text_file

NO_NODE = -1
SUPPORTED_VERSIONS = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """The leader and vote of the newest epoch that the node knows; -1 is nobody, and without a vote the directory id is zero.

    Fields of version 0 that Kafka writes and never reads are left out, except the voters.
    """

    leader_epoch: int = 0
    leader_id: int = NO_NODE
    voted_id: int = NO_NODE
    voted_directory_id: bytes = ZERO_UUID
    current_voters: tuple[int, ...] = ()
    data_version: int = 0


def read_quorum_state(path: str) -> QuorumState:
    """The election state at `path`; a missing file is epoch 0, no leader, no vote.

    Errors: LogCorruptError for other content, or a version that is not 0 or 1.
    Source: org.apache.kafka.raft.FileQuorumStateStore.
    """
    return read_json_file(path, _parse) or QuorumState()


def quorum_state_fields(data: bytes) -> dict[str, Any]:
    """The JSON fields of a quorum-state that `read_quorum_state` accepts. Errors: ValueError."""
    fields = json_object(data)
    _parse(fields)
    return fields


def format_quorum_state(state: QuorumState) -> bytes:
    """The bytes that Kafka writes for `state.data_version`, which is 1 from kraft.version 1 on.

    Version 0 has no directory id of the vote, version 1 no voters.
    """
    fields: dict[str, object]
    match state.data_version:
        case 0:
            fields = {
                "clusterId": "",
                "leaderId": state.leader_id,
                "leaderEpoch": state.leader_epoch,
                "votedId": state.voted_id,
                "appliedOffset": 0,
                "currentVoters": [{"voterId": voter} for voter in state.current_voters],
            }
        case 1:
            fields = {
                "leaderId": state.leader_id,
                "leaderEpoch": state.leader_epoch,
                "votedId": state.voted_id,
                "votedDirectoryId": uuid_text(state.voted_directory_id),
            }
        case other:
            raise ValueError(f"data_version {other} is not known")
    return json.dumps(fields | {"data_version": state.data_version}, separators=(",", ":")).encode()


def write_quorum_state(path: str, state: QuorumState, disk: Disk | None = None) -> None:
    """Replace the file at `path` in one step; durable on return.

    Errors: OSError, after which the old or the new state may be on disk: the writer must stop.
    Source: org.apache.kafka.raft.FileQuorumStateStore.
    """
    replace_file(disk or Disk(), path, format_quorum_state(state))


def _parse(fields: dict[str, Any]) -> QuorumState:
    version = _integer(fields, "data_version")
    if version not in SUPPORTED_VERSIONS:
        raise ValueError(f"data_version {version} is not known")
    directory_id = fields.get("votedDirectoryId")
    if not isinstance(directory_id, str | None):
        raise ValueError(f"votedDirectoryId {directory_id!r} is not a text")
    voters = fields.get("currentVoters") or []
    if not isinstance(voters, list) or not all(isinstance(voter, dict) for voter in voters):
        raise ValueError("currentVoters is not a list of objects")
    return QuorumState(
        leader_epoch=_integer(fields, "leaderEpoch", NO_NODE),
        leader_id=_integer(fields, "leaderId", NO_NODE),
        voted_id=_integer(fields, "votedId", NO_NODE),
        voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
        current_voters=tuple(_integer(voter, "voterId") for voter in voters),
        data_version=version,
    )


def _integer(fields: dict[str, Any], name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if value is None and name not in fields:
        raise ValueError(f"{name} is missing")
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} {value!r} is not a number")
    return value


def how_much_is_unknown(directory: str) -> str:
    """What to do where nobody knows how much a log lost; quorum-state says which quorum it is."""
    try:
        state = read_quorum_state(os.path.join(directory, QUORUM_STATE))
        is_dynamic = state.data_version > 0 if state.leader_epoch >= 0 and os.path.lexists(os.path.join(directory, QUORUM_STATE)) else None
    except (OSError, LogCorruptError):
        is_dynamic = None
    return f"how much this log lost is not known: {ways_back(os.path.dirname(directory), is_dynamic)}"


def ways_back(log_directory: str, is_dynamic: bool | None) -> str:
    """What a node may do whose files in the metadata directory cannot be trusted, each way with the condition under which it loses nothing.

    `is_dynamic` is whether the quorum knows its voters by directory ids (kraft.version 1), None where that is not known. Where it does not,
    a node with an empty directory is the voter that it was, and votes without what that had acknowledged.
    """
    ways = []
    if os.path.lexists(os.path.join(log_directory, ACKNOWLEDGED)):
        ways.append(
            f"while a majority of the other voters runs, delete {METADATA_DIRECTORY} alone, and nothing beside it: the node then has no "
            "vote until a leader has sent it all"
        )
    if is_dynamic is not False:
        ways.append("with kraft.version 1, remove this voter, format the directory anew (it gets a new directory id), and add it again")
    if is_dynamic is not True:
        ways.append("with controller.quorum.voters never format it anew: the others cannot tell it from the voter that it was")
    return "; ".join([*ways, "or accept the loss (--accept-loss) if a majority of the others has all that was committed"])


_VERSION = 0
_NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
_EPOCH_LINE = re.compile(r"(-?\d{1,10})\s+(-?\d{1,19})", re.ASCII)
_OFFSET_LINE = re.compile(r"(\S+)\s+(\d{1,10})\s+(-?\d{1,19})", re.ASCII)
_TOPIC_ID_LINE = re.compile(r"topic_id:\s*(\S+)")


@dataclass(frozen=True, slots=True)
class EpochEntry:
    """An epoch and its first offset."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    topic: str
    partition: int
    offset: int


def read_leader_epochs(path: str) -> tuple[EpochEntry, ...]:
    """The entries of a leader-epoch-checkpoint, in the file's order.

    Errors: FileNotFoundError; LogCorruptError for another version, number of entries, or form of a line.
    """
    return tuple(EpochEntry(int(match[1]), int(match[2])) for match in _entries(path, _EPOCH_LINE))


def format_leader_epochs(entries: Sequence[tuple[int, int]]) -> bytes:
    """The bytes of a leader-epoch-checkpoint with these epochs and start offsets."""
    return "".join(f"{line}\n" for line in (_VERSION, len(entries), *(f"{epoch} {start}" for epoch, start in entries))).encode()


def format_topic_id(topic_id: bytes) -> bytes:
    """The bytes of a partition.metadata; no line end follows the last line."""
    return f"version: {_VERSION}\ntopic_id: {uuid_text(topic_id)}".encode()


def read_partition_offsets(path: str) -> tuple[PartitionOffset, ...]:
    """The entries of an offset checkpoint, in the file's order.

    Errors: as `read_leader_epochs`.
    """
    return tuple(PartitionOffset(match[1], int(match[2]), int(match[3])) for match in _entries(path, _OFFSET_LINE))


def read_topic_id(path: str) -> bytes:
    """The topic id that a partition.metadata holds.

    Errors: FileNotFoundError; LogCorruptError for another version or no topic id.
    """
    lines = [line for _, line in _lines(path)]
    match = _TOPIC_ID_LINE.fullmatch(lines[1]) if len(lines) > 1 and lines[0] == f"version: {_VERSION}" else None
    if match is None:
        raise LogCorruptError(path, 0, "is not partition metadata of version 0")
    try:
        return uuid_from_text(match[1])
    except ValueError as error:
        raise LogCorruptError(path, 0, str(error)) from error


def _entries(path: str, form: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The lines with entries, none for an empty file. Errors have Kafka's words (org.apache.kafka.server.common.CheckpointFile)."""
    lines = list(_lines(path))
    if not lines:
        return
    version = _number(path, lines, 0)
    if version != _VERSION:
        raise LogCorruptError(path, 0, f"Unrecognised version of the checkpoint file: {version}")
    expected = _number(path, lines, 1)
    if len(lines) - 2 != expected:
        raise LogCorruptError(path, lines[1][0], f"Expected {expected} entries in checkpoint file, but found only {len(lines) - 2}")
    for offset, line in lines[2:]:
        match = form.fullmatch(line)
        if match is None:
            _malformed(path, offset, line)
        yield match


def _number(path: str, lines: list[tuple[int, str]], index: int) -> int:
    if index >= len(lines):
        raise LogCorruptError(path, 0, "checkpoint file is cut off")
    offset, line = lines[index]
    if not _NUMBER.fullmatch(line):
        _malformed(path, offset, line)
    return int(line)


def _malformed(path: str, offset: int, line: str) -> NoReturn:
    raise LogCorruptError(path, offset, f"Malformed line in checkpoint file: {shown_text(line)}")


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, each with its byte offset; malformed UTF-8 is replaced."""
    offset = 0
    for raw in read_text_file(path).split(b"\n"):
        line = raw.decode("utf-8", "replace").strip()
        if line:
            yield offset, line
        offset += len(raw) + 1


SYNC_EVERY: Final = 128
_BASE_AND_EPOCH: Final = Struct(">q4xi").unpack_from
_LINE: Final = re.compile(rb"(0 (\d{20}) (\d{10})) ([0-9a-f]{8})\n", re.ASCII)


class DurableTo(NamedTuple):
    """Everything before `offset` was durable; `epoch` is that of the batch that ends there, 0 without one."""

    offset: int
    epoch: int


NOTHING_DURABLE: Final = DurableTo(0, 0)


def read_recovery_point(directory: str) -> DurableTo | None:
    """The recovery point of a log; None if the file is missing or unreadable."""
    try:
        with open(os.path.join(directory, RECOVERY_POINT), "rb") as file:
            match = _LINE.fullmatch(file.read(256))
    except OSError:
        return None
    if match is None or crc32c(match[1]) != int(match[4], 16):
        return None
    return DurableTo(int(match[2]), int(match[3]))


def format_recovery_point(point: DurableTo) -> bytes:
    line = b"0 %020d %010d" % point
    return b"%s %08x\n" % (line, crc32c(line))


class RecoveryPoint:
    """The recovery-point file of an open log, and the log's epochs. Errors of all writes: OSError, which is also passed to `failed`."""

    __slots__ = ("_disk", "_epochs", "_failed", "_fd", "_flight", "_unsynced", "known")

    def __init__(self, disk: Disk, directory: str, epochs: Sequence[tuple[int, int]], end_offset: int) -> None:
        """Record that the whole log, which ends at `end_offset`, is durable; `epochs` are (epoch, first offset)."""
        self._disk = disk
        self._failed: Callable[[OSError], None] = lambda error: None
        self._unsynced = 0
        self._epochs = list(epochs)
        point = DurableTo(end_offset, self._epoch_before(end_offset))
        self._flight = self.known = point
        path = os.path.join(directory, RECOVERY_POINT)
        found = read_recovery_point(directory)
        if found is None:
            replace_file(disk, path, format_recovery_point(point))
        self._fd = disk.open_file(path)
        if found not in (None, point):
            self._write(point)
            self.sync()

    def tell(self, failed: Callable[[OSError], None]) -> None:
        """From now on, pass each error to `failed` before it is raised."""
        self._failed = failed

    # Changes to the log

    def appended(self, data: bytes) -> None:
        """Note whole batches that were appended to the log."""
        for at, _ in whole_frames(data):
            base, epoch = _BASE_AND_EPOCH(data, at)
            if not self._epochs or epoch != self._epochs[-1][0]:
                self._epochs.append((epoch, base))

    def begin_flush(self, end_offset: int) -> None:
        self._flight = DurableTo(end_offset, self._epoch_before(end_offset))

    def finish_flush(self) -> None:
        """Record that the flushed batches are durable, except those that were cut off meanwhile."""
        if self._flight.offset > self.known.offset:
            self._write(self._flight)

    def cut(self, offset: int) -> Callable[[], None]:
        """Note that the log ends at `offset` now; return the step that has to be durable before the log's files are cut."""
        kept = DurableTo(offset, self._epoch_before(offset))
        self._epochs = [entry for entry in self._epochs if entry[1] < offset] or [(kept.epoch, offset)]
        self._flight = min(self._flight, kept)
        return partial(self._lower, kept)

    def begin_at(self, offset: int, epoch: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """Note that the log begins anew at a snapshot; return the steps that have to be durable before and after its files are removed.

        In between, the file claims nothing. The old log may have a batch of another epoch that ends exactly at the snapshot's end: with
        the new point, a reader would report that as damage.
        """
        point = DurableTo(offset, epoch)
        self._epochs = [(epoch, offset)]
        self._flight = NOTHING_DURABLE
        return partial(self._claim_nothing, offset), partial(self._raise, point)

    def _epoch_before(self, offset: int) -> int:
        return next((epoch for epoch, start in reversed(self._epochs) if start < offset), self._epochs[0][0] if self._epochs else 0)

    def _lower(self, point: DurableTo) -> None:
        if point.offset < self.known.offset:
            self._write(point)
            self.sync()

    def _claim_nothing(self, offset: int) -> None:
        if offset <= self.known.offset:
            self._write(NOTHING_DURABLE)
            self.sync()

    def _raise(self, point: DurableTo) -> None:
        if point.offset > self.known.offset:
            self._write(point)

    # The file

    def _write(self, point: DurableTo) -> None:
        try:
            self._disk.write_at(self._fd, format_recovery_point(point), 0)
        except OSError as error:
            self._failed(error)
            raise
        self.known = point
        self._unsynced += 1

    def sync_now_and_then(self) -> None:
        """Sync the file at every `SYNC_EVERY`th call. The thread that syncs the log may call it."""
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        self._unsynced = 0
        try:
            self._disk.sync_file(self._fd)
        except OSError as error:
            self._failed(error)
            raise

    def close(self) -> None:
        if self._fd >= 0:
            self._disk.close_file(self._fd)
            self._fd = -1
