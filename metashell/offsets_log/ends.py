"""Where a log ends, without reading what precedes."""

from __future__ import annotations

import os

from metashell.codec.batches import BatchHeader
from metashell.errors import UsageError
from metashell.log.files import open_file
from metashell.log.names import parse_name
from metashell.log.offset_index import seek
from metashell.log.segment import BadBatch, read_batches
from metashell.log.tail import Tail


def last_header(path: str) -> BatchHeader | None:
    """The header of the last good batch of a segment; None where there is none to read. An offset index beside it says where to look."""
    found = None
    parsed = parse_name(os.path.basename(path))
    index = f"{path.removesuffix('.log')}.index"
    try:
        with open_file(path) as file:
            start = 0
            if parsed is not None and parsed.base_offset is not None and os.path.exists(index) and file.size() is not None:
                with open_file(index) as entries:
                    start = seek(entries, file, parsed.base_offset, 1 << 62)
            for item in read_batches(file, start=start):
                if not isinstance(item, BadBatch | Tail):
                    found = item.header
    except UsageError:
        return None
    return found
