"""The past of a live quorum: its newest snapshot and the log after it, as they were fetched, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from metashell.codec.checked_batches import checked_batches
from metashell.errors import LogCorruptError
from metashell.values import OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch


class Piece(Protocol):
    """Bytes as a quorum gave them: a snapshot's, or batches of the log."""

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None: ...
    @property
    def data(self) -> bytes: ...


class Older(Protocol):
    """The log from before a snapshot, and the snapshot where that log begins; none where it begins at offset 0."""

    @property
    def snapshot(self) -> tuple[OffsetAndEpoch, bytes] | None: ...
    @property
    def log(self) -> bytes: ...


class FetchFault(NamedTuple):
    """What is wrong with fetched bytes."""

    file: str
    offset: int
    reason: str
    position: int = -1
    is_tail: bool = False


class FetchedOpener:
    """All that a quorum gave, which is committed; more of it may come at any time."""

    def __init__(self, path: str, pieces: Iterable[Piece] = ()) -> None:
        self.path = path
        self.cluster_name = ""
        self._held = _Held(None, [])
        self._older: Older | None = None
        for piece in pieces:
            self.add(piece)

    def add(self, piece: Piece) -> None:
        """Take the next piece."""
        if piece.snapshot_id is None:
            self._held.log.append(piece.data)
        else:
            # A newer snapshot while fetching: the log before it has a gap.
            self._held = _Held((piece.snapshot_id, piece.data), [])
            self._older = None

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None:
        """The snapshot with which all begins that was added; None without one."""
        return None if self._held.snapshot is None else self._held.snapshot[0]

    def add_older(self, older: Older | None) -> None:
        """Take what lies before the snapshot, as far as the quorum still has it."""
        self._older = older

    def starts(self) -> list[int]:
        """The end of the snapshot, and where the log from before it begins; 0 without one."""
        snapshot, older = self._held.snapshot, self._older
        newest = 0 if snapshot is None else snapshot[0].offset
        return [newest] if older is None else [0 if older.snapshot is None else older.snapshot[0].offset, newest]

    def lone_checkpoints(self) -> list[int]:
        """See Opener."""
        return []

    def cluster_id(self) -> str:
        """See Opener."""
        return self.cluster_name

    def open(self, start: int) -> FetchedSource:
        """See Opener."""
        snapshot, older = self._held.snapshot, self._older
        if older is not None and snapshot is not None and start < snapshot[0].offset:
            return FetchedSource(self.path, older.snapshot, self._log_from(start))
        return FetchedSource(self.path, snapshot, self._held.log)

    def open_log(self, offset: int) -> FetchedSource:
        """See Opener."""
        return FetchedSource(self.path, None, self._log_from(offset))

    def _log_from(self, offset: int) -> list[bytes]:
        snapshot, older = self._held.snapshot, self._older
        return self._held.log if older is None or snapshot is None or offset >= snapshot[0].offset else [older.log, *self._held.log]


class _Held(NamedTuple):
    snapshot: tuple[OffsetAndEpoch, bytes] | None
    log: list[bytes]


class FetchedSource:
    """A snapshot, or none, and a log in memory."""

    kind = "quorum"

    def __init__(self, path: str, snapshot: tuple[OffsetAndEpoch, bytes] | None, log: list[bytes]) -> None:
        self.path = path
        self.snapshot_id = None if snapshot is None else snapshot[0]
        self.faults: list[FetchFault] = []
        self._snapshot = b"" if snapshot is None else snapshot[1]
        self._log = log
        self.end_offset: int | None = None if self.snapshot_id is None else self.snapshot_id.offset

    @property
    def certain_to(self) -> int | None:
        """All of it is committed."""
        return self.end_offset

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        """The batches of the snapshot, up to the first that is damaged."""
        yield from self._checked(self._snapshot)

    def log_batches(self, from_offset: int = 0) -> Iterator[RecordBatch]:
        """The batches of the log that hold offsets from that one on."""
        for data in self._log:
            for batch in self._checked(data):
                if batch.header.last_offset >= from_offset:
                    self.end_offset = batch.header.last_offset + 1
                    yield batch

    def _checked(self, data: bytes) -> Iterator[RecordBatch]:
        try:
            yield from checked_batches(data, self.path)
        except LogCorruptError as error:
            self.faults.append(FetchFault(self.path, error.offset, error.reason))

    def close(self) -> None:
        """Nothing is open."""
