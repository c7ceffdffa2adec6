"""The metadata directory of a node: where it is, and which segments and checkpoints lie in it.

The directory is opened once and its files are opened relative to it. A running node may add, rename and remove
files at any moment, so a listing is what was there once; whoever opens a listed file is ready not to find it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from metashell.errors import UsageError
from metashell.log.files import OpenFile, open_at
from metashell.log.names import BOOTSTRAP_CHECKPOINT, METADATA_DIRECTORY, LogFileName, parse_name
from metashell.values import OffsetAndEpoch


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    base_offset: int
    name: str


@dataclass(frozen=True, slots=True)
class CheckpointEntry:
    snapshot_id: OffsetAndEpoch
    name: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Segments by base offset, checkpoints newest first; files that are being written or removed are left out."""

    segments: list[SegmentEntry] = field(default_factory=list)
    checkpoints: list[CheckpointEntry] = field(default_factory=list)

    def segments_from(self, offset: int) -> list[SegmentEntry]:
        """The segments that may hold `offset` or anything after it."""
        first = 0
        for index, segment in enumerate(self.segments):
            if segment.base_offset <= offset:
                first = index
        return self.segments[first:]


class MetadataDirectory:
    """An opened directory of segments and checkpoints."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def list(self) -> Listing:
        """What is there now; of a file and its gzip copy the file counts."""
        listing = Listing()
        seen: set[object] = set()
        for name, parsed in sorted(_parsed_names(self._fd), key=lambda entry: entry[1].is_compressed):
            key = parsed.base_offset if parsed.kind == "segment" else parsed.snapshot_id
            if parsed.state or key in seen:
                continue
            seen.add(key)
            if parsed.base_offset is not None:
                listing.segments.append(SegmentEntry(parsed.base_offset, name))
            elif parsed.snapshot_id is not None:
                listing.checkpoints.append(CheckpointEntry(parsed.snapshot_id, name))
        listing.segments.sort(key=lambda segment: segment.base_offset)
        listing.checkpoints.sort(key=lambda checkpoint: checkpoint.snapshot_id, reverse=True)
        return listing

    def open(self, name: str) -> OpenFile:
        """A file of this directory.

        Errors: OSError, above all FileNotFoundError when the node has removed it since.
        """
        return open_at(self._fd, name, os.path.join(self.path, name))

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def find_metadata(path: str) -> str:
    """The path of the metadata directory at or below `path`, or of the bootstrap checkpoint where that is all there is.

    `path` may be the directory itself, the log directory above it, or a folder of one such directory.
    Errors: UsageError when there is none, or more than one to choose from.
    """
    try:
        if _holds_metadata(path):
            return path
        found = [below for below in _candidates(path) if _holds_metadata(below)]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", path) from error
    if len(found) > 1:
        raise UsageError(f"{path}: several metadata directories below it, name one: {', '.join(sorted(found))}", path)
    if found:
        return found[0]
    for place in (path, os.path.dirname(os.path.abspath(path))):
        bootstrap = os.path.join(place, BOOTSTRAP_CHECKPOINT)
        if os.path.isfile(bootstrap) and (place == path or os.path.basename(os.path.abspath(path)) == METADATA_DIRECTORY):
            return bootstrap
    raise UsageError(f"{path}: no metadata log here: neither a segment nor a checkpoint nor {METADATA_DIRECTORY}", path)


def _holds_metadata(path: str) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return any(parsed.kind != "bootstrap" and not parsed.state for _, parsed in _parsed_names(fd))
    finally:
        os.close(fd)


def _candidates(path: str) -> list[str]:
    """`__cluster_metadata-0` below `path`, else those one level further down."""
    direct = os.path.join(path, METADATA_DIRECTORY)
    if os.path.isdir(direct):
        return [direct]
    below = (os.path.join(path, name, METADATA_DIRECTORY) for name in os.listdir(path))
    return [place for place in below if os.path.isdir(place)]


def _parsed_names(fd: int) -> list[tuple[str, LogFileName]]:
    return [(name, parsed) for name in os.listdir(fd) if (parsed := parse_name(name)) is not None]
