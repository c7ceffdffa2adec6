"""Wire primitives: variable-length integers, Kafka's UTF-8, CRC-32C, and the compression codecs of record batches.

Buffers are `bytes`; positions are indexes into them, and only results are copied. Unsigned varints are plain base-128 (metadata frames,
flexible messages); varints of record bodies are zig-zag on top of that.

CRC-32C (Castagnoli) is the checksum of version-2 record batches and of producer snapshots. The C library accepts `bytes` only and no start
index, so a range is copied before it is summed. A large batch is copied piece by piece, which stays in the cache and never holds a second
copy of the batch.

| id | codec | framing |
| --- | --- | --- |
| 1 | gzip | RFC 1952 |
| 2 | snappy | xerial chunks as snappy-java writes them; raw blocks, which some clients send, are read too |
| 3 | lz4 | frames of independent blocks, the only ones that Java reads |
| 4 | zstd | standard frames |

Consecutive compressed members or frames are read as one. Nothing decompresses beyond the cap, so a decompression bomb costs no more than
the cap. `cramjam` is imported on first use: most metadata logs are not compressed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from types import ModuleType

from google_crc32c import extend as _extend
from google_crc32c import value as _value

from metashell.common.errors import DecodeError

UVARINT_SIZE_MAX = 5

_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def read_uvarint(buf: bytes, pos: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes, and the position after it.

    Units: the value has 32 bits; the fifth byte's higher bits are cut off, as in Java.
    Errors: DecodeError for a sixth byte or the end of the buffer.
    """
    value = shift = 0
    for index in range(pos, pos + UVARINT_SIZE_MAX):
        try:
            byte = buf[index]
        except IndexError:
            raise DecodeError(f"varint ends early at {index}", offset=pos) from None
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF, index + 1
        shift += 7
    raise DecodeError(f"varint is too long, the most significant bit of the {UVARINT_SIZE_MAX}th byte is set", offset=pos)


def encode_uvarint(value: int) -> bytes:
    """An unsigned varint of a value that is not negative."""
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varint(value: int) -> bytes:
    """A zig-zag varint, for int32 and int64 alike."""
    return encode_uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def kafka_text(raw: bytes) -> str:
    """A string's bytes as Kafka shows them: malformed UTF-8 becomes U+FFFD as in the JDK.

    For the JDK, an encoded surrogate (ED A0-BF with its continuation byte) is one malformed character; for Python, each of its bytes is
    one. Source: java.nio.charset's UTF-8 decoder, measured.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _ENCODED_SURROGATE.sub(b"\xff", raw).decode("utf-8", "replace")


_PIECE_SIZE = 256 * 1024


def crc32c(data: bytes, start: int = 0) -> int:
    """The CRC-32C of `data` from index `start` to its end, as an unsigned int."""
    if len(data) - start <= _PIECE_SIZE:
        return int(_value(data[start:]))
    crc = 0
    for index in range(start, len(data), _PIECE_SIZE):
        crc = _extend(crc, data[index : index + _PIECE_SIZE])
    return int(crc)


def more_crc32c(crc: int, data: bytes | bytearray) -> int:
    """The CRC-32C of what has the CRC-32C `crc`, and then `data`."""
    for index in range(0, len(data), _PIECE_SIZE):
        crc = _extend(crc, bytes(data[index : index + _PIECE_SIZE]))
    return int(crc)


crc32c_of_short = _value
"""The CRC-32C of `bytes` that are small enough to be summed at once, for loops in which one more call costs too much."""


UNCOMPRESSED, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
MAX_DECOMPRESSED = 128 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_SIZE = 32 * 1024
_GZIP_FLAGS = 3
_GZIP_FLAGS_MAX = 0x1F
_FIRST_GUESS = 1024 * 1024
_MAPPED_FROM = 1024 * 1024


def decompress(codec_id: int, data: bytes, max_size: int = MAX_DECOMPRESSED) -> bytes:
    """Expand `data`.

    Errors: DecodeError for an unknown codec, broken or truncated data, and a result above `max_size` bytes.
    """
    if codec_id == UNCOMPRESSED:
        return data
    if codec_id == SNAPPY:
        whole = BytesIO()  # a list of blocks to be joined would be as large again
        whole.writelines(snappy_blocks(data, max_size))
        return whole.getvalue()
    if codec_id == GZIP and len(data) > _GZIP_FLAGS and data[_GZIP_FLAGS] > _GZIP_FLAGS_MAX:
        # Java ignores the reserved flags, while the library refuses them: clear them.
        data = data[:_GZIP_FLAGS] + bytes((data[_GZIP_FLAGS] & _GZIP_FLAGS_MAX,)) + data[_GZIP_FLAGS + 1 :]
    return _decompress_frames(_module(codec_id), CODEC_NAMES[codec_id], data, max_size)


def compress(codec_id: int, data: bytes) -> bytes:
    """`data` in a form that Kafka's Java clients and brokers read."""
    if codec_id == UNCOMPRESSED:
        return data
    if codec_id == SNAPPY:
        return _compress_xerial(data)
    module = _module(codec_id)
    if codec_id != LZ4:
        return bytes(module.compress(data))
    # One-shot lz4 links its blocks, which Java refuses ("Dependent block stream is unsupported").
    compressor = module.Compressor(block_linked=False, content_checksum=False)
    compressor.compress(data)
    return bytes(compressor.finish())


