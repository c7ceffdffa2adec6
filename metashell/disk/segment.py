"""Streams the batches of one segment or checkpoint, with the faults in it, and decides what its tail means.

The walk holds one window of the file, or one batch if that is larger. It goes on after a batch that is bad in itself, as long as the
batch's length leads on; where the framing is broken, the rest of the file is one `Tail`. Nothing here raises for a file's content, and no
length in a file is believed before that many bytes are there.

A write that was cut off leaves a batch that claims more bytes than there are, and preallocation leaves zeros: the last segment of a
directory may end in either when its node stops (`may_be_tail`). Neither explains a tail with a whole batch in it: that batch was written
later, so the wrong length before it is damage. Example: the file has 1000 bytes, and the batch at byte 400 claims 4096 bytes. Without a
whole batch after byte 400 this is a torn write, and recovery cuts it off. With a whole batch at byte 700, the batch at byte 400 was once
whole, and cutting there would silently drop a later batch that may be committed.

`OrderCheck` checks that batches follow one another. A batch's CRC covers neither base offset nor leader epoch, so nothing else would show
that these were changed."""

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from metashell.codec.batches import CRC_START, HEADER_SIZE, LEAD_SIZE, MAGIC_END, BatchHeader, CheckedBatch, RecordBatch, unpack_header
from metashell.codec.framing import MAGIC_MAX, BatchFrame, Stop, Window, frame_fault
from metashell.codec.primitives import crc32c
from metashell.disk.files import STDIN_NAME, STREAM_NAMES, WINDOW_SIZE, OpenFile, WindowReader
from metashell.disk.names import OFFSETS, SNAPSHOT_FOOTER_TYPE, SNAPSHOT_HEADER_TYPE, TRANSACTIONS, LogKind

TailKind = Literal["truncated", "zero-tail", "bad-size", "bad-magic", "unreadable"]

_PIECE: Final = 1 << 20
_STREAM_LOOK_MAX: Final = 64 << 20
_BEHIND_MAX: Final = 9 * 1024 * 1024
"""The largest metadata batch of Kafka is 8 MiB, so the next batch starts within this distance."""
_CHECKED_MAX: Final = 64 * 1024 * 1024
# The lead of a batch in a search: an offset below 2^48, a length below 2^24, a leader epoch that is not negative, magic 2. At random
# bytes this matches once in 2^33 positions, and the CRC decides.
_LEAD = re.compile(rb"(?=\0\0.{6}\0.{3}[\0-\x7f].{3}\x02)", re.DOTALL)


class Tail(NamedTuple):
    """The bytes of a file behind its last whole batch, at which every walk ends.

    `size` counts them; for a stream, only those that were read. `offset` is the offset that the next batch has or should have, None if
    unknown. `behind` is the byte at which a whole batch lies among them; `cause` is the fault at their start.
    """

    kind: TailKind
    file: str
    position: int
    size: int
    reason: str
    offset: int | None = None
    behind: int | None = None
    cause: str = ""

    @property
    def batch(self) -> None:
        """None: no batch is here, not even a bad one."""
        return None

    @property
    def may_be_tail(self) -> bool:
        """Whether a cut-off write or preallocation explains this tail, in the last segment of a directory."""
        return self.looks_cut_off and self.behind is None

    @property
    def looks_cut_off(self) -> bool:
        """The same, even if whole batches lie behind: a crash during a flush of several batches may lose one in the middle."""
        return self.kind in ("truncated", "zero-tail")

    def continued_at(self, position: int, size: int) -> "Tail":
        """This tail, if good batches go on at byte `position`; `size` is the size of the file's rest, including those batches."""
        return self._replace(kind="bad-size", size=size, reason=f"{self.cause}, the chain continues at byte {position}", behind=position)


def empty_tail(name: str) -> Tail:
    """The fault of an empty file that should not be empty."""
    what = "standard input" if name in STREAM_NAMES or name == STDIN_NAME else "the file"
    return Tail(kind="truncated", file=name, position=0, size=0, reason=f"{what} is empty")


def may_lack_batches(log: LogKind | None) -> bool:
    """Whether any segment of a log may be empty: compaction leaves empty segments.

    Source: KAFKA-9157, KAFKA-12889.
    """
    return log in (OFFSETS, TRANSACTIONS)


