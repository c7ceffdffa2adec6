"""The parts of Kafka's lines that batches of all magics have in common."""

from __future__ import annotations

from metashell.codec.batches import CODEC_MASK, BatchHeader
from metashell.codec.compression import CODEC_NAMES
from metashell.dump.kafka.payload import payloads_of
from metashell.dump.options import DumpOptions
from metashell.dump.writer import Halt, Writer
from metashell.log.files import OpenFile


class KafkaLines(Writer):
    """Kafka's lines for one file; `name` is the file's name without its folder. `is_control` belongs to the batch that is written."""

    def __init__(self, options: DumpOptions, file: OpenFile, path: str, name: str) -> None:
        super().__init__()
        self.options = options
        self.file = file
        self.path = path
        self.name = name
        self.iterates_deep = options.iterates_deep
        self.is_control = False
        self.payloads = payloads_of(options, file)

    def second_half(self, header: BatchHeader, position: int, is_valid: bool) -> None:
        """Write the rest of a batch line, the same for all magics. Raises Halt for a codec that does not exist."""
        if not is_valid:
            self.findings.fault(position, f"offset {header.base_offset}, position {position}: the CRC is not {header.crc:#x}")
        codec_id = header.attributes & CODEC_MASK
        if codec_id >= len(CODEC_NAMES):
            raise Halt(f"{self.path}: position {position}: Unknown compression type id: {codec_id}")
        self.lines.append(
            f" position: {position} {header.timestamp_type}: {header.max_timestamp} size: {header.size_bytes} "
            f"magic: {header.magic} compresscodec: {CODEC_NAMES[codec_id]} crc: {header.crc} "
            f"isvalid: {'true' if is_valid else 'false'}\n"
        )

    def contents(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Write a record's key and payload, where they are wanted, and end its line."""
        if self.options.prints_contents and not self.is_control:
            self.payload(*self.payloads.parse(offset, key, value))
        else:
            self.lines.append("\n")

    def payload(self, key: str | None, payload: str | None) -> None:
        """Write the texts of a key and a payload, and end the line."""
        before = "| " if self.options.skip_record_metadata else " "
        if key is not None:
            self.lines.append(f"{before}key: {key}")
            before = " "
        if payload is not None:
            self.lines.append(f"{before}payload: {payload}")
        self.lines.append("\n")
