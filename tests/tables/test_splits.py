"""Each record belongs to exactly one split, whatever is cut where."""

from __future__ import annotations

import os
import pickle
import random
from itertools import pairwise
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, UsageError
from metashell.disk.files import open_file
from metashell.disk.inputs import InputFile
from metashell.tables import ReadOptions, Split, plan_splits, read_split
from metashell.tables.batch_chain import resync
from metashell.tables.read_options import OnError
from metashell.tables.splits import Piece, cut_points, file_pieces
from tests.tables.logs import any_log

NAME = "00000000000000000000.log"


def no_op(offset: int) -> Record:
    return Record(offset, 5, None, b"\1\x14\0\0")


def batch(first: int, count: int, codec_id: int = 0) -> bytes:
    return write_batch(first, [no_op(first + index) for index in range(count)], leader_epoch=1, codec_id=codec_id)


def offsets_of(splits: list[Split], on_error: OnError = "fail") -> list[int]:
    found: list[int] = []
    for split in splits:
        for name, table in read_split(split, ReadOptions(tables=["records"], on_error=on_error)):
            if name == "records":
                found += table.column("offset").to_pylist()
    return found


def rows_of(splits: list[Split]) -> list[tuple[str, dict[str, Any]]]:
    options = ReadOptions(tables=(), on_error="skip")
    return [(name, row) for split in splits for name, table in read_split(split, options) for row in table.to_pylist()]


def log_with_hostile_value() -> bytes:
    """Batches of several codecs; one record's value is itself a whole valid batch, another ends with one."""
    inner = batch(1000, 2)
    hostile = [Record(5, 5, None, inner), Record(6, 5, None, b"\1\x63\0" + inner)]
    return (
        batch(0, 3)
        + batch(3, 2, codec_id=4)
        + write_batch(5, hostile, leader_epoch=1)
        + batch(7, 1)
        + batch(8, 50, codec_id=3)
        + batch(58, 2, codec_id=1)
        + batch(60, 4, codec_id=2)
    )


def test_every_cut_of_a_small_log_gives_each_record_once(tmp_path: Path) -> None:
    path = tmp_path / NAME
    data = log_with_hostile_value()
    path.write_bytes(data)
    for target in range(60, len(data) + 40, 7):
        splits = plan_splits(str(path), target)
        assert offsets_of(splits, "skip") == list(range(64)), target
        pieces = [piece for split in splits for piece in split.pieces]
        assert pieces[0].start == 0 and pieces[-1].end == len(data)
        assert all(one.end == other.start for one, other in pairwise(pieces))


def test_cuts_lie_on_the_chain_and_never_in_a_value(tmp_path: Path) -> None:
    path = tmp_path / NAME
    data = log_with_hostile_value()
    path.write_bytes(data)
    starts, at = set(), 0
    while at < len(data):
        starts.add(at)
        at += int.from_bytes(data[at + 8 : at + 12], "big") + 12
    with open_file(str(path)) as file:
        for target in range(30, len(data), 11):
            assert set(cut_points(file, len(data), target)) <= starts


def test_one_large_file_is_cut_evenly_and_small_files_are_put_together(tmp_path: Path) -> None:
    large = tmp_path / "a" / NAME
    large.parent.mkdir()
    large.write_bytes(b"".join(batch(first, 10) for first in range(0, 20_000, 10)))
    for number in range(40):
        folder = tmp_path / f"b{number:02d}"
        folder.mkdir()
        (folder / NAME).write_bytes(batch(0, 3))
    target = large.stat().st_size // 4
    splits = plan_splits(str(tmp_path), target)
    whole = [split for split in splits if len(split.pieces) == 1]
    assert len([split for split in whole if split.pieces[0].path == str(large)]) == 4
    assert max(split.bytes for split in splits) < 1.1 * target
    together = [piece for split in splits for piece in split.pieces if piece.path != str(large)]
    assert len(together) == 40
    assert len(splits) < 40
    assert len(offsets_of(splits)) == 20_000 + 120


