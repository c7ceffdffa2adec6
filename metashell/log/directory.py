"""The directory of a log: which segments and checkpoints lie in it.

The directory is opened once and its files are opened relative to it. A running node may add, rename and remove
files at any moment, so a listing is what was there once; a listed file may be gone when it is opened.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from metashell.log.file_kinds import Closable
from metashell.log.files import OpenFile, open_at
from metashell.log.names import parse_name
from metashell.values import OffsetAndEpoch


class SegmentEntry(NamedTuple):
    base_offset: int
    name: str


class CheckpointEntry(NamedTuple):
    snapshot_id: OffsetAndEpoch
    name: str


class Listing(NamedTuple):
    """Segments by base offset, checkpoints newest first; files that are being written or removed are left out."""

    segments: list[SegmentEntry]
    checkpoints: list[CheckpointEntry]

    def __bool__(self) -> bool:
        return bool(self.segments or self.checkpoints)

    def segments_from(self, offset: int) -> list[SegmentEntry]:
        """The segments that may hold `offset` or anything after it."""
        first = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                first = index
        return self.segments[first:]

    def starts(self) -> list[int]:
        """The offsets at which an image can begin: 0 where the log is there from its beginning, and the ends of checkpoints from which it
        is there on. Of a log that leaves a gap behind every checkpoint it is the newest checkpoint's end.
        """
        ends = sorted({checkpoint.snapshot_id.offset for checkpoint in self.checkpoints})
        if not self.segments:
            return ends[-1:]
        first = self.segments[0].base_offset
        followed = [end for end in ends if end >= first] or ends[-1:]
        return [0, *(end for end in followed if end)] if first == 0 else followed


def listing_of(names: Iterable[str]) -> Listing:
    """The segments and checkpoints among the names of a directory; of a file and its compressed copies the file counts."""
    listing = Listing([], [])
    seen: set[object] = set()
    parsed_names = [(name, parsed) for name in names if (parsed := parse_name(name)) is not None and not parsed.state]
    for name, parsed in sorted(parsed_names, key=lambda entry: (entry[1].is_compressed, entry[0])):
        key = parsed.base_offset if parsed.kind == "segment" else parsed.snapshot_id
        if key in seen:
            continue
        seen.add(key)
        if parsed.base_offset is not None:
            listing.segments.append(SegmentEntry(parsed.base_offset, name))
        elif parsed.snapshot_id is not None:
            listing.checkpoints.append(CheckpointEntry(parsed.snapshot_id, name))
    listing.segments.sort(key=lambda segment: segment.base_offset)
    listing.checkpoints.sort(key=lambda checkpoint: checkpoint.snapshot_id, reverse=True)
    return listing


class MetadataDirectory(Closable):
    """An opened directory of segments and checkpoints."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def list(self) -> Listing:
        """The files that are there now."""
        return listing_of(os.listdir(self._fd))

    def open(self, name: str) -> OpenFile:
        """A file of this directory.

        Errors: OSError, above all FileNotFoundError when the node has removed it since.
        """
        return open_at(self._fd, name, os.path.join(self.path, name))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
