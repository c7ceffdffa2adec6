"""The bytes on disk of a node: segments, checkpoints and the small text files beside them.

Promises: files are streamed with bounded memory; whatever a file contains, what is wrong with it is told and what is right
before it, and after it where the framing holds, is given. It never locks, writes, creates or maps a file that it
only reads, so it may look at the directory of a running node. It knows no record's meaning, save that a
snapshot starts with its header and ends with its footer, and which log a record is of. `inputs` decides what a path stands for and
`identity` which log bytes belong to, for every command alike; `packed_file` expands compressed copies while they are read.

`metadata_log.MetadataLog` is the part that writes: a replica's own log, whose directory it locks. What it says is flushed survives
whatever stops the machine, what it says is truncated does not come back, and a snapshot is there whole or not at all.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.log.directory_source import DirectorySource
    from metashell.log.file_source import FileSource
    from metashell.log.segment import BatchFault, open_segment, read_batches
    from metashell.log.source import open_source
    from metashell.log.source_fault import SourceFault

__all__ = ["BatchFault", "DirectorySource", "FileSource", "SourceFault", "open_segment", "open_source", "read_batches"]

# Names are imported when they are used: whoever opens a file need not pay for directories at each start.
_HOMES = {
    "DirectorySource": "directory_source",
    "BatchFault": "segment",
    "open_segment": "segment",
    "read_batches": "segment",
    "FileSource": "file_source",
    "open_source": "source",
    "SourceFault": "source_fault",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"metashell.log.{_HOMES[name]}"), name)
