"""Walks the records of a batch for both voices, and holds the text until it is written.

A voice is a `Writer`: it forms the text of a batch, a record and a stop. A tight loop walks records that are framed as usual
(`codec/metadata_records.py`). It gives up on anything unusual, and the caller reads the same records again with every check. In the logs
of coordinators the same keys recur, so their loop looks up a key's text by its bytes.

Windows of a file are read, formatted and written one after another. Memory holds one window and its text, for a file of any size, even
if the reader of the output stalls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from metashell.codec import metadata_records
from metashell.codec.batches import HEADER_SIZE, BatchHeader, RecordFields, read_record_header
from metashell.codec.framing import Stop, Window
from metashell.codec.metadata_records import GAVE_UP, HEADERS_MAX
from metashell.codec.primitives import encode_varint
from metashell.common.errors import DecodeError
from metashell.disk.files import WindowReader
from metashell.inspect.dump.options import Output

FLUSH_LINES = 1 << 14
"""Lines that may wait as text. More than that are encoded at once, which halves their size."""

FAULTS_MAX = 10
"""Faults of a file that are listed on stderr; more are counted."""

Place = tuple[int, int] | None
"""An offset and its leader epoch (0 where the epoch is not needed)."""
FindingsFields = tuple[list[tuple[int, str]], int, list[str], list[tuple[int, int, int]]]


class Halt(Exception):
    """The whole run ends here, inside a file; the message is for stderr."""


class Findings:
    """The faults of a file, for stderr and the status.

    `faults` are (position, text) of the first FAULTS_MAX faults, `fault_count` is the number of all, and `notes` are remarks that are no
    faults. `pairs` are (position, offset, following offset) wherever a record does not follow the one before it.
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
        """The fields, from which another process can make the same findings."""
        return self.faults, self.fault_count, self.notes, self.pairs

    def fault(self, position: int, text: str) -> None:
        """Note a fault. A file can have a fault at every batch, so only the first ones are kept."""
        self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append((position, text))

    def add(self, other: Findings) -> None:
        """Add the findings of another part of the file. Pairs stay in the order in which they are added."""
        self.faults = sorted([*self.faults, *other.faults], key=lambda fault: fault[0])[:FAULTS_MAX]
        self.fault_count += other.fault_count
        self.notes += other.notes
        self.pairs += other.pairs

    def fault_lines(self) -> Iterator[str]:
        """A line for each listed fault, and one for the rest."""
        for _, text in self.faults:
            yield text
        if self.fault_count > len(self.faults):
            yield f"{self.fault_count - len(self.faults)} more faults"


class Writer:
    """Forms the text of one file; the text waits in `lines` and `parts` until it is taken.

    `first` and `last` are the places of the first and last record so far, None before that. A process that formats a window apart from
    the one before it unsets them and calls `join` later.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.parts: list[bytes] = []
        self.output: Output | None = None
        """Takes text at once where a batch has much of it; None leaves all of it to `take_text`."""
        self.first: Place = None
        self.last: Place = None
        self.first_position = 0
        self.findings = Findings()
        self.position = 0
        self.loop: FastLoop | None = None
        self.texts: ValueTexts = {}

    def begin_file(self) -> None:
        """Write the text before the first batch."""

    def batch(self, buf: bytes, start: int, size: int, position: int) -> None:
        """Write the batch of `size` bytes at `buf[start]`, which lies at byte `position` of the file. Raises Halt."""
        raise NotImplementedError

    def stop(self, stop: Stop) -> None:
        """Write the end of the walk over the file. Raises Halt."""
        raise NotImplementedError

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        """Write one record of a version-2 batch. Raises Halt."""
        raise NotImplementedError

    def take_text(self) -> list[bytes]:
        """Return all waiting text, encoded, in pieces of whole lines; nothing waits afterwards."""
        self.flush()
        parts, self.parts = self.parts, []
        return parts

    def take_findings(self) -> Findings:
        """Return the findings since the last call."""
        findings, self.findings = self.findings, Findings()
        return findings

    def flush(self) -> None:
        """Encode the waiting lines, and write them if there is an `output`. Errors: OSError."""
        if self.lines:
            self.parts.append("".join(self.lines).encode("utf-8", "surrogateescape"))
            self.lines.clear()
        if self.output is not None:
            self.output.write_all(self.parts)

    def note_records(self, offset: int, count: int = 1) -> None:
        """Note `count` consecutive records, and whether they follow the one before."""
        if self.last is None:
            self.first = (offset, 0)
            self.first_position = self.position
        elif offset != self.last[0] + 1:
            self.findings.pairs.append((self.position, self.last[0], offset))
        self.last = (offset + count - 1, 0)

    def join(self, last: Place) -> None:
        """Compare the place before this text with `first`, which was unset when its formatting began."""
        if self.first is None:
            self.last = last
        elif last is not None and self.first[0] != last[0] + 1:
            self.findings.pairs.append((self.first_position, last[0], self.first[0]))

    def records(self, header: BatchHeader, buf: bytes, start: int, end: int, middle: str | None, drop_last: bool = True) -> None:
        """Write the records of a batch, which lie in `buf[start:end]`.

        `middle` is the text for the tight loop, None to do without the loop. With `drop_last`, bytes left over after the last record are
        noticed before that record is written, as Kafka does.
        Errors: DecodeError at the first record that does not decode; those before it are written.
        """
        count, first, at = header.count, 0, start
        lines = self.lines
        mark = len(lines)
        if middle is not None and self.loop is not None and 0 < count <= SEGMENT_RECORDS:
            # Nearly every batch is read by one call of the loop.
            if self.loop(buf, at, 0, count, header.base_offset, middle, self.texts, lines.append) == end:
                self.note_records(header.base_offset, count)
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
                self.note_records(header.base_offset + first, number)
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
    """Write the file from `position` on, window by window, and a batch with very many records piece by piece."""
    writer.output = output
    while True:
        window = reader.read(position)
        try:
            format_window(writer, window)
        finally:
            output.write_all(writer.take_text())
        if window.stop is not None:
            return window.stop
        position = window.next


def format_window(writer: Writer, window: Window) -> None:
    """Form the text of a window's batches and of the stop after them; it waits in the writer. Raises Halt."""
    buf, position, batch = window.buf, window.position, writer.batch
    for start, size in window.frames:
        batch(buf, start, size, position + start)
    if window.stop is not None:
        writer.stop(window.stop)


