"""The four codecs: Java's data read, ours read by Java, and what hostile data gets."""

from __future__ import annotations

from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec import primitives as module
from metashell.codec.primitives import CODEC_NAMES, GZIP, LZ4, SNAPPY, UNCOMPRESSED, ZSTD, compress, crc32c, decompress
from metashell.common.errors import DecodeError
from tests.java import run_program

VECTORS = Path(__file__).parent.parent / "golden" / "compression"
PAYLOAD = (VECTORS / "payload.bin").read_bytes()
REAL_CODECS = (GZIP, SNAPPY, LZ4, ZSTD)
by_codec = pytest.mark.parametrize("codec_id", REAL_CODECS, ids=[CODEC_NAMES[codec_id] for codec_id in REAL_CODECS])


def vector(codec_id: int) -> bytes:
    return (VECTORS / f"{CODEC_NAMES[codec_id]}.bin").read_bytes()


@by_codec
def test_what_kafka_compressed_is_read(codec_id: int) -> None:
    assert decompress(codec_id, vector(codec_id)) == PAYLOAD


@pytest.mark.slow
@by_codec
def test_the_vectors_are_what_kafka_still_writes(codec_id: int) -> None:
    packed = run_program(VECTORS / "Pack.java", "pack", CODEC_NAMES[codec_id], "2", stdin=PAYLOAD)
    assert packed == vector(codec_id)


@pytest.mark.slow
@by_codec
def test_kafka_reads_what_we_compress(codec_id: int) -> None:
    packed = compress(codec_id, PAYLOAD)
    assert run_program(VECTORS / "Pack.java", "unpack", CODEC_NAMES[codec_id], "2", stdin=packed) == PAYLOAD


@by_codec
@given(data=st.binary(max_size=300))
def test_compressing_then_decompressing_is_identity(codec_id: int, data: bytes) -> None:
    assert decompress(codec_id, compress(codec_id, data)) == data


def test_no_compression_gives_the_same_bytes_back() -> None:
    assert decompress(UNCOMPRESSED, PAYLOAD) is PAYLOAD
    assert compress(UNCOMPRESSED, PAYLOAD) is PAYLOAD


@by_codec
def test_concatenated_streams_are_read_to_their_end(codec_id: int) -> None:
    assert decompress(codec_id, vector(codec_id) + compress(codec_id, b"and more")) == PAYLOAD + b"and more"


def test_snappy_without_the_xerial_frame_is_read() -> None:
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(PAYLOAD))) == PAYLOAD


@by_codec
def test_a_bomb_is_refused_at_the_cap(codec_id: int) -> None:
    bomb = compress(codec_id, bytes(3_000_000))
    assert len(decompress(codec_id, bomb, 3_000_000)) == 3_000_000
    with pytest.raises(DecodeError, match="more than 2999999 bytes"):
        decompress(codec_id, bomb, 2_999_999)


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_anything_is_allocated() -> None:
    with pytest.raises(DecodeError, match="more than"):
        decompress(SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20))


@by_codec
def test_every_truncation_is_a_decode_error_or_whole_members_or_blocks(codec_id: int) -> None:
    packed = compress(codec_id, b"a small text, a small text, a small text")
    for size in range(len(packed)):
        try:
            assert decompress(codec_id, packed[:size]) == b""
        except DecodeError:
            continue
        assert codec_id == SNAPPY  # a xerial stream may end after any block, so also after none


@by_codec
def test_garbage_is_a_decode_error(codec_id: int) -> None:
    with pytest.raises(DecodeError):
        decompress(codec_id, b"\x07this is no compressed data at all")


@pytest.mark.parametrize("size", [-1, 5, 1 << 30])
def test_a_snappy_block_size_that_does_not_fit_is_a_decode_error(size: int) -> None:
    head = compress(SNAPPY, b"")
    with pytest.raises(DecodeError, match="does not fit"):
        decompress(SNAPPY, head + size.to_bytes(4, "big", signed=True) + b"abc")


@pytest.mark.parametrize("codec_id", [5, 6, 7])
def test_ids_without_a_codec_are_named(codec_id: int) -> None:
    with pytest.raises(DecodeError, match=f"compression type id {codec_id}"):
        decompress(codec_id, b"x")
    with pytest.raises(DecodeError):
        compress(codec_id, b"x")


# ---- the checksum of version-2 batches


def test_the_check_value_of_the_castagnoli_polynomial_comes_out() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(st.binary(max_size=200), st.integers(0, 200))
def test_the_sum_from_an_index_is_that_of_the_slice(data: bytes, start: int) -> None:
    assert crc32c(data, start) == crc32c(data[start:])


def test_a_large_buffer_summed_in_pieces_gives_the_sum_of_the_whole(monkeypatch) -> None:
    data = bytes(range(256)) * 11
    whole = crc32c(data, 21)
    monkeypatch.setattr(module, "_PIECE_SIZE", 100)
    assert crc32c(data, 21) == whole
