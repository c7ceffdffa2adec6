"""The sources of a past: a node's directory, one file, or the newest snapshot and log of a live quorum, fetched into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from metashell.codec.framing import checked_batches
from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.directory import MetadataDirectory
from metashell.disk.files import STREAM_NAMES
from metashell.disk.inputs import find_metadata, known_cluster_of
from metashell.disk.source import DirectorySource, open_source
from metashell.metadata.history.past import Past

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch
    from metashell.disk.source import FileSource
    from metashell.metadata.history.past import Moment, Opener
    from metashell.metadata.image import MetadataImage


def opener_of(path: str) -> Opener:
    """The opener of a path, as `disk.source.open_source` understands it.

    Errors: MetashellError for standard input, which can be read once only.
    """
    if path in STREAM_NAMES:
        raise MetashellError(f"{path}: standard input has no past: name a file or a directory")
    found = find_metadata(path) if os.path.isdir(path) else path
    return DirectoryOpener(found) if os.path.isdir(found) else FileOpener(found)


def image_as_of(path: str, moment: Moment) -> MetadataImage:
    """The image of a path as of a moment. Errors: MetashellError where there is none."""
    return Past(opener_of(path)).image_of(moment)


class DirectoryOpener:
    """A metadata directory with its older checkpoints."""

    def __init__(self, path: str) -> None:
        self.path = path

    def starts(self) -> list[int]:
        """See Opener. For a log without its first records and without a checkpoint, the offset where it begins."""
        try:
            with MetadataDirectory(self.path) as directory:
                listing = directory.list()
                return listing.starts() or [segment.base_offset for segment in listing.segments[:1]]
        except OSError as error:
            raise PathError.of(self.path, error) from None

    def lone_checkpoints(self) -> list[int]:
        """See Opener."""
        try:
            with MetadataDirectory(self.path) as directory:
                listing = directory.list()
        except OSError as error:
            raise PathError.of(self.path, error) from error
        starts = listing.starts()
        return sorted({one.snapshot_id.offset for one in listing.checkpoints if 0 < one.snapshot_id.offset < min(starts, default=0)})

    def cluster_id(self) -> str:
        """See Opener."""
        return known_cluster_of(self.path)

    def open(self, start: int) -> DirectorySource:
        """See Opener. An incomplete checkpoint is replaced by an older one."""
        try:
            return DirectorySource(self.path, up_to=start or -1)
        except UsageError as error:
            raise MetashellError(str(error)) from None

    def open_log(self, offset: int) -> DirectorySource:
        """See Opener."""
        try:
            return DirectorySource(self.path, log_from=offset)
        except UsageError as error:
            raise MetashellError(str(error)) from None


class FileOpener:
    """One checkpoint, or the first segment of a log."""

    def __init__(self, path: str) -> None:
        self.path = path

    def starts(self) -> list[int]:
        """See Opener. Errors: MetashellError for a later segment, which lacks the records before it."""
        with self.open(0) as source:
            if source.snapshot_id is not None:
                return [source.snapshot_id.offset]
            first = next(iter(source.log_batches(0)), None)
        if first is not None and first.header.base_offset:
            begin = first.header.base_offset
            raise MetashellError(f"{self.path}: it begins with offset {begin} and lacks what came before: open its directory instead")
        return [0]

    def lone_checkpoints(self) -> list[int]:
        """See Opener."""
        return []

    def cluster_id(self) -> str:
        """See Opener."""
        return known_cluster_of(os.path.dirname(os.path.abspath(self.path)))

    def open(self, start: int) -> FileSource | DirectorySource:
        """See Opener."""
        try:
            return open_source(self.path)
        except UsageError as error:
            raise MetashellError(str(error)) from None

    open_log = open


class Piece(Protocol):
    """Bytes fetched from a quorum: a snapshot, or batches of the log."""

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None: ...
    @property
    def data(self) -> bytes: ...


class Older(Protocol):
    """The log before a snapshot, and the older snapshot that this log follows; None if it begins at offset 0."""

    @property
    def snapshot(self) -> tuple[OffsetAndEpoch, bytes] | None: ...
    @property
    def log(self) -> bytes: ...


class FetchFault(NamedTuple):
    """A fault of fetched bytes."""

    file: str
    offset: int
    reason: str
    position: int = -1
    is_tail: bool = False


class FetchedOpener:
    """The bytes fetched from a quorum, all of them committed; more may come at any time."""

    def __init__(self, path: str, pieces: Iterable[Piece] = ()) -> None:
        self.path = path
        self.cluster_name = ""
        self._held = _Held(None, [])
        self._older: Older | None = None
        for piece in pieces:
            self.add(piece)

    def add(self, piece: Piece) -> None:
        """Add the next piece."""
        if piece.snapshot_id is None:
            self._held.log.append(piece.data)
        else:
            # A newer snapshot came while fetching, so the log before it has a gap.
            self._held = _Held((piece.snapshot_id, piece.data), [])
            self._older = None

    @property
    def snapshot_id(self) -> OffsetAndEpoch | None:
        """The id of the snapshot that was added; None without one."""
        return None if self._held.snapshot is None else self._held.snapshot[0]

    def add_older(self, older: Older | None) -> None:
        """Add the log before the snapshot, as far as the quorum still has it."""
        self._older = older

    def starts(self) -> list[int]:
        """The end of the snapshot, 0 without one, and where the log before it begins."""
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
    """A log in memory, with a snapshot before it or none."""

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
