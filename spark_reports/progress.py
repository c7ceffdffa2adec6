"""The progress of reading a growing log, and what is new in it: by batches, so that a log that was cut back is noticed.

A stream keeps one JSON value for each log: `file` and `end` are the segment and the byte up to which it was read, `next` is the next
offset, and `marks` name the last batches: file, position, base offset, epoch and checksum. If a batch is not where it was, the log was cut
back, as a follower truncates what a new leader never had: what follows the last batch that is still in place is new. Compaction rewrites
the logs of coordinators; there only offsets and epochs tell what was read.

A log of groups is read up to the last stable offset: a row is given once, so the outcome of its transaction has to be known.

Nothing is read behind damage in the last segment: its writer may still cut it off. Then `stopped` names the segment, the byte, and the
run of the stream that found it; a micro-batch without rows reports it, once in each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from metashell.codec.batches import HEADER_SIZE, BatchHeader, read_batch_header
from metashell.common.errors import MetashellError
from metashell.common.uris import shown_uri
from metashell.disk.inputs import InputFile
from metashell.disk.names import METADATA, OFFSETS, parse_name
from metashell.disk.segment import Tail, read_batches
from metashell.tables.batch_chain import headers_from, narrow_range
from metashell.tables.input_files import Excerpt, open_input
from metashell.tables.read_options import Bounds, Range
from metashell.tables.splits import Piece, cut_points
from metashell.tables.transactions import first_held

MARKS_MAX: Final = 32
"""The number of batches a log may be cut back by, so that it is still known which ones."""
_LOOK_MAX: Final = 16 << 20
"""So much of what lies behind the last whole batch is looked at: twice the largest batch of metadata. There may be a segment of zeros."""

ReadPosition = dict[str, Any]
Mark = list[Any]


class GrowingLog(NamedTuple):
    """The segments of one log, in order; a file under another name is a log of its own. `name` has no credentials."""

    name: str
    files: tuple[InputFile, ...]

    def file(self, name: str) -> InputFile | None:
        return next((file for file in self.files if _base_name(file) == name), None)

    @property
    def is_compacted(self) -> bool:
        """Return whether the cleaner may rewrite it."""
        return self.files[0].log not in (METADATA, None)


class NewBatches(NamedTuple):
    """The news of a log, and the notes on it: `stopped` is written whether there are rows or not."""

    pieces: list[Piece]
    note: str = ""
    stopped: str = ""


def growing_logs(files: Iterable[InputFile]) -> list[GrowingLog]:
    """Return the logs that files are segments of; checkpoints take no part, they repeat the log."""
    found: dict[str, list[tuple[int, InputFile]]] = {}
    for file in files:
        if file.checkpoint:
            continue
        shown = shown_uri(file.path)
        parsed = parse_name(_base_name(file))
        if parsed is None or parsed.base_offset is None:
            found[shown] = [(0, file)]
        else:
            place = shown.partition("?")[0].rpartition("/")[0]
            found.setdefault(place, []).append((parsed.base_offset, file))
    return [GrowingLog(name, tuple(file for _, file in sorted(several, key=_by_offset))) for name, several in sorted(found.items())]


def position_of_log(log: GrowingLog, known: ReadPosition | None, run: int = 0) -> ReadPosition:
    """Return how far whole batches reach now; `known` is an earlier answer, which saves looking at what stands before it.

    `run` tells one run of a stream from another.
    """
    marks: list[Mark] = []
    start, begin, files = 0, len(log.files) - 1, log.files
    is_known = known is not None and bool(known["marks"]) and _stands(log, known["marks"][-1])
    if known is not None and is_known:
        marks = list(known["marks"])
        start, begin = known["end"], _place(log, known["file"])
    files, stable_end = _up_to_last_stable(log, begin if is_known else 0, start)
    if not is_known:
        # The last segment may have just begun: the one before it has the last batches.
        begin = max(len(files) - 2, 0)
    reach: ReadPosition = {
        "file": _base_name(files[begin]),
        "end": start,
        "next": known["next"] if marks and known else -1,
        "marks": marks,
    }
    for number, file in enumerate(files[begin:]):
        end, headers = _end_of(file, start if number == 0 else 0, stable_end if file is files[-1] else None)
        name = _base_name(file)
        marks += [[name, position, header.base_offset, header.leader_epoch, header.crc] for position, header in headers]
        if headers:
            reach["next"] = headers[-1][1].last_offset + 1
        if end or number == 0:
            reach["file"], reach["end"] = name, end
    reach["marks"] = marks[-MARKS_MAX:]
    last = log.files[-1]
    at = reach["end"] if reach["file"] == _base_name(last) else 0
    if _damage_at(last, at) is not None:
        reach["stopped"] = [_base_name(last), at, run]
    return reach


def _up_to_last_stable(log: GrowingLog, first: int, start: int) -> tuple[tuple[InputFile, ...], int | None]:
    """Return the segments up to the first open transaction, and its place in the last of them; all and None if none is open.

    Shape: no transaction is open before byte `start` of segment number `first`.
    """
    held = first_held([file.path for file in log.files[first:]], start) if log.files[0].log == OFFSETS else None
    return (log.files, None) if held is None else (log.files[: first + held.number + 1], held.position)


def new_between(log: GrowingLog, start: ReadPosition | None, end: ReadPosition, split_bytes: int) -> NewBatches:
    """Return what was appended between two answers of `position_of_log`, cut into pieces.

    Errors: MetashellError for a log whose read part cannot be found any more.
    """
    stopped = _stopped(log, start, end)
    end = _what_stands(log, end)
    if start is None or start["next"] < 0:
        return NewBatches(_pieces(log, 0, 0, end, split_bytes), stopped=stopped)
    file, position, note = _resume(log, start)
    return NewBatches(_pieces(log, file, position, end, split_bytes), note, stopped)


def _stopped(log: GrowingLog, start: ReadPosition | None, end: ReadPosition) -> str:
    """Return the note on damage that stops the reading, if it was not written yet."""
    stopped = end.get("stopped")
    if stopped is None or (start or {}).get("stopped") == stopped:
        return ""
    file = log.file(stopped[0])
    tail = None if file is None else _damage_at(file, stopped[1])
    if file is None or tail is None:
        return ""
    return f"{shown_uri(file.path)}: byte {tail.position}: {tail.reason}: nothing from here on is read before the segment is rolled"


def _damage_at(file: InputFile, position: int) -> Tail | None:
    """Return the fault after the last whole batch of a file. A batch that is half written, and zeros, wait for their rest."""
    with open_input(file.path, strict=True) as opened:
        size = opened.size() or 0
        if position >= size:
            return None
        item = next(read_batches(Excerpt(opened, min(size, position + _LOOK_MAX)), start=position), None)
    return item if isinstance(item, Tail) and not item.may_be_tail else None


def _what_stands(log: GrowingLog, end: ReadPosition) -> ReadPosition:
    """Return what is still there of what was planned: a log may be cut back before a micro-batch is read, or read again after a crash."""
    if log.is_compacted or not end["marks"] or _stands(log, end["marks"][-1]):
        return end
    left = next((mark for mark in reversed(end["marks"]) if _stands(log, mark)), None)
    return {**end, "file": "", "end": 0} if left is None else {**end, "file": left[0], "end": _end_of_mark(log, left)}


def _resume(log: GrowingLog, start: ReadPosition) -> tuple[int, int, str]:
    """Return the first file and byte of what is new in a log, and the notes on it."""
    marks = start["marks"]
    if log.is_compacted:
        return _resume_by_offset(log, start)
    for number in range(len(marks) - 1, -1, -1):
        if _stands(log, marks[number]):
            at = _place(log, marks[number][0])
            if number == len(marks) - 1:
                return at, _end_of_mark(log, marks[number]), ""
            cut, last = marks[number + 1][2], start["next"] - 1
            note = f"{log.name}: was cut back to offset {cut} after offset {last} had been read: what came in place of those is read too"
            return at, _end_of_mark(log, marks[number]), note
    first = _first_offset(log)
    if first is None or first >= start["next"]:
        gone = (
            ""
            if first in (None, start["next"])
            else f"{log.name}: offsets {start['next']} to {first - 1} were deleted before they were read"
        )
        return 0, 0, gone
    raise _unknown(log, start)


def _resume_by_offset(log: GrowingLog, start: ReadPosition) -> tuple[int, int, str]:
    """Return the first file and byte of what is new in a compacted log, and notes. Batches move there, so the next offset decides."""
    wanted, epoch = start["next"], start["marks"][-1][3] if start["marks"] else -1
    for number in range(len(log.files) - 1, -1, -1):
        with open_input(log.files[number].path, strict=True) as opened:
            size = opened.size() or 0
            position, _ = narrow_range(opened, size, Bounds(offset=Range(wanted, None)))
            first = next((header for _, header, _ in headers_from(opened, 0, size) if header is not None), None)
            if first is None or (first.base_offset >= wanted and number):
                continue
            following = next((header for _, header, _ in headers_from(opened, position, size) if header is not None), None)
            if following is not None and following.leader_epoch < epoch:
                raise _unknown(log, start)
            return number, position, ""
    return 0, 0, ""


def _unknown(log: GrowingLog, start: ReadPosition) -> MetashellError:
    return MetashellError(
        f"{log.name}: is another log than the one that was read to offset {start['next'] - 1}, or was cut back by more than "
        f"{MARKS_MAX} batches: which of its rows were read is not known; begin a new stream with another place for its progress and output"
    )


def _pieces(log: GrowingLog, first: int, position: int, end: ReadPosition, split_bytes: int) -> list[Piece]:
    """Return the pieces from a byte of a file on, as far as `end` reaches."""
    found: list[Piece] = []
    last = _place(log, end["file"], missing=-1)
    for number in range(first, last + 1):
        file = log.files[number]
        with open_input(file.path, strict=True) as opened:
            size = opened.size() or 0
            until = min(end["end"], size) if _base_name(file) == end["file"] else size
            start = position if number == first else 0
            for cut in (*cut_points(opened, size, split_bytes, file.path, start, until), until):
                if cut > start:
                    found.append(
                        Piece(path=file.path, log=file.log or METADATA, cluster_id=file.cluster_id, start=start, end=cut, size=until)
                    )
                start = cut
    return found


def _stands(log: GrowingLog, mark: Sequence[Any]) -> bool:
    """Return whether a batch is still where it was."""
    header = _header_at(log, mark)
    return header is not None and [header.base_offset, header.leader_epoch, header.crc] == list(mark[2:])


def _end_of_mark(log: GrowingLog, mark: Sequence[Any]) -> int:
    header = _header_at(log, mark)
    assert header is not None, "it was just there"
    return int(mark[1]) + header.size_bytes


def _header_at(log: GrowingLog, mark: Sequence[Any]) -> BatchHeader | None:
    file = log.file(mark[0])
    if file is None:
        return None
    with open_input(file.path, strict=True) as opened:
        head = opened.read_at(mark[1], HEADER_SIZE)
    return read_batch_header(head) if len(head) == HEADER_SIZE else None


def _first_offset(log: GrowingLog) -> int | None:
    """Return the first offset that a log has now, None where it has no batch."""
    for file in log.files:
        with open_input(file.path, strict=True) as opened:
            for _, header, _ in headers_from(opened, 0, opened.size() or 0):
                if header is not None:
                    return header.base_offset
    return None


def _end_of(file: InputFile, start: int, until: int | None) -> tuple[int, list[tuple[int, BatchHeader]]]:
    """Return the end of the last whole frame from `start` to `until`, and the last batches there. A half-written tail is left for later."""
    with open_input(file.path, strict=True) as opened:
        end, headers = start, []
        size = opened.size() or 0
        for position, header, following in headers_from(opened, start, size if until is None else min(size, until)):
            end = following
            if header is not None:
                headers.append((position, header))
                if len(headers) > 2 * MARKS_MAX:
                    del headers[:MARKS_MAX]
    return end, headers


def _place(log: GrowingLog, name: str, missing: int = 0) -> int:
    return next((number for number, file in enumerate(log.files) if _base_name(file) == name), missing)


def _base_name(file: InputFile) -> str:
    return file.path.partition("?")[0].rpartition("/")[2]


def _by_offset(entry: tuple[int, InputFile]) -> tuple[int, str]:
    return entry[0], entry[1].path
