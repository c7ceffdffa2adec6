"""Where an image comes from: one file, or the directory of a node.

Every source gives the batches of a snapshot (none for a segment) and then those of the log (none for a checkpoint), and
gathers in `faults` what it could not read. It never raises for what files contain. See `file_source.py` and `directory_source.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.log.file_source import FileSource
from metashell.log.files import STREAM_NAMES

if TYPE_CHECKING:
    from metashell.log.directory_source import DirectorySource


def open_source(path: str) -> FileSource | DirectorySource:
    """The source that `path` names: a file, `-` for standard input, or a directory.

    Errors: UsageError for a path that cannot be opened, and for a directory without metadata or with several.
    """
    if path not in STREAM_NAMES and os.path.isdir(path):
        from metashell.log.directory_source import open_directory

        return open_directory(path)
    return FileSource(path)
