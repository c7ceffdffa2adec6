"""Bounds give the rows that all rows give when they are filtered, and read little of what lies outside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import CRC_START, DELETE_HORIZON, Record, read_batch_header
from metashell.codec.primitives import crc32c
from metashell.disk.files import OpenFile
from metashell.disk.names import METADATA, Closing
from metashell.tables import ReadOptions, plan_splits, read_split, splits
from metashell.tables.columns import reader
from metashell.tables.input_files import open_input
from metashell.tables.read_options import Bounds, Range

NAME = "00000000000000000000.log"
NO_OP = b"\1\x14\0\0"


def make_log(chance: random.Random, batch_count: int) -> bytes:
    """Batches of any size whose offsets and epochs grow, and whose times mostly do."""
    data, offset, epoch, time = [], chance.choice((0, 70)), 1, 1_000_000_000
    for _ in range(batch_count):
        epoch += chance.choice((0, 0, 0, 0, 1, 3))
        time += chance.choice((0, 5, 1000, 3_600_000, -2000))
        size = chance.choice((0, 0, 10, 3000, 40_000))
        records = []
        for _ in range(chance.choice((1, 1, 3, 20))):
            records.append(Record(offset, time + chance.choice((0, 0, 1, -1)), None, NO_OP + bytes(size)))
            offset += 1
        codec = chance.choice((0, 0, 0, 4))
        data.append(write_batch(records[0].offset, records, leader_epoch=epoch, codec_id=codec, is_log_append_time=chance.random() < 0.1))
    return b"".join(data)


def rows(path: Path, only: Bounds | None, target_bytes: int = 1 << 25) -> list[tuple[int, int, int]]:
    options = ReadOptions(tables=["records"], payloads=False, on_error="skip", only=only)
    return [
        (row["offset"], row["epoch"], row["timestamp"])
        for split in plan_splits(str(path), target_bytes, log=METADATA, only=only)
        for name, batch in read_split(split, options)
        if name == "records"
        for row in batch.select(["offset", "epoch", "timestamp"]).to_pylist()
    ]


def some_range(chance: random.Random, values: list[int]) -> Range:
    sides = [chance.choice((None, chance.choice(values) + chance.choice((-1, 0, 1)))) for _ in range(2)]
    return Range(*sides)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_give_what_a_filter_gives(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / NAME
    path.write_bytes(make_log(chance, chance.choice((1, 30, 120))))
    whole = rows(path, None)
    for _ in range(25):
        ranges = [some_range(chance, [row[column] for row in whole]) if chance.random() < 0.6 else Range() for column in range(3)]
        only = Bounds(offset=ranges[0], epoch=ranges[1], timestamp=ranges[2])
        expected = [
            row
            for row in whole
            if all(
                (least is None or value >= least) and (most is None or value <= most)
                for value, (least, most) in zip(row, ranges, strict=True)
            )
        ]
        assert rows(path, only, chance.choice((1 << 25, 100_000))) == expected, (only, len(whole))


def big_log(batch_bytes: int, size: int) -> tuple[bytes, int]:
    """A log of equal batches, and how many there are: offset and epoch stand outside of the checksum."""
    made = write_batch(0, [Record(0, 1_000_000_000, None, NO_OP + random.Random(1).randbytes(batch_bytes))], leader_epoch=1)
    count = size // len(made)
    return b"".join(pack(">q", number) + made[8:] for number in range(count)), count


class Counting(Closing):
    """An opened file that counts what is read of it."""

    read = 0
    is_far = False

    def __init__(self, file: OpenFile) -> None:
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def read_at(self, position: int, size: int) -> bytes:
        found = self.file.read_at(position, size)
        Counting.read += len(found)
        return found

    def close(self) -> None:
        self.file.close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Counting]]:
    Counting.read = 0
    for module in (splits, reader):
        monkeypatch.setattr(module, "open_input", lambda path, **more: Counting(open_input(path, **more)))
    yield Counting


@pytest.mark.parametrize("batch_bytes", [100, 5000, 100_000])
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_one_hundredth_of_a_log_costs_few_of_its_bytes(tmp_path: Path, counted: type[Counting], batch_bytes: int, part: float) -> None:
    data, count = big_log(batch_bytes, 24 << 20)
    path = tmp_path / NAME
    path.write_bytes(data)
    first = int(count * part)
    wanted = Bounds(offset=Range(first, first + count // 100 - 1))
    assert [row[0] for row in rows(path, wanted)] == list(range(first, first + count // 100))
    assert counted.read < 0.03 * len(data)


def test_headers_of_large_batches_are_enough_to_pass_over_them_by_time(tmp_path: Path, counted: type[Counting]) -> None:
    data = b"".join(
        write_batch(number, [Record(number, number * 10_000_000, None, NO_OP + bytes(60_000))], leader_epoch=1) for number in range(200)
    )
    path = tmp_path / NAME
    path.write_bytes(data)
    assert [row[0] for row in rows(path, Bounds(timestamp=Range(1_980_000_000, None)))] == [198, 199]
    assert counted.read < 0.03 * len(data)
    counted.read = 0
    # Only the time of an append is that of all records.
    assert [row[0] for row in rows(path, Bounds(timestamp=Range(None, 10_000_000)))] == [0, 1]
    assert counted.read > len(data)


def test_a_batch_that_was_compacted_has_another_time_where_its_first_record_had_one(tmp_path: Path) -> None:
    made = write_batch(0, [Record(0, 5_000, None, NO_OP), Record(1, 1_000, None, NO_OP)], leader_epoch=1)
    header = read_batch_header(made)
    attributes, base = header.attributes | DELETE_HORIZON, header.base_timestamp + 9_000_000
    # The deltas stay, so that the records move with their base.
    data = made[:21] + pack(">h", attributes) + made[23:27] + pack(">q", base) + made[35:]
    data = data[:17] + pack(">I", crc32c(data, CRC_START)) + data[21:]
    path = tmp_path / NAME
    path.write_bytes(data)
    whole = rows(path, None)
    assert [row[2] for row in whole] == [9_005_000, 9_001_000]
    assert rows(path, Bounds(timestamp=Range(None, 9_001_000))) == whole[1:]
    assert rows(path, Bounds(timestamp=Range(None, 9_000_000))) == []


def test_segments_that_end_before_are_not_opened(tmp_path: Path, counted: type[Counting]) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    data, count = big_log(100, 1 << 16)
    half = len(data) // count * (count // 2)
    (folder / NAME).write_bytes(data[:half])
    (folder / f"{count // 2:020}.log").write_bytes(data[half:])
    found = plan_splits(str(folder), only=Bounds(offset=Range(count // 2, None)))
    assert [piece.path for split in found for piece in split.pieces] == [str(folder / f"{count // 2:020}.log")]
    logs: set[Any] = set()
    assert plan_splits(str(folder), only=Bounds(offset=Range(count, None)), logs=logs) == []
    assert logs == {"metadata"}


def test_what_is_damaged_outside_is_not_seen_and_inside_it_is(tmp_path: Path) -> None:
    data, count = big_log(5000, 1 << 20)
    size = len(data) // count
    damaged = bytearray(data)
    damaged[10 * size + 100] ^= 1
    path = tmp_path / NAME
    path.write_bytes(damaged)
    assert len(rows(path, Bounds(offset=Range(100, None)))) == count - 100
    assert len(rows(path, Bounds(offset=Range(None, 50)))) == 50
    broken = bytearray(data)
    broken[10 * size + 8] = 0x7F
    path.write_bytes(broken)
    assert [row[0] for row in rows(path, Bounds(offset=Range(150, None)))] == list(range(150, count))
    assert [row[0] for row in rows(path, Bounds(offset=Range(None, 15)))] == [*range(10), *range(11, 16)]


def test_values_that_look_like_headers_of_huge_batches_cost_little(tmp_path: Path, counted: type[Counting]) -> None:
    lure = pack(">qiibIhiqqqhii", 7, 1 << 20, 1, 2, 0, 0, 0, 5, 5, -1, -1, -1, 1)
    made = write_batch(0, [Record(0, 1_000_000_000, None, NO_OP + lure * 60)], leader_epoch=1)
    count = (24 << 20) // len(made)
    path = tmp_path / NAME
    path.write_bytes(b"".join(pack(">q", number) + made[8:] for number in range(count)))
    first = count - count // 100
    assert [row[0] for row in rows(path, Bounds(offset=Range(first, None)))] == list(range(first, count))
    assert counted.read < 0.04 * count * len(made)
