"""How the transactions of a log of groups ended, read from the markers behind a place.

An offset that a transaction commits counts from the COMMIT marker of its producer on, and never if the marker is ABORT. The marker may lie
in a later split or segment than the record. So a reader asks `Markers` for what follows the bytes that it decodes. A walk over headers
finds them; it reads on only while a transaction has no marker, and not at all in a log without transactions.

Records without a marker are `open`: the log ends, or cannot be read, before the producer's next marker."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from metashell.codec.batch_writer import ABORT, COMMIT, control_type
from metashell.codec.batches import CONTROL, HEADER_SIZE, TRANSACTIONAL, RecordBatch
from metashell.codec.framing import MAGIC_MAX, BatchFrame
from metashell.common.errors import DecodeError, PathError, UsageError
from metashell.common.uris import file_name, folder_of, is_uri
from metashell.disk.directory import listing_of
from metashell.disk.files import OpenFile
from metashell.disk.names import parse_name
from metashell.disk.segment import read_batches
from metashell.tables.input_files import is_read_once, open_input

COMMITTED, ABORTED, OPEN = 0, 1, 2
OUTCOMES: Final = ("committed", "aborted", "open")
"""The words for them, by number. A record outside of any transaction is committed."""
OUTCOME_OF: Final = {COMMIT: COMMITTED, ABORT: ABORTED}
"""The outcome that a marker gives, by the type of its control record."""
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
"""The low byte of a header's attributes, which has all flags."""


def marker_outcome(keys: Sequence[bytes | None]) -> int | None:
    """Return the outcome that the control records of a batch give, by their keys; None if none of them ends a transaction."""
    for key in keys:
        try:
            outcome = OUTCOME_OF.get(control_type(key))
        except DecodeError:
            continue
        if outcome is not None:
            return outcome
    return None


def batches_with(flags: int, file: OpenFile, start: int = 0) -> Iterator[RecordBatch]:
    """Yield the good batches of a file whose attributes have one of some flags, from byte `start` on. All others are hopped over."""

    def takes(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        taken = first
        for at, size in frames[first:] if first else frames:
            if buf[at + _MAGIC_AT] == MAGIC_MAX and size >= HEADER_SIZE and buf[at + _ATTRIBUTES_AT] & flags:
                break
            taken += 1
        return taken

    for item in read_batches(file, start=start, takes=takes):
        if isinstance(item, RecordBatch) and item.header.attributes & flags:
            yield item


class Segment(NamedTuple):
    """A segment of a log; `seal` changes with the file."""

    path: str
    seal: str


def segments_beside(path: str) -> list[Segment]:
    """Return all segments of the folder of a segment, itself among them, in order; the file alone if its name is not that of a segment."""
    if (name := parse_name(file_name(path))) is None or name.base_offset is None or name.kind != "segment":
        return [Segment(path, _seal(path))]
    if is_uri(path):
        return _segments_of_store(path)
    folder = os.path.dirname(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return [Segment(path, _seal(path))]
    found = [os.path.join(folder, entry.name) for entry in listing_of(names).segments]
    return [Segment(each, _seal(each)) for each in (found if path in found else [path])]


def _seal(path: str) -> str:
    if is_uri(path):
        from metashell.tables.remote_files import version_now

        return version_now(path) or ""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def _segments_of_store(uri: str) -> list[Segment]:
    from metashell.tables.remote_files import remote_input

    tree, top, is_folder = remote_input(folder_of(uri))
    for folder, names in tree.walk(top) if is_folder else ():
        if folder.rstrip("/") == top.rstrip("/"):
            listed = [Segment(tree.place(folder, entry.name), tree.version(folder, entry.name)) for entry in listing_of(names).segments]
            if any(each.path == uri for each in listed):
                return listed
    return [Segment(uri, _seal(uri))]


class Markers:
    """The markers of a log behind a place in one of its segments, read as far as they are asked for.

    No file stays open between questions.
    """

    def __init__(self, segments: Sequence[Segment], number: int, position: int) -> None:
        self.segments = tuple(segments)
        self.start = number, position
        self._number, self._position = number, position
        self._known: dict[int, tuple[list[int], list[int]]] = {}

    def outcome(self, producer_id: int, offset: int) -> int:
        """Return the outcome of a producer's records at an offset, whose marker does not lie before the place."""
        while True:
            offsets, outcomes = self._known.get(producer_id, ((), ()))
            if (at := bisect_right(offsets, offset)) < len(offsets):
                return outcomes[at]
            if self._number == len(self.segments):
                return OPEN
            if not self._finds(producer_id):
                self._number, self._position = self._number + 1, 0

    def _finds(self, producer_id: int) -> bool:
        """Note the markers of a segment up to the next one of a producer; False at the segment's end. What cannot be read has none."""
        try:
            opened = open_input(self.segments[self._number].path)
        except UsageError:
            return False
        with opened:
            # A compressed file can only be read from its beginning and is read as a whole; the offsets tell what lies behind the place.
            is_packed = opened.size() is None
            for batch in batches_with(CONTROL, opened, 0 if is_packed else self._position):
                outcome = marker_outcome(_keys(batch))
                if outcome is not None:
                    offsets, outcomes = self._known.setdefault(batch.header.producer_id, ([], []))
                    offsets.append(batch.header.base_offset)
                    outcomes.append(outcome)
                    if batch.header.producer_id == producer_id and not is_packed:
                        self._position = batch.position + len(batch.data)
                        return True
        return False


def _keys(batch: RecordBatch) -> list[bytes | None]:
    try:
        return [record.key for record in batch.records()]
    except DecodeError:
        return []


_KEPT_MAX: Final = 4
_kept: dict[str, Markers] = {}
"""By folder the markers of the logs that were asked about last: each split of a log would walk to the same end otherwise."""


def markers_behind(path: str, position: int) -> Markers | None:
    """Return the markers behind a place of a file; None for a stream, of which nothing can be read ahead."""
    if is_read_once(path):
        return None
    try:
        segments = segments_beside(path)
    except PathError:
        segments = [Segment(path, "")]
    number = next((number for number, segment in enumerate(segments) if segment.path == path), 0)
    folder = folder_of(path)
    known = _kept.pop(folder, None)
    if known is None or known.segments != tuple(segments) or (number, position) < known.start or not all(each.seal for each in segments):
        known = Markers(segments, number, position)
    _kept[folder] = known
    while len(_kept) > _KEPT_MAX:
        del _kept[next(iter(_kept))]
    return known


# ---- the last stable offset


class Held(NamedTuple):
    """The first record of a transaction that is open where a log ends: the number of its segment, its place there, and whose it is."""

    number: int
    position: int
    offset: int
    producer_id: int


def first_held(paths: Sequence[str], start: int = 0) -> Held | None:
    """Return what holds back the last stable offset of a log, None if no transaction is open where it ends.

    Shape: the log's segments in order; `start` is the byte of the first one before which no transaction is open.
    Errors: UsageError or MetashellError where a file cannot be read.
    """
    open_since: dict[int, Held] = {}
    for number, path in enumerate(paths):
        with open_input(path, strict=True) as file:
            for batch in batches_with(CONTROL | TRANSACTIONAL, file, start if number == 0 else 0):
                producer_id = batch.header.producer_id
                if not batch.header.is_control:
                    open_since.setdefault(producer_id, Held(number, batch.position, batch.header.base_offset, producer_id))
                elif marker_outcome(_keys(batch)) is not None:
                    open_since.pop(producer_id, None)
    return min(open_since.values(), default=None)
