"""The checksum of version-2 batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.codec import primitives as module
from metashell.codec.primitives import crc32c


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
