"""Messages of magic 0 and 1 as dump-log of 4.3.1 prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.codec.batches import MAGIC_END
from metashell.codec.legacy import message_crc, read_message_header, read_messages
from metashell.dump.writer import Halt
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.dump.kafka_text import KafkaWriter

_LEAD_SIZE = 26


def legacy_batch(writer: KafkaWriter, data: bytes, position: int) -> None:
    """Write one message, and with deep iteration the lines of those that it holds. Raises Halt."""
    magic = data[MAGIC_END - 1]
    if magic > 1:
        raise Halt(f"{writer.path}: position {position}: Invalid magic byte {magic - 256}")
    header = read_message_header(data[:_LEAD_SIZE])
    writer.lines.append(f"offset: {header.base_offset}")
    writer.second_half(header, position, message_crc(data) == header.crc)
    if not writer.options.iterates_deep:
        return
    writer.is_control = False
    try:
        for record in read_messages(data, writer.options.max_decompressed):
            writer.saw(record.offset)
            if not writer.options.skip_record_metadata:
                writer.lines.append(
                    f"| offset: {record.offset} {header.timestamp_type}: {record.timestamp} "
                    f"keySize: {record.key_size} valueSize: {record.value_size} "
                    f"isValid: {'true' if record.crc_is_valid else 'false'} crc: {record.crc}"
                )
            writer.contents(record.offset, record.key, record.value)
    except DecodeError as error:
        raise Halt(f"{writer.path}: message at position {position}: {error}") from error
