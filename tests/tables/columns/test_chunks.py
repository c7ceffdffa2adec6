"""What columns report of the order of a metadata log is what `disk.segment` says of it, however the log is cut; no hole is passed over."""

from __future__ import annotations

import gzip
import random
import shutil
import struct
from pathlib import Path

import pytest

from metashell.codec.batch_writer import append_record, write_batch
from metashell.codec.batches import Record, RecordBatch
from metashell.codec.primitives import compress, crc32c
from metashell.common.errors import LogCorruptError, PathError
from metashell.disk.files import open_file
from metashell.disk.segment import OrderCheck, read_batches
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.columns import chunks

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


# ---- large batches are read in parts


def mangled(chance: random.Random) -> bytes:
    """A batch of any codec of records of many sizes, some with a key, headers or a broken byte; its count may be wrong, its data cut."""
    count = chance.randrange(1, 60)
    area = bytearray()
    for index in range(count):
        value = b"\1\x14\0\0" if chance.random() < 0.9 else b"\1\2" + bytes(chance.choice((0, 60, 64, 8000, 9000)))
        headers = (("h", b"x"),) if chance.random() < 0.05 else ()
        key = b"k" if chance.random() < 0.05 else None
        append_record(area, Record(index, 5 + index % 3, key, value, headers), 0, 5)
    if chance.random() < 0.4:
        area[chance.randrange(len(area))] ^= 1 << chance.randrange(8)
    codec_id = chance.randrange(5)
    body = compress(codec_id, bytes(area))
    if chance.random() < 0.1:
        body = body[: -chance.randrange(1, 5)]
    count += chance.choice((0,) * 8 + (1, -1, -2 * count))
    rest = struct.pack(">hiqqqhii", codec_id, count - 1, 5, 7, -1, -1, -1, count) + body
    return struct.pack(">qiibI", 0, 9 + len(rest), 1, 2, crc32c(rest)) + rest


def found_in(path: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for split in plan_splits(str(path)):
        for name, table in read_split(split, ReadOptions(tables=["records", "no_op", "batches"], on_error="skip")):
            found.setdefault(name, []).extend(table.to_pylist())
    # Rows of one table come by version within a chunk, faults of a batch as they are found.
    for name in ("no_op", "faults"):
        found[name] = sorted(found.get(name, []), key=repr)
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", ["__cluster_metadata-0.bin", "__cluster_metadata-0.log.gz"])
def test_a_batch_that_is_read_in_parts_has_the_same_rows_and_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, name: str
) -> None:
    chance = random.Random(seed)
    data = b"".join(mangled(chance) for _ in range(5))
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    whole = found_in(path)
    monkeypatch.setattr(chunks, "EXPANDED_BYTES", chance.choice((100, 400)))
    monkeypatch.setattr(chunks, "WINDOW_BYTES", 200)
    monkeypatch.setattr(chunks, "BLOCK_BYTES", chance.choice((7, 64, 500)))
    monkeypatch.setattr(chunks, "RECORDS_MAX", chance.choice((1, 5, 30)))
    assert found_in(path) == whole


def test_a_batch_is_expanded_to_no_more_than_is_allowed_before_its_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "EXPANDED_BYTES", 1000)
    path = tmp_path / "__cluster_metadata-0.bin"
    path.write_bytes(write_batch(0, [Record(at, 5, None, b"\1\x14\0\0") for at in range(5000)], leader_epoch=1, codec_id=4))
    (split,) = plan_splits(str(path))
    found = [name for name, _ in read_split(split, ReadOptions(tables=["no_op"], on_error="skip", max_decompressed=20_000))]
    assert found == ["faults"]
