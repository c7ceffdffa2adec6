"""Whether a torn tail is one: nothing whole lies behind the batch whose write was cut off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.disk.files import open_file
from metashell.disk.segment import whole_batch_behind
from tests.disk.log.conftest import Batch

Look = Callable[[bytes, int], int | None]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """`look(data, position)`: what lies behind the batch at `position` of a file with that content."""

    def make(data: bytes, position: int) -> int | None:
        path = tmp_path / "00000000000000000000.log"
        path.write_bytes(data)
        with open_file(str(path)) as file:
            return whole_batch_behind(file, position)

    return make


def damaged(data: bytes) -> bytes:
    """A batch that claims more bytes than it has."""
    return data[:8] + (len(data) * 1000).to_bytes(4, "big") + data[12:]


def test_the_first_whole_batch_behind_is_found_wherever_it_begins(look: Look, batch: Batch) -> None:
    first, second, third = batch(0), batch(1, epoch=7), batch(2, 3, size=100, epoch=1 << 30)
    assert look(first + damaged(second) + third, len(first)) == len(first) + len(second)
    assert look(damaged(first) + second + third, 0) == len(first)
    assert look(damaged(first) + b"some bytes between" + third + second, 0) == len(first) + 18
    assert look(damaged(first) + second[:-5] + third, 0) == len(first) + len(second) - 5


def test_the_batch_itself_is_not_behind_itself(look: Look, batch: Batch) -> None:
    assert look(batch(0), 0) is None


def test_what_is_cut_or_has_another_checksum_is_not_whole(look: Look, batch: Batch) -> None:
    first, second = batch(0), batch(1)
    assert look(damaged(first), 0) is None
    assert look(damaged(first) + second[:-1], 0) is None
    assert look(damaged(first) + second[:-1] + bytes([second[-1] ^ 1]), 0) is None
    assert look(damaged(first) + second, 0) == len(first)


def test_a_length_that_no_batch_can_have_is_none(look: Look, batch: Batch) -> None:
    """Sixty bytes with the lead of a batch are fewer than a header has."""
    short = batch(1)[:8] + (48).to_bytes(4, "big") + batch(1)[12:60]
    assert look(damaged(batch(0)) + short, 0) is None


def test_it_looks_as_far_as_the_largest_batch_of_kafka_reaches(look: Look, batch: Batch) -> None:
    first, second, gap = batch(0), batch(1), b"\xff" * (8 * 1024 * 1024)
    assert look(damaged(first) + gap + second, 0) == len(first) + len(gap)