def test_splits_are_small_values_that_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(batch(0, 3))
    splits = plan_splits(str(tmp_path))
    assert pickle.loads(pickle.dumps(splits)) == splits


def index_of(data: bytes, every: int = 3) -> bytes:
    """An offset index with an entry for some batches, as a broker writes it."""
    entries, at, number = b"", 0, 0
    while at < len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "big") + 12
        base, delta = int.from_bytes(data[at : at + 8], "big"), int.from_bytes(data[at + 23 : at + 27], "big")
        if number % every == every - 1:
            entries += pack(">ii", base + delta, at)
        number += 1
        at += size
    return entries


@pytest.mark.parametrize("lie", ["none", "positions", "offsets", "zeros", "garbage"])
def test_an_index_helps_where_it_is_true_and_does_no_harm_where_it_is_not(tmp_path: Path, lie: str) -> None:
    data = b"".join(batch(first, 3) for first in range(0, 900, 3))
    (tmp_path / NAME).write_bytes(data)
    index = index_of(data)
    if lie == "positions":
        index = b"".join(
            index[at : at + 4] + pack(">i", int.from_bytes(index[at + 4 : at + 8], "big") + 5) for at in range(0, len(index), 8)
        )
    elif lie == "offsets":
        index = b"".join(pack(">i", at) + index[at + 4 : at + 8] for at in range(0, len(index), 8))
    elif lie == "zeros":
        index = index[:80] + bytes(len(index))
    elif lie == "garbage":
        index = random.Random(1).randbytes(len(index) + 3)
    (tmp_path / NAME.replace(".log", ".index")).write_bytes(index)
    splits = plan_splits(str(tmp_path / NAME), len(data) // 7)
    assert len(splits) == 7
    assert offsets_of(splits) == list(range(900))


def test_a_true_index_spares_walking_the_file(tmp_path: Path) -> None:
    data = b"".join(batch(first, 40) for first in range(0, 400_000, 40))
    path = tmp_path / NAME
    path.write_bytes(data)
    (tmp_path / NAME.replace(".log", ".index")).write_bytes(index_of(data))
    with open_file(str(path)) as file:
        read = 0
        plainly = file.read_at

        def counted(position: int, size: int) -> bytes:
            nonlocal read
            found = plainly(position, size)
            read += len(found)
            return found

        file.read_at = counted  # type: ignore[method-assign]
        by_index = list(cut_points(file, len(data), len(data) // 2, str(path)))
    assert len(by_index) == 1
    assert read < len(data) // 2


def test_corruption_is_stepped_over_only_where_a_chain_leads_to_the_end(tmp_path: Path) -> None:
    first, middle, last = batch(0, 3), batch(3, 5), batch(8, 4)
    broken = bytearray(first + middle + last)
    broken[len(first) + 8 : len(first) + 12] = b"\xff\xff\xff\xff"
    path = tmp_path / NAME
    path.write_bytes(broken)
    for target in (50, 100, 10_000):
        assert offsets_of(plan_splits(str(path), target), "skip") == [0, 1, 2, 8, 9, 10, 11]
        (fault,) = (row for name, row in rows_of(plan_splits(str(path), target)) if name == "faults")
        assert (fault["kind"], fault["offset"], fault["position"]) == ("bad-size", 3, len(first))
        assert fault["size"] == len(broken) - len(first), "what dump-log reports too"
        assert fault["reason"] == f"batch length -1 is below 14, the chain continues at byte {len(first + middle)}"


@pytest.mark.parametrize(("name", "reason"), [(NAME, "the file is empty"), ("-", "standard input is empty")])
def test_what_is_empty_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str) -> None:
    path = tmp_path / NAME
    path.touch()
    monkeypatch.setattr(os, "dup", lambda _: os.open(path, os.O_RDONLY))
    piece = Piece(path=name if name == "-" else str(path), log="metadata", cluster_id="", start=0, end=-1 if name == "-" else 0, size=0)
    assert [row["reason"] for _, row in rows_of([Split((piece,))])] == [reason]


def test_a_batch_inside_a_value_is_never_taken_for_where_the_chain_goes_on(tmp_path: Path) -> None:
    inner = batch(1000, 2)
    middle = write_batch(3, [Record(3, 5, None, inner)], leader_epoch=1)
    broken = bytearray(batch(0, 3) + middle + batch(4, 4))
    at = len(batch(0, 3))
    broken[at + 8 : at + 12] = b"\0\0\0\0"
    path = tmp_path / NAME
    path.write_bytes(broken)
    with open_file(str(path)) as file:
        assert resync(file, at, len(broken)) == at + len(middle)
    assert offsets_of(plan_splits(str(path)), "skip") == [0, 1, 2, 4, 5, 6, 7]


def test_where_no_chain_leads_to_the_end_all_that_is_left_is_one_fault(tmp_path: Path) -> None:
    broken = batch(0, 3) + b"\0\0\0\0\0\0\0\3\0\0\0\1garbage" + batch(3, 5)[:-1]
    path = tmp_path / NAME
    path.write_bytes(broken)
    faults = [table for split in plan_splits(str(path)) for name, table in read_split(split, ReadOptions(tables=(), on_error="skip"))]
    assert [fault["size"] for table in faults for fault in table.to_pylist()] == [len(broken) - len(batch(0, 3))]


@pytest.mark.slow
def test_any_damaged_log_gives_the_same_rows_however_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / NAME
    for seed in range(12):
        chance = random.Random(seed)
        data = bytearray(any_log(chance, batch_count=12))
        for _ in range(3):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        whole = offsets_of(plan_splits(str(path), 1 << 30), "skip")
        for target in (200, 1000, 5000):
            assert offsets_of(plan_splits(str(path), target), "skip") == whole, (seed, target)


def test_strictly_the_first_fault_is_an_error_with_file_and_offset(tmp_path: Path) -> None:
    data = bytearray(batch(0, 3) + batch(3, 5))
    data[-1] ^= 1
    path = tmp_path / NAME
    path.write_bytes(data)
    with pytest.raises(LogCorruptError, match=r"00000000000000000000\.log: offset 3: CRC-32C"):
        offsets_of(plan_splits(str(path)))


def test_a_torn_tail_is_no_fault_of_the_last_segment_of_a_directory_but_of_a_file_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(batch(0, 3) + batch(3, 5)[:-4])
    assert offsets_of(plan_splits(str(tmp_path))) == [0, 1, 2]
    with pytest.raises(LogCorruptError, match="cut off"):
        offsets_of(plan_splits(str(path)))


def test_a_directory_without_logs_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no log here"):
        plan_splits(str(tmp_path))
    with pytest.raises(UsageError, match="No such file"):
        plan_splits(str(tmp_path / "none.log"))


def test_an_empty_last_segment_is_no_fault_and_an_empty_file_is_one(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000003.log"
    path.write_bytes(b"")
    with pytest.raises(UsageError, match="nothing in it: the log has no batch"):
        plan_splits(str(tmp_path))
    (tmp_path / NAME).write_bytes(batch(0, 3))
    assert offsets_of(plan_splits(str(tmp_path))) == [0, 1, 2]
    file = InputFile(path=str(path), log=None, cluster_id="c")
    assert [piece.end for piece in file_pieces(file, 100)] == [0]
    with pytest.raises(LogCorruptError, match="empty"):
        offsets_of(plan_splits(str(path)))


def test_a_directory_of_logs_that_nobody_knows_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(write_batch(0, [Record(0, 5, b"key", b"value")], leader_epoch=1))
    with pytest.raises(UsageError, match=r"no log whose records are known here, but 1 log of other topics \(--log says what they are\)"):
        plan_splits(str(tmp_path))
    assert plan_splits(str(tmp_path), log="metadata")