def judge_tail(file: OpenFile, stop: Stop, after: int | None = None) -> Tail | None:
    """The tail at which a walk over `file` stopped; None if the file just ends there.

    `after` is the end offset of the batch before, if the caller knows it; else the tail names the base offset that stands there.
    """
    if file.trouble is not None:
        size = max(stop.left, 0)
        return Tail(
            kind="unreadable", file=file.name, position=stop.position, size=size, reason=file.trouble, offset=after, cause=file.trouble
        )
    if stop.kind == "end":
        return None
    size, is_zero = _rest(file, stop)
    if is_zero:
        reason = f"the rest is zero, {_bytes(size)} left"
        return Tail(kind="zero-tail", file=file.name, position=stop.position, size=size, reason=reason, offset=after, cause=stop.reason)
    reason = f"{stop.reason}, {_bytes(size)} left"
    behind = _behind(file, stop)
    if behind is not None:
        reason = f"{reason}, among them a whole batch at byte {behind}"
    kind = _kind(stop)
    if after is None and kind != "bad-magic":
        after = stop.offset
    return Tail(kind=kind, file=file.name, position=stop.position, size=size, reason=reason, offset=after, behind=behind, cause=stop.reason)


def _kind(stop: Stop) -> TailKind:
    if stop.kind == "bad-size":
        return "bad-size"
    if stop.unknown_magic is not None:
        return "bad-magic"
    return "bad-size" if stop.kind == "too-large" else "truncated"


def _rest(file: OpenFile, stop: Stop) -> tuple[int, bool]:
    """The number of bytes left, and whether all of them are zero."""
    data, seen, all_zero = stop.tail, 0, True
    while data:
        seen += len(data)
        all_zero = all_zero and not data.strip(b"\0")
        if stop.left >= 0 and (not all_zero or seen >= stop.left):
            break
        if stop.left < 0 and seen >= _STREAM_LOOK_MAX:
            break  # a stream may never end
        data = file.read_at(stop.position + seen, min(_PIECE, stop.left - seen) if stop.left >= 0 else _PIECE)
    return max(stop.left, seen), all_zero


