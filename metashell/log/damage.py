"""What was lost of a log that had been durable, and the note of it that lies beside the log until it is whole again.

Whatever a crash leaves of a write that was not synced is a torn tail: the bytes end early, or whole sectors of them are zero. It is cut
off, for nobody got an answer about it. All else is damage:

- the log ends before its recovery point;
- something behind the place where it ends is whole, and that place does not look like a write that was cut off;
- without a recovery point, as in a directory that comes from Kafka: anything whole behind that place whatever it looks like, a later
  segment, or an epoch in leader-epoch-checkpoint that begins behind it.

What cannot be distinguished: a damaged last batch with nothing behind it, at or above the recovery point, from a torn tail; and above the
recovery point a whole sector of zeros from one that was never written.

The note, `damaged`, is one line of JSON, on disk before anything is cut or renamed. Kafka ignores it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Final

from metashell.codec.batches import RecordBatch
from metashell.errors import LogCorruptError
from metashell.log.atomic_file import FILE_MODE, replace_file
from metashell.log.disk import Disk
from metashell.log.files import OpenFile
from metashell.log.names import DAMAGED, DAMAGED_SUFFIX
from metashell.log.segment import BadBatch, BatchFault, read_batches
from metashell.log.tail import Tail, whole_batch_behind
from metashell.log.text_files import json_object, read_text_file
from metashell.values import Recovering

_VERSION: Final = 1
_WAY_OUT: Final = "how much this log lost is not known: let the node join anew with an empty directory, or accept the loss (--accept-loss)"
_SECTOR: Final = 512
_LOOK: Final = 1 << 20
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Flaw:
    """Where the good batches of a segment end before its file does.

    `may_be_torn` where a write that was cut off would look so. `whole_end` is the end offset of the last whole batch behind it, None
    without one; `claimed_end` that of what is damaged behind it, too, as it says. `is_read_to_end` where nothing else was there.
    """

    file: str
    position: int
    reason: str
    may_be_torn: bool
    whole_end: int | None
    claimed_end: int
    is_read_to_end: bool


def flaw_at(file: OpenFile, name: str, position: int, item: RecordBatch | BatchFault, reason: str, expected_offset: int) -> Flaw:
    """The flaw at byte `position`, where `item` cannot follow the batch that ends at `expected_offset`.

    Errors: LogCorruptError where the disk gives an error instead of bytes.
    """
    whole_end, claimed_end, is_read_to_end = _look_behind(file, position, item, expected_offset)
    return Flaw(name, position, reason, _may_be_torn(file, position, item), whole_end, claimed_end, is_read_to_end)


def _look_behind(file: OpenFile, position: int, item: RecordBatch | BatchFault, expected_offset: int) -> tuple[int | None, int, bool]:
    whole_end: int | None = None
    claimed_end: int | None = expected_offset
    if isinstance(item, RecordBatch):
        # Whole, and out of order: no CRC covers its base offset, which may be what is wrong.
        whole_end = claimed_end = expected_offset + max(item.header.last_offset_delta + 1, 1)
        position += len(item.data)
    elif item.kind != "zero-tail":
        # The length of what is damaged may be wrong, too: the next whole batch may begin inside of what it claims.
        behind = item.behind if isinstance(item, Tail) else whole_batch_behind(file, position)
        position = behind or position
    while True:
        stop: Tail | None = None
        for found in read_batches(file, start=position):
            if isinstance(found, RecordBatch):
                whole_end = claimed_end = max(whole_end or 0, found.header.last_offset + 1)
            elif isinstance(found, Tail):
                stop = found
            else:
                claimed_end = _claim(found, claimed_end)
        if stop is None:
            return whole_end, claimed_end or expected_offset, claimed_end is not None
        if stop.kind == "unreadable":
            raise LogCorruptError(stop.file, stop.position, stop.reason)
        if stop.behind is None:
            return whole_end, claimed_end or expected_offset, claimed_end is not None and stop.may_be_tail
        position = stop.behind


def _claim(fault: BadBatch, offset: int | None) -> int | None:
    """Where a batch that is bad in itself ends, None where that cannot be believed: it follows `offset`, and its two counts agree."""
    if offset is None or fault.batch.header.base_offset != offset:
        return None
    header = fault.batch.header
    return offset + header.count if header.count == header.last_offset_delta + 1 >= 1 else None


def _may_be_torn(file: OpenFile, position: int, item: RecordBatch | BatchFault) -> bool:
    """Whether a part of a sector, or all that should follow, is missing or zero."""
    first = _SECTOR - position % _SECTOR
    if isinstance(item, RecordBatch):
        # No CRC covers a batch's base offset, nor the zeros that its length begins with: they may be the end of a sector that is missing.
        return not any(item.data[:first])
    if isinstance(item, Tail) and item.looks_cut_off:
        return True
    data = file.read_at(position, min(item.size, _LOOK))
    starts = [0, *range(first, len(data), _SECTOR)]
    return any(not any(data[start:end]) for start, end in zip(starts, [*starts[1:], len(data)], strict=True))


# The note


def read_note(directory: str) -> Recovering | None:
    """The note of a log, None without one. Errors: LogCorruptError for one that cannot be read; OSError."""
    path = os.path.join(directory, DAMAGED)
    try:
        data = read_text_file(path)
    except FileNotFoundError:
        return None
    try:
        fields = json_object(data)
    except ValueError as error:
        raise LogCorruptError(path, 0, f"is no note of damage: {error}; {_WAY_OUT}") from error
    version, until, epoch, reason = (fields.get(name) for name in ("version", "untilOffset", "epoch", "reason"))
    if (
        version != _VERSION
        or "untilOffset" not in fields
        or not isinstance(until, int | None)
        or not isinstance(epoch, int)
        or not isinstance(reason, str)
    ):
        raise LogCorruptError(path, 0, f"is no note of damage of version {_VERSION}; {_WAY_OUT}")
    return Recovering(until, epoch, reason)


def write_note(disk: Disk, directory: str, note: Recovering) -> None:
    """Replace the note; durable on return."""
    fields = {"version": _VERSION, "untilOffset": note.until_offset, "epoch": note.epoch, "reason": note.reason}
    replace_file(disk, os.path.join(directory, DAMAGED), json.dumps(fields, separators=(",", ":")).encode() + b"\n")


def remove_note(disk: Disk, directory: str) -> None:
    """The log is whole again; durable on return."""
    disk.remove_file(os.path.join(directory, DAMAGED))
    disk.sync_directory(directory)


def joined(older: Recovering | None, newer: Recovering) -> Recovering:
    """One note for what was found before and what was found now, which may be what an interrupted recovery left of the same damage.

    Until a log reaches the older note's offset nothing behind that is acknowledged, so that offset bounds what is lost now, too.
    """
    if older is None:
        return newer
    until = None if older.until_offset is None else max(older.until_offset, newer.until_offset or 0)
    return Recovering(until, max(older.epoch, newer.epoch), older.reason)


# What is kept aside


def aside_path(path: str) -> str:
    """A free name beside a file for what is damaged of it; neither Kafka nor we take it for a part of the log."""
    number = 1
    while os.path.lexists(f"{path}{DAMAGED_SUFFIX}{number}"):
        number += 1
    return f"{path}{DAMAGED_SUFFIX}{number}"


def copy_aside(disk: Disk, path: str, fd: int) -> str:
    """Keep a whole file as it is now, under a free name: whole, or not there, after a crash. The name is not synced."""
    target = aside_path(path)
    part = target + ".tmp"
    copy = disk.create_file(part, FILE_MODE)
    try:
        position = 0
        while data := disk.read_at(fd, _PIECE, position):
            disk.append(copy, data)
            position += len(data)
        disk.sync_file(copy)
    finally:
        disk.close_file(copy)
    disk.rename(part, target)
    return target
