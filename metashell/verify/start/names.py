"""The files of a metadata directory by Kafka's way to read their names: by the ending first, then the number before the first dot.

A name that ends like a segment's, an index's or a checkpoint's and begins with anything but a number makes a server end.
Source: LogFileUtils, LogLoader.removeTempFilesAndCollectSwapFiles and loadSegmentFiles, Snapshots.parse.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from metashell.log.names import parse_name
from metashell.values import OffsetAndEpoch
from metashell.verify.start.verdict import Ends

INDEX_ENDINGS = (".index", ".timeindex", ".txnindex")
_CHECKPOINT_ENDINGS = (".checkpoint", ".checkpoint.part", ".checkpoint.deleted")
_LONG = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_BOOTSTRAP = "bootstrap.checkpoint"


@dataclass(slots=True)
class Snapshots:
    """Complete snapshots by Kafka's order, epoch first, and the files that go in any case."""

    complete: list[OffsetAndEpoch] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


class NameReader:
    """The names of a directory's regular files, sorted; `directory` need not be there."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name) if os.path.isdir(directory) else []
        self.names = [entry.name for entry in entries if entry.is_file()]
        self._all = [entry.name for entry in entries]

    def check_producer_snapshots(self) -> None:
        """Errors: Ends."""
        for name in self.names:
            if name.endswith(".snapshot"):
                self._number(name)

    def leftovers(self) -> list[str]:
        """What is removed before anything is loaded. Errors: Ends."""
        found: list[str] = []
        swaps: list[str] = []
        for name in self.names:
            if not os.access(os.path.join(self.directory, name), os.R_OK):
                raise Ends(os.path.join(self.directory, name), "Kafka cannot read the file")
            if name.endswith(".deleted") and not name.endswith(".checkpoint.deleted"):
                found.append(name)
            elif name.endswith((".cleaned", ".swap")):
                self._number(name)
                (swaps if name.endswith(".swap") else found).append(name)
        if swaps:
            what = "what Kafka makes of a file that was being swapped in is not known here"
            raise Ends(os.path.join(self.directory, swaps[0]), what, is_known=False)
        return found

    def segments(self) -> Iterator[tuple[str, int]]:
        """Indexes and segments in the order in which they are loaded, each with its offset. Errors: Ends."""
        for name in self.names:
            if name.endswith((*INDEX_ENDINGS, ".log")):
                yield name, self._number(name)

    def snapshots(self, start_offset: int) -> Snapshots:
        """Errors: Ends."""
        found = Snapshots()
        for name in self._all:
            if not name.endswith(_CHECKPOINT_ENDINGS) or name == _BOOTSTRAP:
                continue
            parsed = parse_name(name)
            if parsed is None or parsed.snapshot_id is None or parsed.is_compressed:
                known = not (_LONG.fullmatch(name[:20]) and _LONG.fullmatch(name[21:31]) and len(name[:20]) == 20)
                raise Ends(os.path.join(self.directory, name), "Kafka fails to read the name as a checkpoint's", is_known=known)
            if parsed.state or parsed.snapshot_id.offset < start_offset:
                found.leftovers.append(name)
            else:
                found.complete.append(parsed.snapshot_id)
        found.complete.sort(key=lambda id: (id.epoch, id.offset))
        return found

    def _number(self, name: str) -> int:
        stem = name[: name.index(".")]
        if not _LONG.fullmatch(stem) or not -(1 << 63) <= int(stem) < 1 << 63:
            raise Ends(os.path.join(self.directory, name), "Kafka fails to read the name as that of a file of the log")
        return int(stem)
