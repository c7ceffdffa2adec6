"""The walk over the records of a batch, for both voices, and the text that waits to be written.

A voice is a `Writer`: it says what a batch, a record and a stop look like. The walk is a tight loop where records are framed as usual
(`codec/metadata_records.py`), and checks everything where they are not: the loop gives up on everything unusual, and the caller reads the
same records again. The records of coordinators have keys that come again and again; their loop looks a key's text up by its bytes.

Windows of a file are read, formatted and written one after another. Memory holds one window and its text, for a file of any size, also
when the reader of the output stalls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from metashell.codec import metadata_records
from metashell.codec.batches import HEADER_SIZE, BatchHeader, RecordFields, read_record_header
from metashell.codec.framing import Stop, Window
from metashell.codec.metadata_records import GAVE_UP
from metashell.codec.primitives import encode_varint
from metashell.common.errors import DecodeError
from metashell.disk.files import WindowReader
from metashell.inspect.dump.options import Output

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


def dump_in_turn(writer: Writer, reader: WindowReader, output: Output, position: int = 0) -> Stop:
    """Write the file from `position` on, window after window."""
    while True:
        window = reader.read(position)
        try:
            format_window(writer, window)
        finally:
            output.write_all(writer.take())
        if window.stop is not None:
            return window.stop
        position = window.next


def format_window(writer: Writer, window: Window) -> None:
    """Let the text of a window's batches, and of the stop after them, wait in the writer. Raises Halt."""
    buf, position, batch = window.buf, window.position, writer.batch
    for start, size in window.frames:
        batch(buf, start, size, position + start)
    if window.stop is not None:
        writer.stop(window.stop)


__all__ = ["GAVE_UP", "SEGMENT_RECORDS", "FastLoop", "Made", "ValueText", "ValueTexts", "make_loop"]

SEGMENT_RECORDS = 1 << 14
"""Records that are formatted between two looks at how much text is waiting."""

ValueText = Callable[[bytes, int, int], str]
ValueTexts = dict[bytes, tuple[ValueText | None, str]]
"""The first three bytes of a value (frame version, type, version) -> what writes its body, and the text before it.

None for the writer leaves the record out.
"""
Item = TypeVar("Item")


class Made(dict[bytes, Item]):
    """A dictionary whose items are made when they are first asked for; `make` raises for a key that has none."""

    def __init__(self, make: Callable[[bytes], Item]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: bytes) -> Item:
        made = self[key] = self.make(key)
        return made


FastLoop = Callable[[bytes, int, int, int, int, str, ValueTexts, Callable[[str], None]], int]
"""`(buf, at, first, count, base_offset, middle, texts, append)` -> the index after the last record, or GAVE_UP.

Writes records `first` to `first + count` of a batch; `middle` is the text that is the same for all its records.
"""

_SKIP = "if body is None: continue\n"


def make_loop(line: str, may_skip: bool = False, head: str = "") -> FastLoop:
    """The loop that appends `line`, an expression over its local names, for each record.

    The value's text is `body(buf, start + 3, end)`, what goes before it `before`; `value_size` is twice the size; `head`
    is a text that is the same for the whole file.
    """
    body = f"body, before = texts[buf[start : start + 3]]\n{_SKIP if may_skip else ''}append({line})"
    loop: FastLoop = metadata_records.make_loop(
        body,
        parameters="base_offset middle texts append",
        each={"offset": "range(base_offset + first, base_offset + first + count)"},
        names={"head": head},
    )
    return loop


MEMO_LIMIT = 1 << 15
MEMO_KEY_SIZE_MAX = 256

Versions = dict[bytes, tuple[ValueText | None, str]]
"""The first two bytes of a value, its version -> what writes its fields, and the text before them; None leaves the record out."""

_SIZE = """
            if {name} > 127:
                if buf[start] > 127:
                    return GAVE_UP
                {name} = {name} & 127 | buf[start] << 7
                start += 1
            if {name} & 1:
                return GAVE_UP
            {name} >>= 1
            at = start + {name}
"""
"""Reads the rest of a varint that may have two bytes, and must be a size: no negative number."""
_TEMPLATE = """
def loop(buf, at, first, count, base_offset, middle, keys, append):
    offset = base_offset + first - 1
    try:
        for header in headers(first, count):
            offset += 1
            size = buf[at]
            at += 1
            if size > 127:
                if buf[at] > 127:
                    return GAVE_UP
                size = size & 127 | buf[at] << 7
                at += 1
            if size & 1 or not buf.startswith(header, at):
                return GAVE_UP
            end = at + (size >> 1)
            start = at + len(header)
            key_size = buf[start]
            start += 1
            {read_key_size}
            key_text, versions = keys[buf[start:at]]
            start = at + 1
            value_size = buf[at]
            if value_size == 1:
                if start != end - 1 or buf[start]:
                    return GAVE_UP
                at = end
                if versions is None:
                    continue
                append({tombstone})
                continue
            {read_value_size}
            if at != end - 1 or buf[at]:
                return GAVE_UP
            if versions is None:
                at = end
                continue
            body, before = versions[buf[start : start + 2]]
            append({line})
            at = end
    except (IndexError, DecodeError):
        return GAVE_UP
    return at
"""

_headers: list[bytes] = []
_FIRST = [b"\0\0\0"]


def make_keyed_loop(line: str, tombstone: str, head: str = "") -> FastLoop:
    """The loop that appends `line`, or `tombstone` for a record without a value: expressions over its local names.

    `keys` is a KeyTexts; `key_text`, `key_size` and `value_size` are a record's own; the value's text is
    `body(buf, start + 2, at)` and what goes before it `before`.
    """
    names: dict[str, Any] = {"headers": _usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, "head": head}
    sizes = {f"read_{name}": _SIZE.format(name=name).strip() for name in ("key_size", "value_size")}
    exec(compile(_TEMPLATE.format(line=line, tombstone=tombstone, **sizes), "<dump-log keyed loop>", "exec"), names)
    loop: FastLoop = names["loop"]
    return loop


def _usual_headers(first: int, count: int) -> list[bytes]:
    """For records `first` to `first + count` of a batch, what stands between length and key length."""
    if count == 1 and first == 0:
        return _FIRST
    for delta in range(len(_headers), first + count):
        _headers.append(b"\0\0" + encode_varint(delta))
    return _headers[first : first + count]


class KeyTexts(dict[bytes, Any]):
    """A bounded memo from a key's bytes to its text and the versions of its values; `None` for these leaves the record out.

    `make` gives what a key has; it raises DecodeError for a key that is to be read with every check.
    """

    def __init__(self, make: Callable[[bytes], tuple[str, Versions | None]]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: bytes) -> tuple[str, Versions | None]:
        made = self.make(key)
        if len(key) <= MEMO_KEY_SIZE_MAX:
            if len(self) >= MEMO_LIMIT:
                self.clear()
            self[key] = made
        return made
