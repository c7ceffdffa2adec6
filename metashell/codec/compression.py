"""The four compression codecs of record batches, both ways, with a cap on what comes out.

| id | name | framing |
| --- | --- | --- |
| 1 | gzip | RFC 1952 |
| 2 | snappy | xerial chunks as snappy-java writes them; raw blocks, which some clients send, are read too |
| 3 | lz4 | frames of independent blocks, the only ones that Java reads |
| 4 | zstd | standard frames |

Several members or frames after one another are read as one. Nothing decompresses beyond the cap, so a bomb costs no more
than the cap. `cramjam` is imported on first use: most metadata logs are not compressed.
"""

from __future__ import annotations

from types import ModuleType

from metashell.errors import DecodeError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
MAX_DECOMPRESSED = 128 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_SIZE = 32 * 1024
_GZIP_FLAGS = 3
_GZIP_FLAGS_MAX = 0x1F
_FIRST_GUESS = 1024 * 1024


def decompress(codec_id: int, data: bytes, max_size: int = MAX_DECOMPRESSED) -> bytes:
    """Expand `data`.

    Errors: DecodeError for an unknown codec, broken or truncated data, and a result above `max_size` bytes.
    """
    if codec_id == NONE:
        return data
    if codec_id == SNAPPY:
        return _decompress_snappy(data, max_size)
    if codec_id == GZIP and len(data) > _GZIP_FLAGS and data[_GZIP_FLAGS] > _GZIP_FLAGS_MAX:
        # Java does not look at the reserved flags; the library refuses them.
        data = data[:_GZIP_FLAGS] + bytes((data[_GZIP_FLAGS] & _GZIP_FLAGS_MAX,)) + data[_GZIP_FLAGS + 1 :]
    return _decompress_frames(_module(codec_id), CODEC_NAMES[codec_id], data, max_size)


def compress(codec_id: int, data: bytes) -> bytes:
    """`data` in a form that Kafka's Java clients and brokers read."""
    if codec_id == NONE:
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
    """Expand a stream whose frames do not say how large they become: into a likely size first, then into the cap."""
    import cramjam

    guess = min(max_size, max(_FIRST_GUESS, 16 * len(data)))
    for size in (guess, max_size):
        room = bytearray(size)
        try:
            written = module.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            # The library has no error of its own for a full buffer.
            if "whole buffer" not in str(error):
                raise DecodeError(f"{name} data does not decompress: {error}") from error
        else:
            return bytes(memoryview(room)[:written])
    raise _too_large(name, max_size)


def _too_large(name: str, max_size: int) -> DecodeError:
    return DecodeError(f"{name} data decompresses to more than {max_size} bytes")


def _decompress_snappy(data: bytes, max_size: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_block(data, max_size, max_size)
    blocks = []
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
        blocks.append(block)
    return b"".join(blocks)


def _decompress_block(block: bytes, room: int, max_size: int) -> bytes:
    """One raw snappy block; its head says how large it becomes, so the room left is checked before anything is allocated."""
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
