"""The headers of a file's batches, for planning: which offsets lie where, without a look at any record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END, unpack_header
from metashell.codec.framing import FRAME_SIZE_MIN, MAGIC_MAX, Frame, unpack_length
from metashell.columns.inputs.chain import MAGIC_AT, resync
from metashell.columns.inputs.files import Excerpt
from metashell.columns.lake.ledger import Anchor
from metashell.log.files import OpenFile
from metashell.log.segment import BadBatch, read_batches
from metashell.log.tail import Tail

_WINDOW: Final = 1 << 20

Visit = Callable[[int, int, Anchor], None]
"""Gets a batch: where it starts in the file, where it ends, and what tells it from others."""


def anchor_of(buf: bytes, at: int = 0) -> Anchor | None:
    """What the header at a place of some bytes says, None where no whole header of a known kind is."""
    if at + FRAME_SIZE_MIN > len(buf):
        return None
    magic = buf[at + MAGIC_AT]
    if magic < MAGIC_MAX:
        # A message of an old format has one offset here: its own, or its last one's.
        offset = int.from_bytes(buf[at : at + 8], "big", signed=True)
        return Anchor(offset, offset, -1, int.from_bytes(buf[at + LEAD_SIZE : at + LEAD_SIZE + 4], "big"))
    if magic > MAGIC_MAX or at + HEADER_SIZE > len(buf):
        return None
    base, _, epoch, _, crc, _, last_delta, *_ = unpack_header(buf, at)
    return Anchor(base, base + max(last_delta, 0), epoch, crc)


def batch_at(file: OpenFile, position: int) -> tuple[Anchor, int] | None:
    """The batch that starts at a byte of a file, and its size; None where none does."""
    head = file.read_at(position, HEADER_SIZE)
    found = anchor_of(head)
    if found is None:
        return None
    return found, unpack_length(head, 8)[0] + LEAD_SIZE


def first_timestamp(file: OpenFile) -> int:
    """The base timestamp of a file's first batch; 0 in formats that have none there."""
    head = file.peek(HEADER_SIZE)
    return int.from_bytes(head[27:35], "big", signed=True) if len(head) >= HEADER_SIZE and head[MAGIC_AT] == MAGIC_MAX else 0


@dataclass(slots=True)
class Hops:
    """A walk over lengths and epochs alone: where to cut, where the last whole batch starts and ends (-1: there is none).

    `epochs` are the base offset and the leader epoch of each batch whose epoch is not that of the one before. Where cuts and the last
    batch are guessed, `seen` are the runs of offsets whose epoch is known instead.
    """

    cuts: list[int] = field(default_factory=list)
    position: int = -1
    end: int = -1
    epochs: list[tuple[int, int]] = field(default_factory=list)
    seen: list[tuple[int, int, int]] = field(default_factory=list)
    is_guessed: bool = False

    def epoch_runs(self, end: int) -> Iterator[tuple[int, int, int]]:
        """The runs of offsets with one epoch each, up to the offset `end`; none where offsets or epochs do not grow."""
        yield from self.seen
        if any(start >= until or epoch >= following for (start, epoch), (until, following) in pairwise(self.epochs)):
            return
        for (start, epoch), (until, _) in pairwise([*self.epochs, (end, -1)]):
            yield start, until, epoch


def hop(file: OpenFile, start: int, size: int, target_bytes: int) -> Hops:
    """Walk from byte `start`, where a batch starts, up to byte `size`, with cuts near every `target_bytes`.

    Where the chain is broken, it goes on where `resync` finds the next batch.
    """
    found = Hops()
    wanted = [*wanted_cuts(start, size, target_bytes), size]
    wanted.reverse()
    position = start
    epoch = b""
    while position < size:
        window = file.read_at(position, min(_WINDOW, size - position))
        at, last = 0, len(window) - FRAME_SIZE_MIN
        while at <= last:
            length: int = unpack_length(window, at + 8)[0] + LEAD_SIZE
            if length < FRAME_SIZE_MIN or position + at + length > size:
                break
            if position + at >= wanted[-1]:
                found.cuts.append(position + at)
                while position + at >= wanted[-1]:
                    wanted.pop()
            found.position = position + at
            if window[at + LEAD_SIZE : at + MAGIC_END] != epoch:
                epoch = window[at + LEAD_SIZE : at + MAGIC_END]
                if (first := anchor_of(window, at)) is not None:
                    found.epochs.append((first.base, first.epoch))
            at += length
            found.end = position + at
        if at == 0 or at <= last:
            # No batch starts here.
            following = resync(file, position + at, size)
            if following is None:
                break
            position = following
            continue
        position += at
    return found


def wanted_cuts(start: int, size: int, target_bytes: int) -> list[int]:
    """Where cuts would be best, between two places."""
    count = max(round((size - start) / target_bytes), 1)
    return [start + (size - start) * number // count for number in range(1, count)]


def visit_batches(file: OpenFile, size: int, visit: Visit) -> int:
    """Show every batch of a file's first `size` bytes; returns where the last whole one ends. Checksums are not looked at."""
    excerpt = Excerpt(file, size) if size >= 0 else file
    position = end = 0

    def take(buf: bytes, frames: list[Frame], first: int) -> int:
        nonlocal position, end
        for number in range(first, len(frames)):
            at, length = frames[number]
            found = anchor_of(buf[at : at + HEADER_SIZE])
            if found is None:
                return number
            visit(position, position + length, found)
            position += length
            end = position
        return len(frames)

    while True:
        broken: Tail | None = None
        for item in read_batches(excerpt, start=position, takes=take):
            if isinstance(item, Tail):
                broken = item
                break
            position = item.position + (item.size if isinstance(item, BadBatch) else len(item.data))
        following = None if broken is None or size < 0 else resync(excerpt, broken.position, size)
        if following is None:
            return end
        position = following
