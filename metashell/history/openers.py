"""What a past is read from: the directory of a node, or one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.errors import MetashellError, PathError, UsageError
from metashell.history.past import Past
from metashell.log.directory import MetadataDirectory
from metashell.log.directory_source import DirectorySource
from metashell.log.files import STREAM_NAMES
from metashell.log.inputs import find_metadata, known_cluster_of
from metashell.log.source import open_source

if TYPE_CHECKING:
    from metashell.history.moment import Moment
    from metashell.history.past import Opener
    from metashell.image import MetadataImage
    from metashell.log.file_source import FileSource


def opener_of(path: str) -> Opener:
    """The opener of a path, as `log.source.open_source` understands it.

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
        """See Opener. Of a log that lacks its beginning, and has no checkpoint instead, it is where that log begins."""
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
        """See Opener. A checkpoint that is not complete gives way to an older one."""
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
        """See Opener. Errors: MetashellError for a later segment, which lacks what came before it."""
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