def _module(codec_id: int) -> ModuleType:
    import cramjam

    modules = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}
    if codec_id not in modules:
        raise DecodeError(f"unknown compression type id {codec_id}")
    return modules[codec_id]


def _decompress_frames(module: ModuleType, name: str, data: bytes, max_size: int) -> bytes:
    """Expand a stream whose frames do not tell their expanded size: into a likely size first, then into the cap."""
    import cramjam

    guess = min(max_size, max(_FIRST_GUESS, 16 * len(data)))
    for size in (guess, max_size):
        # Pages of a map that nothing is written to take no memory; those of a bytearray would, up to the cap.
        room = bytearray(size) if size <= _MAPPED_FROM else mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        try:
            written = module.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            # The library has no error class for a full buffer, only this text.
            if "whole buffer" not in str(error):
                raise DecodeError(f"{name} data does not decompress: {error}") from error
        else:
            return bytes(memoryview(room)[:written]) if isinstance(room, bytearray) else _moved(room, written)
    raise _too_large(name, max_size)


def _moved(room: mmap, size: int) -> bytes:
    """The first bytes of a map, whose pages are given back as they are copied: a large batch is never in memory twice."""
    out = BytesIO()
    with memoryview(room) as whole:
        for at in range(0, size, _FIRST_GUESS):
            with whole[at : min(at + _FIRST_GUESS, size)] as piece:
                out.write(piece)
            room.madvise(MADV_DONTNEED, at, min(_FIRST_GUESS, len(room) - at))
    return out.getvalue()  # which is the buffer itself and no copy


class TooLargeError(DecodeError):
    """Data that expands to more than it may."""


def _too_large(name: str, max_size: int) -> TooLargeError:
    return TooLargeError(f"{name} data decompresses to more than {max_size} bytes")


def snappy_blocks(data: bytes, max_size: int = MAX_DECOMPRESSED) -> Iterator[bytes]:
    """Expand snappy block by block. Errors: as of `decompress`, where they are found."""
    if not data.startswith(_XERIAL_MAGIC):
        yield _decompress_block(data, max_size, max_size)
        return
    room = max_size
    index = 0
    while len(data) - index >= 4:  # fewer bytes at the end are no block; Java ignores them
        if data.startswith(_XERIAL_MAGIC, index):  # also in the middle, where two streams were concatenated
            index += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(data[index : index + 4], "big", signed=True)
        start = index + 4
        index = start + size
        if size < 0 or index > len(data):
            raise DecodeError(f"snappy block of {size} bytes does not fit in the {len(data) - start} left", offset=start)
        block = _decompress_block(data[start:index], room, max_size)
        room -= len(block)
        yield block


def _decompress_block(block: bytes, room: int, max_size: int) -> bytes:
    """One raw snappy block. Its head tells the expanded size, which is checked before anything is allocated."""
    import cramjam

    if not block:
        raise DecodeError("snappy block is empty")
    try:
        if cramjam.snappy.decompress_raw_len(block) > room:
            raise _too_large("snappy", max_size)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise DecodeError(f"snappy data does not decompress: {error}") from error


def _compress_xerial(data: bytes) -> bytes:
    import cramjam

    parts = [_XERIAL_HEADER]
    for index in range(0, len(data), _XERIAL_BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(data[index : index + _XERIAL_BLOCK_SIZE]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)
