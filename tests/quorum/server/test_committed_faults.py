"""What is wrong with committed data stops the replica, with one line: no state is made without it, no snapshot, and nothing is served."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.messages import FeatureLevelRecord, TopicRecord
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.raft.ready import Committed, SnapshotToLoad
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import SnapshotWriter
from metashell.quorum.raft.voters import SnapshotHeader
from metashell.quorum.server.feed import ImageMachine
from metashell.quorum.server.records import SnapshotToMake, batches_in
from tests.coroutines import eventually
from tests.quorum.raft.made import data_batch
from tests.quorum.server.test_feed import Core, feeding

LEVEL = write_metadata_record(FeatureLevelRecord(name="metadata.version", feature_level=25), 0)
UNKNOWN = b"\x01\xe7\x07\x00a record of a type that is to come"
ID = OffsetAndEpoch(2, 1)


def topic(name: str, number: int = 1) -> bytes:
    return write_metadata_record(TopicRecord(name=name, topic_id=number.to_bytes(16, "big")), 0)


def commit(machine: ImageMachine, data: bytes) -> SnapshotToMake | None:
    return asyncio.run(machine.handle_commit(batches_in(data, "metadata log")))


def flipped(data: bytes, text: bytes) -> bytes:
    """The same bytes with one bit of the first occurrence of a text turned round."""
    assert text in data
    spoiled = bytearray(data)
    spoiled[data.index(text)] ^= 1
    return bytes(spoiled)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (UNKNOWN, "offset 2: "),
        (b"\x01\x02\x00\x05", "offset 2: TOPIC_RECORD: "),
        (write_metadata_record(TopicRecord(name="a", topic_id=bytes(15) + b"\x09"), 0), "offset 2: TOPIC_RECORD: "),
    ],
    ids=["unknown type", "cut off", "does not fit the image"],
)
def test_a_committed_record_that_cannot_be_applied_is_not_skipped(value: bytes, reason: str) -> None:
    machine = ImageMachine(snapshot_after_size=1)
    data = data_batch(0, 1, 0, [LEVEL, topic("a")]) + data_batch(2, 1, 0, [value]) + data_batch(3, 1, 0, [topic("b", 2)])
    with pytest.raises(LogCorruptError, match=f"metadata log: {reason}") as raised:
        commit(machine, data)
    assert "\n" not in str(raised.value)


def test_a_snapshot_with_a_record_that_cannot_be_applied_is_not_loaded() -> None:
    machine = ImageMachine()
    commit(machine, data_batch(0, 1, 0, [topic("before")]))
    with pytest.raises(LogCorruptError, match="offset 1"):
        asyncio.run(machine.handle_load_snapshot(ID, batches_in(data_batch(0, 1, 0, [LEVEL, UNKNOWN]), "snapshot")))
    assert {found.name for found in machine.image.topics.by_id.values()} == {"before"}


def test_every_flipped_bit_of_committed_batches_is_found() -> None:
    data = data_batch(0, 1, 0, [LEVEL, topic("orders")]) + data_batch(2, 1, 0, [topic("b", 2)])
    for at in range(8 * len(data)):
        spoiled = bytearray(data)
        spoiled[at // 8] ^= 1 << at % 8
        try:
            found = batches_in(bytes(spoiled), "x")
        except LogCorruptError:
            continue
        # No CRC covers epoch and base offset; that the batches follow each other is looked at from the second one on.
        assert 12 <= at // 8 % 141 < 16 or at // 8 < 8 or [batch.header.base_offset for batch in found] == [0, 2]


def made_log(folder: Path, padding: int = 0) -> MetadataLog:
    """A log of two records, and a snapshot of them with `padding` more."""
    log = MetadataLog.open(str(folder))
    log.append(data_batch(0, 1, 0, [LEVEL, topic("orders")]), 2)
    log.flush()
    log.write_leader_epochs([(1, 0)])
    writer = SnapshotWriter(log.create_snapshot(ID), [SnapshotHeader(0)], 0)
    writer.append([LEVEL, *(topic(f"padding-{number:060}", number) for number in range(2, padding + 2)), topic("orders")])
    writer.freeze()
    return log


def spoil(path: str, text: bytes) -> None:
    with open(path, "rb") as file:
        data = flipped(file.read(), text)
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(data)


async def stopped_by(log: Any, notice: Committed | SnapshotToLoad) -> str:
    """What stops a replica that hears of this: nothing of it counts."""
    core, machine = Core(), ImageMachine()
    feed = feeding(core, log, machine)
    feed.notice(notice)
    await eventually(lambda: bool(core.stopped))
    assert isinstance(core.stopped[0], LogCorruptError)
    assert not machine.image.topics.by_id and not core.consumed_to
    await feed.close()
    if isinstance(log, MetadataLog):
        log.close()
    return str(core.stopped[0])


@pytest.mark.parametrize("padding", [0, 30_000])
async def test_a_bit_that_flips_in_a_snapshot_of_an_open_log_stops_the_replica_that_loads_it(tmp_path: Path, padding: int) -> None:
    log = made_log(tmp_path, padding)
    log.start_at_snapshot(ID)
    log.close()
    log = MetadataLog.open(str(tmp_path))
    spoil(log.snapshot_path(ID), b"orders")
    assert "CRC-32C" in await stopped_by(log, SnapshotToLoad(7, ID))


@pytest.mark.parametrize("cut", ["footer", "batch"])
async def test_a_snapshot_that_ends_too_early_stops_the_replica_that_loads_it(tmp_path: Path, cut: str) -> None:
    made = made_log(tmp_path)
    data = made.read_snapshot(ID, 0, made.snapshot_size(ID))
    made.close()
    end = batches_in(data, "x")[-1].position
    log = MemoryLog()
    log.add_snapshot(ID, data[:end] if cut == "footer" else data[: end + 1])
    assert "footer" in await stopped_by(log, SnapshotToLoad(7, ID))


async def test_a_snapshot_whose_file_was_cut_short_stops_the_replica_that_loads_it(tmp_path: Path) -> None:
    made_log(tmp_path).close()
    log = MetadataLog.open(str(tmp_path))
    path = log.snapshot_path(ID)
    os.chmod(path, 0o644)
    os.truncate(path, log.snapshot_size(ID) - 1)
    assert "the file ends at byte" in await stopped_by(log, SnapshotToLoad(7, ID))


async def test_a_bit_that_flips_in_the_log_while_it_is_open_stops_the_replica_that_reads_it(tmp_path: Path) -> None:
    made_log(tmp_path).close()
    log = MetadataLog.open(str(tmp_path))
    spoil(os.path.join(log.directory, f"{0:020d}.log"), b"orders")
    assert "CRC-32C" in await stopped_by(log, Committed(7, 0, 2))


def pages(log: MetadataLog, size: int) -> Sequence[bytes]:
    return [log.read_snapshot(ID, position, size) for position in range(0, log.snapshot_size(ID), size)]


@pytest.mark.parametrize("size", [7, 64, 1000, 1 << 20])
def test_no_page_of_a_snapshot_is_read_without_its_batches_checksums(tmp_path: Path, size: int) -> None:
    log = made_log(tmp_path, 50)
    path = log.snapshot_path(ID)
    with open(path, "rb") as file:
        whole = file.read()
    assert b"".join(pages(log, size)) == whole
    log.close()
    log = MetadataLog.open(str(tmp_path))
    spoil(path, b"orders")
    with pytest.raises(LogCorruptError, match="CRC-32C"):
        pages(log, size)
    log.close()


def test_no_batches_are_read_from_the_disk_without_their_checksums(tmp_path: Path) -> None:
    log = made_log(tmp_path)
    assert log.read(0, 2, 1 << 20) == data_batch(0, 1, 0, [LEVEL, topic("orders")])
    log.close()
    log = MetadataLog.open(str(tmp_path))
    spoil(os.path.join(log.directory, f"{0:020d}.log"), b"orders")
    with pytest.raises(LogCorruptError, match="offset 0: CRC-32C"):
        log.read(0, 2, 1 << 20)
    log.close()