def _bytes(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


def _behind(file: OpenFile, stop: Stop) -> int | None:
    """The position of a whole batch in a tail. Only bytes that were there when the walk stopped count: the file may have grown since."""
    if file.size() is None or stop.left < 0:
        return _whole_batch_in(stop.tail, stop.position)
    return whole_batch_behind(file, stop.position, stop.left)


def whole_batch_behind(file: OpenFile, position: int, left: int | None = None) -> int | None:
    """The position of a whole batch behind byte `position`, within the next `left` bytes; None without one.

    Searches the first 9 MiB only, and gives up if too much of it resembles batches: each candidate costs a CRC.
    """
    return _whole_batch_in(file.read_at(position, _BEHIND_MAX if left is None else min(left, _BEHIND_MAX)), position)


def _whole_batch_in(data: bytes, position: int) -> int | None:
    left = _CHECKED_MAX
    for match in _LEAD.finditer(data, 1):
        start = match.start()
        end = start + LEAD_SIZE + int.from_bytes(data[start + 8 : start + LEAD_SIZE], "big")
        if end - start < HEADER_SIZE or end > len(data):
            continue
        left -= end - start
        if left < 0:
            break
        if crc32c(data[start:end], CRC_START) == int.from_bytes(data[start + MAGIC_END : start + CRC_START], "big"):
            return position + start
    return None


_FIRST_WINDOW: Final = 64 * 1024


class BadBatch(NamedTuple):
    """A frame without a good batch, after which the walk goes on; `offset` is the base offset that stands there."""

    kind: Literal["bad-size", "bad-crc", "bad-magic"]
    batch: RecordBatch
    reason: str

    @property
    def file(self) -> str:
        return self.batch.file

    @property
    def position(self) -> int:
        return self.batch.position

    @property
    def size(self) -> int:
        return len(self.batch.data)

    @property
    def offset(self) -> int:
        return self.batch.header.base_offset

    @property
    def may_be_tail(self) -> bool:
        return False


BatchFault = BadBatch | Tail
"""A place in a file that holds no good batch."""
TakesFrames = Callable[[bytes, list[BatchFrame], int], int]
"""`(buf, frames, first) -> index`: uses frames from `first` on after its own checks, and returns the first that it leaves."""


def read_batches(
    file: OpenFile, *, start: int = 0, max_bytes: int | None = None, takes: TakesFrames | None = None
) -> Iterator[RecordBatch | BatchFault]:
    """The batches of `file` from byte `start` on, and the faults between them, in order of position.

    `max_bytes` limits the walk to the first bytes of the file; a batch that crosses that limit is left out and is not a fault. A file that
    grows meanwhile is read to its new end. Frames that `takes` uses are not yielded: in a log with a million small batches, most of the
    work is making objects of them.
    """
    reader = WindowReader(file, max_bytes, file.batch_size_max, _FIRST_WINDOW)
    name = file.name
    position = start
    after: int | None = None
    while True:
        window = reader.read(position)
        buf, base = window.buf, window.position
        frames, done = window.frames, 0
        while done < len(frames):
            left = frames
            if takes is not None:
                done = takes(buf, frames, done)
                after = -1
                left = frames[done : done + 1]
            for at, size in left:
                if size < HEADER_SIZE or buf[at + MAGIC_END - 1] != MAGIC_MAX:
                    yield _judge(buf[at : at + size], base + at, name)
                    continue
                header = BatchHeader(*unpack_header(buf, at))
                after = header.last_offset + 1
                data = buf[at : at + size]
                if crc32c(data, CRC_START) == header.crc:
                    yield CheckedBatch(header, base + at, data, name)
                else:
                    yield _bad_crc(RecordBatch(header, base + at, data, name))
            done += len(left)
        position = window.next
        # Windows grow while they hold several batches. With large batches they stay small, so that little is read twice.
        reader.window_size = min(2 * reader.window_size, WINDOW_SIZE) if len(window.frames) > 1 else _FIRST_WINDOW
        stop = window.stop
        if stop is None or (stop.kind != "bad-size" and reader.grow()):
            continue
        if after == -1:
            after = _end_of_last(window)
        tail = None if _is_cut_at(max_bytes, stop) else judge_tail(file, stop, after)
        if tail is not None:
            yield tail
        return


def _end_of_last(window: Window) -> int | None:
    """The offset after the last frame of a window, which `takes` has used."""
    return BatchHeader(*unpack_header(window.buf, window.frames[-1][0])).last_offset + 1 if window.frames else None


def _is_cut_at(limit: int | None, stop: Stop) -> bool:
    """Whether the walk stopped in the middle of a batch because of the caller's limit, not because of the file."""
    return limit is not None and stop.kind in ("short", "truncated") and stop.position + stop.left >= limit


def _judge(data: bytes, position: int, file: str) -> RecordBatch | BadBatch:
    """The batch in a frame of magic 0 or 1, or the fault of one that is no batch."""
    magic = data[MAGIC_END - 1]
    if magic < MAGIC_MAX:
        from metashell.codec.framing import LegacyBatch

        message = LegacyBatch(position, data, file)
        return message if message.crc_fault() is None else _bad_crc(message)
    # A header that is too short is filled with zeros.
    batch = RecordBatch(BatchHeader(*unpack_header(data[:HEADER_SIZE].ljust(HEADER_SIZE, b"\0"))), position, data, file)
    return BadBatch(kind="bad-magic" if magic > MAGIC_MAX else "bad-size", batch=batch, reason=frame_fault(magic, len(data)) or "")


def _bad_crc(batch: RecordBatch) -> BadBatch:
    return BadBatch(kind="bad-crc", batch=batch, reason=batch.crc_fault() or "")


class SourceFault(NamedTuple):
    """One place in a source that could not be used.

    `offset` is the log offset there, -1 if unknown; `position` is the byte in `file`, -1 if the fault has no place in it (a missing file).
    `is_tail` marks the normal end of the last segment of a running or stopped node; `is_zero`: the rest of the file is zero.
    """

    file: str
    offset: int
    position: int
    reason: str
    is_tail: bool = False
    is_zero: bool = False

    def __str__(self) -> str:
        place = f"byte {self.position}: " if self.position >= 0 else ""
        return f"{self.file}: {place}{self.reason}"


def fault_of(item: BatchFault, *, is_last: bool = False) -> SourceFault:
    """Turn a fault of a file into one of the source; `is_last` if the file is the last segment of a directory."""
    offset = -1 if item.offset is None else item.offset
    is_zero = item.kind == "zero-tail"
    return SourceFault(item.file, offset, item.position, item.reason, is_tail=is_last and item.may_be_tail, is_zero=is_zero)


def order_fault(expected_offset: int | None, epoch: int | None, here: tuple[int, int], *, may_skip: bool = False) -> str | None:
    """The reason why a batch with the base offset and leader epoch of `here` does not follow; None if it does.

    Shape: the batch before it ended right before `expected_offset` and was of `epoch`; None if unknown. Compaction leaves gaps in the logs
    of topics (`may_skip`), never in a metadata log.
    """
    offset, own_epoch = here
    if expected_offset is not None and offset > expected_offset and not may_skip:
        return missing_offsets(expected_offset, offset)
    if expected_offset is not None and offset < expected_offset:
        return f"offset goes back to {offset} after {expected_offset - 1}"
    if epoch is not None and own_epoch < epoch:
        return f"leader epoch goes back to {own_epoch} after {epoch}"
    return None


def missing_offsets(first: int, end: int) -> str:
    """The fault of a gap: no batch has the offsets from `first` to before `end`."""
    return f"offset {first} is missing" if end == first + 1 else f"offsets {first} to {end - 1} are missing"


class OrderCheck:
    """Checks that each batch starts where the one before it ended, in the same or a later epoch."""

    def __init__(self, expected_offset: int | None, epoch: int | None = None, *, may_skip: bool = False) -> None:
        self.expected_offset = expected_offset
        self.epoch = epoch
        self._may_skip = may_skip

    def follows(self, offset: int, epoch: int) -> bool:
        """Whether a batch may come next."""
        return order_fault(self.expected_offset, self.epoch, (offset, epoch), may_skip=self._may_skip) is None

    def check(self, batch: RecordBatch) -> SourceFault | None:
        """The fault of a batch out of order. The next batch is compared with this one either way, so that one gap is one fault."""
        header = batch.header
        reason = order_fault(self.expected_offset, self.epoch, (header.base_offset, header.leader_epoch), may_skip=self._may_skip)
        self.expected_offset = header.last_offset + 1
        self.epoch = header.leader_epoch
        return SourceFault(batch.file, header.base_offset, batch.position, reason) if reason else None

    def forget(self) -> None:
        """Accept any next batch, because the one before it was itself bad."""
        self.expected_offset = self.epoch = None


KEPT_SIZE_MAX: Final = 256 << 20
"""The most bytes of a checkpoint to keep between its check and its loading. An image keeps most of them anyway."""


def checked_snapshot(items: Iterator[RecordBatch | BatchFault], file: str, faults: list[SourceFault]) -> Iterator[RecordBatch]:
    """The batches among `items`; faults go to `faults`, also a missing header or footer.

    A checkpoint starts with a SnapshotHeader and ends with a SnapshotFooter; its batches count from offset 0 and are all of
    one epoch.
    """
    order = OrderCheck(0)
    position = 0
    first_type: int | None = None
    last_type: int | None = None
    for item in items:
        batch = item.batch if isinstance(item, BatchFault) else item
        if last_type == SNAPSHOT_FOOTER_TYPE:
            faults.append(SourceFault(file, -1, position, "checkpoint goes on after its footer"))
        if batch is not None:
            last_type = batch.first_control_type()
        if position == 0:
            first_type = last_type
            if first_type != SNAPSHOT_HEADER_TYPE:
                faults.append(SourceFault(file, -1, 0, "checkpoint does not start with a snapshot header"))
        if isinstance(item, BatchFault):
            faults.append(fault_of(item))
            order.forget()
            position = item.position + item.size
            continue
        if fault := order.check(item):
            faults.append(fault)
        position = item.position + len(item.data)
        yield item
    if last_type != SNAPSHOT_FOOTER_TYPE:
        faults.append(SourceFault(file, -1, position, "checkpoint ends without its footer: it is incomplete"))


def first_snapshot_fault(file: OpenFile, kept: list[RecordBatch] | None = None) -> SourceFault | None:
    """The first fault in a checkpoint, which makes it unusable as the start of an image; None if it is whole. Reads all of it.

    `kept` gets the batches of a whole one, unless they are more than KEPT_SIZE_MAX bytes, so that the file need not be read again.
    """
    faults: list[SourceFault] = []
    size = 0
    for batch in checked_snapshot(read_batches(file), file.name, faults):
        if faults:
            break
        size += len(batch.data)
        if kept is not None and size <= KEPT_SIZE_MAX:
            kept.append(batch)
    if kept is not None and (faults or size > KEPT_SIZE_MAX):
        kept.clear()
    return faults[0] if faults else None
