"""The metadata directory of a node as a source."""

from __future__ import annotations

from metashell.errors import UsageError
from metashell.log.source import FileSource


def open_directory(path: str) -> FileSource:
    raise UsageError(f"{path}: Is a directory", path)


DirectorySource = FileSource