SEGMENT_RECORDS = 1 << 14
"""Records that are formatted between two checks of how much text is waiting."""

ValueText = Callable[[bytes, int, int], str]
ValueTexts = dict[bytes, tuple[ValueText | None, str]]
"""The first three bytes of a value (frame version, type, version) -> a function that writes its body, and the text before it.

None for the writer leaves the record out.
"""
Item = TypeVar("Item")


class Made(dict[bytes, Item]):
    """A dictionary whose items are made on first use; `make` raises for a key that has none."""

    def __init__(self, make: Callable[[bytes], Item]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: bytes) -> Item:
        made = self[key] = self.make(key)
        return made


FastLoop = Callable[[bytes, int, int, int, int, str, ValueTexts, Callable[[str], None]], int]
"""`(buf, at, first, count, base_offset, middle, texts, append)` -> the index after the last record, or GAVE_UP.

Writes records `first` to `first + count` of a batch; `middle` is the text that all its records share.
"""

_SKIP = "if body is None: continue\n"


def make_loop(line: str, may_skip: bool = False, head: str = "") -> FastLoop:
    """Make the loop that appends `line`, an expression over the loop's local names, for each record.

    `before` is the text before a value and `body(buf, start + 3, end)` the value's text. `value_size` is twice the size. `head` is a text
    that all records of the file share.
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
"""The first two bytes of a value (its version) -> a function that writes its fields, and the text before them; None omits the record."""

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
"""Reads the rest of a varint of up to two bytes that must be a size, so not negative."""
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
    """Make the loop that appends `line`, or `tombstone` for a record without a value: expressions over the loop's local names.

    `keys` is a KeyTexts; `key_text`, `key_size` and `value_size` are those of a record; `before` is the text before a value and
    `body(buf, start + 2, at)` the value's text.
    """
    names: dict[str, Any] = {"headers": _usual_headers, "GAVE_UP": GAVE_UP, "DecodeError": DecodeError, "head": head}
    sizes = {f"read_{name}": _SIZE.format(name=name).strip() for name in ("key_size", "value_size")}
    exec(compile(_TEMPLATE.format(line=line, tombstone=tombstone, **sizes), "<dump-log keyed loop>", "exec"), names)
    loop: FastLoop = names["loop"]
    return loop


def _usual_headers(first: int, count: int) -> list[bytes]:
    """The bytes between length and key length of records `first` to `first + count` of a batch, for usual records."""
    if count == 1 and first == 0:
        return _FIRST
    if first + count > HEADERS_MAX:
        return [b"\0\0" + encode_varint(delta) for delta in range(first, first + count)]
    for delta in range(len(_headers), first + count):
        _headers.append(b"\0\0" + encode_varint(delta))
    return _headers[first : first + count]


class KeyTexts(dict[bytes, Any]):
    """A bounded cache: a key's bytes -> its text and the versions of its values; `None` for these leaves the record out.

    `make` makes an item; it raises DecodeError for a key that must be read with every check.
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
