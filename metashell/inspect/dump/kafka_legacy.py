"""Prints messages of magic 0 and 1 as kafka-dump-log of 4.4.0 does."""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from metashell.codec.batches import CODEC_MASK, LEAD_SIZE, LOG_APPEND_TIME, MAGIC_END
from metashell.codec.framing import LENGTH_MIN, message_crc, read_message_header, with_lz4_header_checksum
from metashell.codec.primitives import LZ4, ZSTD, decompress
from metashell.common.errors import DecodeError
from metashell.inspect.dump.kafka_records import KafkaLines
from metashell.inspect.dump.writer import Halt

_HEADER_SIZE = 26
_INT32 = Struct(">i").unpack_from
_INT64 = Struct(">q").unpack_from


class KafkaMessage:
    """One message with its offset and size. Its fields are read on demand, since Kafka fails only over those that it prints.

    Errors: struct.error if a size field lies past the message's end, DecodeError if the bytes that it counts do.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.offset = offset
        self.magic = data[MAGIC_END - 1]
        self.attributes = data[MAGIC_END]
        self.crc = int.from_bytes(data[12:16], "big")
        self.key_size_index = 18 if self.magic == 0 else 26

    @property
    def key_size(self) -> int:
        return int(_INT32(self.data, self.key_size_index)[0])

    @property
    def value_size_index(self) -> int:
        return self.key_size_index + 4 + max(self.key_size, 0)

    @property
    def value_size(self) -> int:
        return int(_INT32(self.data, self.value_size_index)[0])

    @property
    def timestamp(self) -> int:
        return -1 if self.magic == 0 else int(_INT64(self.data, 18)[0])

    def key(self) -> bytes | None:
        return self._field(self.key_size_index)

    def value(self) -> bytes | None:
        return self._field(self.value_size_index)

    def _field(self, index: int) -> bytes | None:
        (size,) = _INT32(self.data, index)
        if size < 0:
            return None
        room = len(self.data) - index - 4
        if size > room:
            raise DecodeError(f"newLimit > capacity: ({size} > {room})", offset=index)
        return self.data[index + 4 : index + 4 + size]


def legacy_batch(writer: KafkaLines, data: bytes, position: int) -> None:
    """Write one message, and with deep iteration the messages in it. Raises Halt."""
    header = read_message_header(data[:_HEADER_SIZE])
    writer.lines.append(f"offset: {header.base_offset}")
    if header.magic > 1:
        raise Halt(f"{writer.path}: position {position}: Invalid magic used in LegacyRecord: {header.magic - 256}")
    writer.second_half(header, position, message_crc(data) == header.crc)
    if not writer.options.iterates_deep:
        return
    writer.is_control = False
    outer = KafkaMessage(data, header.base_offset)
    try:
        if header.attributes & CODEC_MASK == 0:
            _line(writer, header.timestamp_type, outer, outer.timestamp)
            return
        append_time = header.max_timestamp if outer.magic == 1 and outer.attributes & LOG_APPEND_TIME else None
        for message in unwrapped(outer, writer.options.max_decompressed):
            if message.attributes & CODEC_MASK:
                raise DecodeError("Inner messages must not be compressed")
            timestamp = message.timestamp if append_time is None or message.magic != 1 else append_time
            _line(writer, header.timestamp_type, message, timestamp)
    except (DecodeError, struct_error) as error:
        raise Halt(f"{writer.path}: message at position {position}: {error}") from error


def _line(writer: KafkaLines, timestamp_type: str, message: KafkaMessage, timestamp: int) -> None:
    writer.note_records(message.offset)
    if not writer.options.skip_record_metadata:
        is_valid = message_crc(message.data) == message.crc
        writer.lines.append(
            f"| offset: {message.offset} {timestamp_type}: {timestamp} keySize: {message.key_size} "
            f"valueSize: {message.value_size} isValid: {'true' if is_valid else 'false'} crc: {message.crc}"
        )
    if not writer.options.prints_contents:
        writer.contents(message.offset, None, None)
    elif writer.options.decoder == "metadata":
        try:
            writer.contents(message.offset, None, message.value())
        except (DecodeError, struct_error) as error:
            # Kafka's decoder prints an error and goes on; Java's BufferUnderflowException has no message.
            reason = error if isinstance(error, DecodeError) else "null"
            writer.payload(None, f"Error at {message.offset}, skipping. {reason}")
    else:
        writer.contents(message.offset, message.key(), message.value())


def unwrapped(outer: KafkaMessage, max_size: int) -> list[KafkaMessage]:
    """The messages in a compressed one, with absolute offsets.

    A message that is cut off at the end is left out, as Kafka does. Errors: DecodeError.
    """
    codec_id = outer.attributes & CODEC_MASK
    packed = outer.value()
    if codec_id == ZSTD or packed is None:
        raise DecodeError(f"Invalid wrapper in legacy deep record iterator {outer.magic}")
    if codec_id == LZ4 and outer.magic == 0:
        packed = with_lz4_header_checksum(packed)
    area = decompress(codec_id, packed, max_size)
    found: list[KafkaMessage] = []
    at = 0
    while at + LEAD_SIZE <= len(area):
        offset = int(_INT64(area, at)[0])
        (length,) = _INT32(area, at + 8)
        if length < LENGTH_MIN:
            raise DecodeError(f"Record size {length} is less than the minimum record overhead (14)")
        if at + LEAD_SIZE + length > len(area):
            break
        found.append(KafkaMessage(area[at : at + LEAD_SIZE + length], offset))
        at += LEAD_SIZE + length
    if not found:
        raise DecodeError("Found invalid compressed record set with no inner records")
    if outer.magic == 1:
        _make_absolute(found, outer.offset)
    return found


def _make_absolute(messages: list[KafkaMessage], wrapper_offset: int) -> None:
    last = messages[-1].offset
    # Some versions of librdkafka leave the wrapper's offset at 0.
    if wrapper_offset == 0:
        return
    if wrapper_offset < last:
        raise DecodeError(f"wrapper offset {wrapper_offset} is less than the last inner message offset {last}")
    for message in messages:
        message.offset += wrapper_offset - last
