"""The batches of a file as Kafka's recovery walks over them, which is not quite how our reader does.

A file ends where fewer than 18 bytes are left, or fewer than a batch says that it has: that is no error. A length below 14 is one, and so
is a batch that is shorter than its header or has a wrong checksum. Magic numbers above 2 pass, until a record is read.
Source: FileLogInputStream, DefaultRecordBatch.ensureValid, LegacyRecord.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from metashell.codec.batches import HEADER_SIZE, MAGIC_END, BatchHeader, RecordBatch, crc_fault, unpack_header
from metashell.codec.framing import FRAME_SIZE_MAX, MAGIC_MAX, Stop, frame_fault
from metashell.codec.legacy import LegacyBatch, message_crc, read_message_header
from metashell.log.files import RegularFile
from metashell.log.window_reader import WindowReader
from metashell.verify.start.verdict import Ends


class Placed(NamedTuple):
    """One batch: where it lies and what recovery looks at; `flaw` is what is wrong with it in itself."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    epoch: int
    magic: int
    max_timestamp: int
    record_count: int
    flaw: str = ""

    @property
    def end(self) -> int:
        return self.position + self.size


class BadLengthError(Exception):
    """A length that no batch has, at this byte."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.position = stop.position


def placed_batches(file: RegularFile) -> Iterator[Placed]:
    """What lies in a segment, up to where Kafka sees its end. Errors: BadLengthError; Ends where the disk gives an error."""
    reader = WindowReader(file, None, FRAME_SIZE_MAX)
    position = 0
    while True:
        window = reader.read(position)
        for at, size in window.frames:
            yield _placed(window.buf[at : at + size], position + at)
        position = window.next
        if window.stop is not None:
            break
    if file.trouble is not None:
        raise Ends(file.name, file.trouble, position=window.stop.position)
    if window.stop.kind == "bad-size":
        raise BadLengthError(window.stop)


def _placed(data: bytes, position: int) -> Placed:
    magic = int.from_bytes(data[MAGIC_END - 1 : MAGIC_END], "big", signed=True)
    if magic < 2:
        header = read_message_header(data[:HEADER_SIZE])
        flaw = "" if message_crc(data) == header.crc and magic >= 0 else f"a message of magic {magic} whose checksum is wrong"
    else:
        header = BatchHeader(*unpack_header(data[:HEADER_SIZE].ljust(HEADER_SIZE, b"\0")))
        # A magic number above 2 passes here.
        flaw = frame_fault(MAGIC_MAX, len(data)) or crc_fault(header, data) or ""
    return Placed(
        position,
        len(data),
        header.base_offset,
        header.last_offset,
        header.leader_epoch,
        magic,
        header.max_timestamp,
        header.count,
        flaw,
    )


def read_placed(file: RegularFile, placed: Placed) -> RecordBatch:
    """The whole batch, to be decoded."""
    data = file.read_at(placed.position, placed.size)
    if placed.magic < MAGIC_MAX:
        return LegacyBatch(placed.position, data, file.name)
    return RecordBatch(BatchHeader(*unpack_header(data)), placed.position, data, file.name)
