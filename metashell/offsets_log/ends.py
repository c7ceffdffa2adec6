"""Where the logs of users' topics end, as far as they lie beside the log of groups: what a lag is counted from."""

from __future__ import annotations

import os
from collections.abc import Iterable

from metashell.errors import UsageError
from metashell.log.directory import listing_of
from metashell.log.files import open_file
from metashell.log.identity import partition_name
from metashell.log.offset_index import seek
from metashell.log.segment import BadBatch, read_batches
from metashell.log.tail import Tail


def end_offsets(paths: Iterable[str]) -> dict[tuple[str, int], int]:
    """Where the logs end that lie in the log directories of some paths, by topic and partition.

    Of several copies the longest counts. Only the end of each is read. A partition's directory, or a file in it, stands for the log
    directory around it.
    """
    found: dict[tuple[str, int], int] = {}
    for top in dict.fromkeys(_log_directory(path) for path in paths if path != "-"):
        for folder, _, names in os.walk(top):
            named = partition_name(os.path.basename(folder))
            if named is not None and (end := _end_offset(folder, names)) is not None:
                found[named] = max(end, found.get(named, 0))
    return found


def _log_directory(path: str) -> str:
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    return os.path.dirname(folder) if partition_name(os.path.basename(folder)) is not None else folder


def _end_offset(folder: str, names: list[str]) -> int | None:
    """The offset after the last good batch of a log's last segment; None where there is none to read."""
    segments = listing_of(names).segments
    if not segments:
        return None
    last = segments[-1]
    end = last.base_offset
    try:
        with open_file(os.path.join(folder, last.name)) as file:
            index = f"{last.name.partition('.')[0]}.index"
            start = 0
            if index in names and file.size() is not None:
                with open_file(os.path.join(folder, index)) as entries:
                    start = seek(entries, file, last.base_offset, 1 << 62)
            for item in read_batches(file, start=start):
                if not isinstance(item, BadBatch | Tail):
                    end = item.header.last_offset + 1
    except UsageError:
        return None
    return end
