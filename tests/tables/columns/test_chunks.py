"""What columns report of the order of a metadata log is what `disk.segment` says of it, however the log is cut; no hole is passed over."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch
from metashell.common.errors import LogCorruptError, PathError
from metashell.disk.files import open_file
from metashell.disk.segment import OrderCheck, read_batches
from metashell.tables import ReadOptions, plan_splits, read_split

DEMO = Path(__file__).parents[3] / "metashell" / "demo" / "data"
NEWEST = "00000000000000000329-0000000001.checkpoint"
Found = list[tuple[str, int | None, str]]


def batch(first: int, count: int, epoch: int = 1) -> bytes:
    records = [Record(first + index, 5, None, b"\1\x14\0\0") for index in range(count)]
    return write_batch(first, records, leader_epoch=epoch)


def disordered(chance: random.Random) -> list[bytes]:
    """Good batches in some order, with gaps, turns and other epochs, and a few with a wrong checksum."""
    batches, offset, epoch = [], 0, 3
    for _ in range(chance.randrange(1, 30)):
        offset = max(offset + chance.choice((0, 0, 0, 0, 0, 1, 7, -2)), 0)
        epoch = max(epoch + chance.choice((0, 0, 0, 0, 1, -1)), 0)
        count = chance.randrange(1, 5)
        data = bytearray(batch(offset, count, epoch))
        data[-1] ^= chance.random() < 0.1
        batches.append(bytes(data))
        offset += count
    return batches


def out_of_order(path: Path, target_bytes: int = 1 << 30) -> Found:
    return [(file, offset, reason) for kind, file, offset, reason in faults_of(path, target_bytes) if kind == "bad-order"]


def faults_of(path: Path, target_bytes: int = 1 << 30) -> list[tuple[str, str, int | None, str]]:
    """Kind, name of the file, offset and reason of each fault, in order."""
    found: list[tuple[str, str, int | None, str]] = []
    for split in plan_splits(str(path), target_bytes):
        for name, table in read_split(split, ReadOptions(on_error="skip")):
            if name == "faults":
                found += [(row["kind"], Path(row["file"]).name, row["offset"], row["reason"]) for row in table.to_pylist()]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_order_of_headers_is_checked_as_that_of_batches_however_they_are_cut(tmp_path: Path, seed: int) -> None:
    batches = disordered(random.Random(seed))
    path = tmp_path / "__cluster_metadata-0.bin"
    path.write_bytes(b"".join(batches))
    order, want = OrderCheck(None), []
    with open_file(str(path)) as file:
        for item in read_batches(file):
            if not isinstance(item, RecordBatch):
                order.forget()
            elif (fault := order.check(item)) is not None:
                want.append((path.name, fault.offset, fault.reason))
    for target in (1, 200, 1000, 1 << 30):
        assert out_of_order(path, target) == want, target


@pytest.mark.parametrize("seed", range(20))
def test_segments_follow_one_another_as_batches_do(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batches = [batch(0, 2, 3), *disordered(chance)]
    data, folder = b"".join(batches), tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    whole = tmp_path / "whole.log"
    whole.write_bytes(data)
    cuts = sorted(chance.sample(range(1, len(batches)), min(3, len(batches) - 1)))
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, len(batches)], strict=True)):
        (folder / f"{number:020d}.log").write_bytes(b"".join(batches[begin:end]))
    assert [fault[1:] for fault in out_of_order(folder, 300)] == [fault[1:] for fault in out_of_order(whole)]


@pytest.fixture
def holed(tmp_path: Path) -> Path:
    """A node's directory whose newest checkpoint is cut off and whose log begins after the older one."""
    shutil.copytree(DEMO, tmp_path / "node")
    folder = tmp_path / "node" / "__cluster_metadata-0"
    (folder / NEWEST).write_bytes((folder / NEWEST).read_bytes()[:4000])
    (folder / "00000000000000000000.log").unlink()
    return folder


def test_a_checkpoint_that_is_not_used_and_a_hole_after_the_one_that_is_are_faults(holed: Path) -> None:
    assert [fault[:2] for fault in faults_of(holed)] == [("bad-checkpoint", NEWEST), ("bad-order", "00000000000000000251.log")]
    assert out_of_order(holed) == [("00000000000000000251.log", 251, "offsets 141 to 250 are missing")]
    with pytest.raises(LogCorruptError, match=f"{NEWEST}: .* is cut off"):
        list(read_split(plan_splits(str(holed))[0], ReadOptions()))
    (holed / NEWEST).unlink()
    with pytest.raises(LogCorruptError, match="offsets 141 to 250 are missing"):
        list(read_split(plan_splits(str(holed))[0], ReadOptions()))


def test_a_log_that_begins_late_without_a_checkpoint_has_a_hole(holed: Path) -> None:
    for checkpoint in holed.glob("*.checkpoint"):
        checkpoint.write_bytes(checkpoint.read_bytes()[:300])
    assert [fault[0] for fault in faults_of(holed)] == ["bad-checkpoint", "bad-checkpoint", "bad-order"]
    assert out_of_order(holed) == [("00000000000000000251.log", 251, "offsets 0 to 250 are missing")]
    (holed / "00000000000000000251.log").unlink()
    with pytest.raises(PathError, match="none of its checkpoints is complete"):
        plan_splits(str(holed))


def test_a_log_without_holes_has_no_faults() -> None:
    for target in (1, 3000, 1 << 30):
        assert faults_of(DEMO, target) == []
