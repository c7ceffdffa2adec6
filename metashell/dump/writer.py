"""What both voices share: the walk over the records of one batch, and the text that is waiting to be written.

A voice is a `Writer`: it says what a batch, a record and a stop look like. The walk itself is here, once: quick where a
record header is the usual one, with every check where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metashell.codec.batches import HEADER_SIZE, BatchHeader
from metashell.codec.framing import Stop
from metashell.codec.record_walk import RecordFields, read_record_header
from metashell.dump.fast_loop import SEGMENT_RECORDS, FastLoop, ValueTexts
from metashell.errors import DecodeError

FLUSH_LINES = 1 << 14
"""Lines that may wait as text; what goes beyond is encoded at once, which halves its size."""

FAULTS_MAX = 10
"""Faults of a file that are listed on stderr; the others are counted."""

Place = tuple[int, int] | None
"""An offset and its leader epoch (0 where nobody asks for it)."""
FindingsFields = tuple[list[tuple[int, str]], int, list[str], list[tuple[int, int, int]]]


class Halt(Exception):
    """The whole run ends here, in the middle of a file; the message is for stderr."""


class Findings:
    """What was found out about a file, for stderr and the status.

    `faults` are (position, text) of the first FAULTS_MAX places that are wrong and `fault_count` is the number of all; `notes` is what
    is no fault. `pairs` are (position, offset, following offset) wherever a record does not follow the one before it.
    """

    __slots__ = ("fault_count", "faults", "notes", "pairs")

    def __init__(
        self,
        faults: Iterable[tuple[int, str]] = (),
        fault_count: int = 0,
        notes: Iterable[str] = (),
        pairs: Iterable[tuple[int, int, int]] = (),
    ) -> None:
        self.faults = list(faults)
        self.fault_count = fault_count
        self.notes = list(notes)
        self.pairs = list(pairs)

    def fields(self) -> FindingsFields:
        """The fields, to be made into the same findings by another process."""
        return self.faults, self.fault_count, self.notes, self.pairs

    def fault(self, position: int, text: str) -> None:
        """Note what is wrong. A file can be wrong everywhere, so only the first places are kept."""
        self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append((position, text))

    def add(self, other: Findings) -> None:
        """Add what was found in another part of the file. Pairs stay in the order in which they are added."""
        self.faults = sorted([*self.faults, *other.faults], key=lambda fault: fault[0])[:FAULTS_MAX]
        self.fault_count += other.fault_count
        self.notes += other.notes
        self.pairs += other.pairs

    def fault_lines(self) -> Iterator[str]:
        """One line for each fault that is listed, and one for the others."""
        for _, text in self.faults:
            yield text
        if self.fault_count > len(self.faults):
            yield f"{self.fault_count - len(self.faults)} more faults"


class Writer:
    """Forms the text for one file; what it has written waits in `lines` and `parts` until it is taken.

    `first` and `last` are the places of the first and last record that were seen, None before that; who formats windows
    apart from each other unsets them, and joins them later.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[bytes] = []
        self.first: Place = None
        self.last: Place = None
        self.first_position = 0
        self.findings = Findings()
        self.position = 0
        self.loop: FastLoop | None = None
        self.texts: ValueTexts = {}

    def begin_file(self) -> None:
        """Write what precedes the first batch."""

    def batch(self, buf: bytes, start: int, size: int, position: int) -> None:
        """Write the batch of `size` bytes at `buf[start]`, which lies at byte `position` of the file. Raises Halt."""
        raise NotImplementedError

    def stop(self, stop: Stop) -> None:
        """Write how the walk over the file ended. Raises Halt."""
        raise NotImplementedError

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        """Write one record of a version-2 batch. Raises Halt."""
        raise NotImplementedError

    def take(self) -> list[bytes]:
        """All the text that waits, encoded, in pieces that end with a line or where the text ends; nothing waits afterwards."""
        self.flush()
        parts, self.parts = self.parts, []
        return parts

    def take_findings(self) -> Findings:
        """What was found since they were last taken."""
        findings, self.findings = self.findings, Findings()
        return findings

    def flush(self) -> None:
        """Encode the lines that wait."""
        if self.lines:
            self.parts.append("".join(self.lines).encode("utf-8", "surrogateescape"))
            self.lines.clear()

    def saw(self, offset: int, count: int = 1) -> None:
        """Take note of `count` records in a row, and whether they follow the one before."""
        if self.last is None:
            self.first = (offset, 0)
            self.first_position = self.position
        elif offset != self.last[0] + 1:
            self.findings.pairs.append((self.position, self.last[0], offset))
        self.last = (offset + count - 1, 0)

    def join(self, last: Place) -> None:
        """Take note of the place that precedes what was written since `first` was unset."""
        if self.first is None:
            self.last = last
        elif last is not None and self.first[0] != last[0] + 1:
            self.findings.pairs.append((self.first_position, last[0], self.first[0]))

    def records(self, header: BatchHeader, buf: bytes, start: int, end: int, middle: str | None, drop_last: bool = True) -> None:
        """Write the records of a batch, which lie in `buf[start:end]`.

        `middle` is the text for the tight loop, None to go without it. With `drop_last` bytes left over after the last
        record are noticed before it is written, as Kafka does.
        Errors: DecodeError at the first record that does not decode; what precedes it is written.
        """
        count, first, at = header.count, 0, start
        lines = self.lines
        mark = len(lines)
        if middle is not None and self.loop is not None and 0 < count <= SEGMENT_RECORDS:
            # Nearly every batch: one turn of the loop, and it fits.
            if self.loop(buf, at, 0, count, header.base_offset, middle, self.texts, lines.append) == end:
                self.saw(header.base_offset, count)
                if len(lines) >= FLUSH_LINES:
                    self.flush()
                return
            del lines[mark:]
            middle = None
        if count < 0:
            raise DecodeError(f"record count {count} is negative", offset=HEADER_SIZE - 4)
        while first < count:
            number = min(SEGMENT_RECORDS, count - first)
            following = -1
            if middle is not None and self.loop is not None:
                mark = len(self.lines)
                following = self.loop(buf, at, first, number, header.base_offset, middle, self.texts, self.lines.append)
                if following > end or (following != end and first + number == count):
                    following = -1
                if following < 0:
                    del self.lines[mark:]
            if following < 0:
                following = self._checked(header, buf, at, end, number, drop_last and first + number == count)
            else:
                self.saw(header.base_offset + first, number)
            at = following
            first += number
            if len(self.lines) >= FLUSH_LINES:
                self.flush()
        if count and at != end:
            raise DecodeError(f"{end - at} bytes are left after the {count} records of the batch", offset=at)

    def _checked(self, header: BatchHeader, buf: bytes, at: int, end: int, count: int, drop_last: bool) -> int:
        for number in range(1, count + 1):
            fields = read_record_header(buf, at, end)
            at = fields[7]
            if drop_last and number == count and at != end:
                return at
            self.record(header, buf, fields)
        return at
