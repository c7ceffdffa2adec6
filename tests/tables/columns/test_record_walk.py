"""Records are found where codec's careful walk finds them, side by side and one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import walk_records
from metashell.codec.primitives import encode_uvarint
from metashell.common.errors import DecodeError
from metashell.tables.columns import record_walk
from metashell.tables.columns.vectors import Buffer


def record_of(value: bytes) -> bytes:
    body = b"\0\0\0\1" + encode_uvarint(2 * len(value)) + value + b"\0"
    return encode_uvarint(2 * len(body)) + body


def areas_of(chance: random.Random, damage: float) -> tuple[list[bytes], list[int]]:
    """Records of all lengths, some areas of them damaged, some counts wrong."""
    areas, counts = [], []
    for _ in range(chance.choice((0, 1, 5, 40))):
        sizes = [chance.choice((0, 1, 50, 57, 58, 100, 8000, 8191, 20_000)) for _ in range(chance.choice((0, 1, 2, 3, 20)))]
        area = bytearray(b"".join(record_of(bytes(size)) for size in sizes))
        if chance.random() < damage and area:
            area[chance.randrange(len(area))] = chance.randrange(256)
        areas.append(bytes(area))
        counts.append(len(sizes) + (chance.choice((-30, -1, 1, 1 << 20)) if chance.random() < damage else 0))
    return areas, counts


@pytest.mark.parametrize("side_by_side_min", [1, 3, 1 << 30])
@given(seed=st.integers(0, 1 << 32), damage=st.sampled_from((0.0, 0.3)))
def test_starts_are_those_of_the_careful_walk(side_by_side_min: int, seed: int, damage: float) -> None:
    areas, counts = areas_of(random.Random(seed), damage)
    ends = np.cumsum([len(area) for area in areas], dtype=np.int64)
    begins = ends - [len(area) for area in areas]
    buffer = Buffer(areas)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_walk, "SIDE_BY_SIDE_MIN", side_by_side_min)
        starts, good = record_walk.record_starts(buffer, begins, ends, np.array(counts, np.int64))
    rest = starts.tolist()
    for number, count in enumerate(counts):
        begin, end = int(begins[number]), int(ends[number])
        try:
            after = [fields[7] for fields in walk_records(buffer.data, begin, end, count)]
        except DecodeError:
            # The lengths may be right where something else is not; then the headers tell.
            if not good[number]:
                continue
            after = [*rest[1:count], end]
        assert good[number]
        assert rest[:count] == [begin, *after][:count]
        del rest[:count]
    assert not rest


def test_a_count_that_cannot_be_is_refused_before_memory_is_taken() -> None:
    area = record_of(b"value")
    ends = np.array([len(area)])
    starts, good = record_walk.record_starts(Buffer([area]), ends - len(area), ends, np.array([(1 << 31) - 1]))
    assert not starts.size
    assert good.tolist() == [False]


def test_a_length_beyond_the_buffer_ends_no_area() -> None:
    area = record_of(b"value") + b"\xff\xff\xff\xff\x0f" + bytes(9)
    ends = np.array([len(area)] * 2)
    for least in (1, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_walk, "SIDE_BY_SIDE_MIN", least)
            assert not record_walk.record_starts(Buffer([area]), ends - len(area), ends, np.array([2, 2]))[1].any()
