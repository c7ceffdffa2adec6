"""What the bytes behind a file's last whole batch are: the one judgement of tails, and its one wording.

A write that was cut off leaves a batch that claims more bytes than are there, preallocation leaves zeros: either is how the last segment
of a directory ends when its node stops (`may_be_tail`). It is neither where a whole batch lies behind: then something was
written after it, and it is that batch's length which is wrong.
"""

import re
from typing import Final, Literal, NamedTuple

from metashell.codec.batches import CRC_START, HEADER_SIZE, LEAD_SIZE, MAGIC_END
from metashell.codec.crc32c import crc32c
from metashell.codec.framing import Stop
from metashell.log.files import STDIN_NAME, STREAM_NAMES, OpenFile
from metashell.log.kinds import OFFSETS, TRANSACTIONS, LogKind

TailKind = Literal["truncated", "zero-tail", "bad-size", "bad-magic", "unreadable"]

_PIECE: Final = 1 << 20
_STREAM_LOOK_MAX: Final = 64 << 20
_BEHIND_MAX: Final = 9 * 1024 * 1024
"""Kafka's largest metadata batch is 8 MiB, so the next one starts within that."""
_CHECKED_MAX: Final = 64 * 1024 * 1024
# An offset below 2^48, a length below 2^24, a leader epoch that is not negative, magic 2.
_LEAD = re.compile(rb"(?=\0\0.{6}\0.{3}[\0-\x7f].{3}\x02)", re.DOTALL)


class Tail(NamedTuple):
    """The bytes of a file behind its last whole batch, which no walk goes on after.

    `size` counts them, of a stream as many as were looked at; `offset` is the one that the next batch has or should have, None where
    nothing says it; `behind` is the byte at which a whole batch lies among them, `cause` what is wrong with the first of them.
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
        """Whether the last segment of a directory ends like this when a write was cut off, or its file preallocated."""
        return self.looks_cut_off and self.behind is None

    @property
    def looks_cut_off(self) -> bool:
        """The same, whatever lies behind: of a flush of several batches a middle one may be missing."""
        return self.kind in ("truncated", "zero-tail")

    def continued_at(self, position: int, size: int) -> "Tail":
        """The same where good batches go on at byte `position`; `size` bytes are left of the file, those batches among them."""
        return self._replace(kind="bad-size", size=size, reason=f"{self.cause}, the chain continues at byte {position}", behind=position)


def empty_tail(name: str) -> Tail:
    """The fault of a file without a byte, where nothing says that it may be one."""
    what = "standard input" if name in STREAM_NAMES or name == STDIN_NAME else "the file"
    return Tail(kind="truncated", file=name, position=0, size=0, reason=f"{what} is empty")


def may_lack_batches(log: LogKind | None) -> bool:
    """Whether any segment of a log may be empty: compaction leaves such.

    Source: KAFKA-9157, KAFKA-12889.
    """
    return log in (OFFSETS, TRANSACTIONS)


def judge_tail(file: OpenFile, stop: Stop, after: int | None = None) -> Tail | None:
    """The tail where a walk over `file` stopped, None where the file just ends there.

    `after` is the end offset of the batch before, if the caller knows it; else the base offset that stands there is named.
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
    """How many bytes are left, and whether all of them are zero."""
    data, seen, all_zero = stop.tail, 0, True
    while data:
        seen += len(data)
        all_zero = all_zero and not data.strip(b"\0")
        if stop.left >= 0 and (not all_zero or seen >= stop.left):
            break
        if stop.left < 0 and seen >= _STREAM_LOOK_MAX:
            break  # a stream need not end
        data = file.read_at(stop.position + seen, min(_PIECE, stop.left - seen) if stop.left >= 0 else _PIECE)
    return max(stop.left, seen), all_zero


def _bytes(size: int) -> str:
    return "1 byte" if size == 1 else f"{size} bytes"


def _behind(file: OpenFile, stop: Stop) -> int | None:
    """Where a whole batch lies among the bytes of a tail, as they were when the walk stopped: the file may have grown since."""
    if file.size() is None or stop.left < 0:
        return _whole_batch_in(stop.tail, stop.position)
    return whole_batch_behind(file, stop.position, stop.left)


def whole_batch_behind(file: OpenFile, position: int, left: int | None = None) -> int | None:
    """Where, behind byte `position`, a whole batch lies in the next `left` bytes; None without one.

    Looks at the first 9 MiB only, and gives up where too much of it resembles batches.
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
