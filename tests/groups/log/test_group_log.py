"""The log of groups on disk: what it refuses, what it cleans away, and what it costs. tests/simulation/groups/durable.py kills it."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path

import pytest

from metashell.codec.batches import RecordBatch
from metashell.common.errors import LogCorruptError
from metashell.common.values import group_log_topic_id
from metashell.disk.file_system import Disk, UnsyncedDisk
from metashell.disk.files import RegularFile
from metashell.disk.segment import read_batches
from metashell.disk.state_files import format_topic_id
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.log.group_log import GroupLog
from metashell.groups.state import Settings
from tests.groups.coordinator.offset_requests import TOPICS, begin, commit, commit_in_transaction, delete_group, end, fetch
from tests.groups.driven import Driven

ID = group_log_topic_id("cluster")
HOUR_MS = 3_600_000


def opened(folder: Path, partitions: int = 50, disk: Disk | None = None, **sizes: int) -> GroupLog:
    sizes = {"index_size": 1_000, "delete_retention_ms": HOUR_MS, **sizes}
    return GroupLog.open(str(folder), ID, partitions, disk or UnsyncedDisk(), **sizes)


def client_of(log: GroupLog, now_ms: int = 1_000_000) -> Driven:
    """A client of a coordinator that writes to this log."""
    driven = Driven(topics=TOPICS)
    driven.now_ms = now_ms
    driven.shard = Shard(GroupCoordinator(Settings(), driven.chance, TOPICS, log.state), now_ms=now_ms, append=log.append)  # type: ignore
    return driven


def batches(log: GroupLog, partition: int) -> list[RecordBatch]:
    found = []
    for segment in log._logs[partition]._segments:
        items = list(read_batches(RegularFile(segment.fd, segment.path)))
        assert all(isinstance(item, RecordBatch) for item in items)
        found += [item for item in items if isinstance(item, RecordBatch)]
    return found


def clean(log: GroupLog, now_ms: int) -> None:
    log.flush()
    while (found := log.take_cleaning(now_ms)) is not None:
        compacted, cleaning = found
        cleaning.carry_out()
        compacted.finish_cleaning(cleaning)


def test_a_group_lies_in_the_partition_in_which_a_broker_puts_it(tmp_path: Path) -> None:
    # By String.hashCode: 97, 99162322, and the smallest int, which has no absolute value.
    log = opened(tmp_path)
    known = {"a": 47, "hello": 22, "polygenelubricants": 0, "": 0}
    assert {group: log.partition_of(group) for group in known} == known
    driven = client_of(log)
    commit(driven, "a", {("t1", 0): 5})
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__consumer_offsets-47", "groups.json"]
    assert (tmp_path / "__consumer_offsets-47" / "partition.metadata").read_bytes() == format_topic_id(ID)
    again = opened(tmp_path, partitions=7)
    assert (again.partitions, fetch(client_of(again), "a")) == (50, {("t1", 0): 5})
    again.close()


@pytest.fixture
def damaged(tmp_path: Path) -> Callable[[Callable[[bytearray], None]], str]:
    """The refusal of a log that was closed and then changed."""
    log = opened(tmp_path, partitions=1)
    driven = client_of(log)
    for offset in range(4):
        commit(driven, "a", {("t1", 0): offset})
    log.close()
    path = tmp_path / "__consumer_offsets-0" / "00000000000000000000.log"

    def refusal(change: Callable[[bytearray], None]) -> str:
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)
        with pytest.raises(LogCorruptError) as raised:
            opened(tmp_path)
        assert path.read_bytes() == data, "what is refused is not changed"
        assert str(raised.value).startswith(str(path.parent))
        return str(raised.value)

    return refusal


def test_a_flipped_bit_in_what_was_acknowledged_refuses_to_open(damaged: Callable[[Callable[[bytearray], None]], str]) -> None:
    def flip(data: bytearray) -> None:
        data[len(data) // 2 + 70] ^= 1

    text = damaged(flip)
    assert "CRC-32C" in text
    assert "restore the directory from a copy, or move it away" in text


def test_a_base_offset_that_no_checksum_covers_is_not_believed(damaged: Callable[[Callable[[bytearray], None]], str]) -> None:
    def flip(data: bytearray) -> None:
        data[3 * len(data) // 4 + 1] ^= 1

    assert "offsets 3 to" in damaged(flip)


def test_a_log_that_is_shorter_than_what_was_acknowledged_refuses_to_open(damaged: Callable[[Callable[[bytearray], None]], str]) -> None:
    def cut(data: bytearray) -> None:
        del data[len(data) // 2 :]

    assert "recovery-point" in damaged(cut) or "cut off" in damaged(cut)


def test_a_torn_tail_is_cut_and_reported(tmp_path: Path) -> None:
    log = opened(tmp_path, partitions=1)
    commit(client_of(log), "a", {("t1", 0): 1})
    log.close()
    path = tmp_path / "__consumer_offsets-0" / "00000000000000000000.log"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    again = opened(tmp_path)
    assert [(partition, repair.position) for partition, repair in again.repairs] == [(0, len(whole))]
    assert fetch(client_of(again), "a") == {("t1", 0): 1}
    again.close()
    assert path.read_bytes() == whole


def test_the_log_of_a_broker_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "__consumer_offsets-3"
    place.mkdir()
    (place / "partition.metadata").write_bytes(format_topic_id(b"x" * 16))
    with pytest.raises(LogCorruptError, match=r"partition.metadata: offset 0: topic id .* this is the log of a broker"):
        opened(tmp_path)


def test_a_second_process_does_not_get_the_log(tmp_path: Path) -> None:
    code = (
        "import sys; from metashell.groups.log.group_log import GroupLog; from metashell.common.values import group_log_topic_id\n"
        "GroupLog.open(sys.argv[1], group_log_topic_id('cluster'), 50)"
    )
    log = opened(tmp_path)
    other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert "BlockingIOError" in other.stderr
    log.close()
    assert not (tmp_path / ".groups.lock").exists()


def test_a_tombstone_stays_until_its_horizon_and_deletes_for_ever(tmp_path: Path) -> None:
    log = opened(tmp_path, partitions=1, clean_size_min=100)
    driven = client_of(log)
    commit(driven, "a", {("t1", 0): 1})
    commit(driven, "b", {("t1", 0): 2})
    assert delete_group(driven, "a") == 0
    clean(log, 1_000_000)
    (with_tombstones,) = [batch for batch in batches(log, 0) if batch.header.delete_horizon_ms is not None]
    assert with_tombstones.header.delete_horizon_ms == 1_000_000 + HOUR_MS
    assert [record.value for record in with_tombstones.records()] == [None, None]
    assert {record.timestamp for record in with_tombstones.records()} == {1_000_000}
    for offset in range(9):
        commit(driven, "b", {("t1", 0): offset})
    clean(log, 1_000_001 + HOUR_MS)
    kept = [(record.key, record.value) for batch in batches(log, 0) for record in batch.records()]
    assert len(kept) == 1
    assert kept[0][1] is not None
    log.close()
    again = opened(tmp_path)
    assert set(again.state.groups) == {"b"}
    assert fetch(client_of(again), "b") == {("t1", 0): 8}
    again.close()


def test_an_open_transaction_survives_cleaning_and_its_marker_goes_with_its_last_record(tmp_path: Path) -> None:
    log = opened(tmp_path, partitions=1, clean_size_min=100)
    driven = client_of(log)
    producer = begin(driven, "tx")
    commit(driven, "g", {("t1", 0): 1})
    commit_in_transaction(driven, "tx", producer, "g", {("t1", 0): 9})
    clean(log, 1_000_000)
    assert [batch.header.is_transactional for batch in batches(log, 0)] == [False, True], "nobody knows yet which of both counts"
    end(driven, "tx", producer, True)
    for _ in range(3):
        commit(driven, "g", {("t1", 1): 2})
    clean(log, 1_000_000)
    assert [batch.header.is_control for batch in batches(log, 0)] == [False, True, False]
    commit(driven, "g", {("t1", 0): 2})
    for _ in range(3):
        commit(driven, "g", {("t1", 1): 2})
    clean(log, 1_000_000)
    assert not any(batch.header.is_control for batch in batches(log, 0))
    assert fetch(driven, "g") == {("t1", 0): 2, ("t1", 1): 2}
    log.close()


def test_a_transaction_that_the_end_of_the_process_left_open_is_aborted(tmp_path: Path) -> None:
    log = opened(tmp_path)
    driven = client_of(log)
    producer = begin(driven, "tx")
    commit(driven, "g", {("t1", 0): 1})
    commit_in_transaction(driven, "tx", producer, "g", {("t1", 0): 9})
    log.close()
    again = opened(tmp_path)
    assert fetch(client_of(again), "g", stable=True) == {("t1", 0): 1}
    (marker,) = [batch for batch in batches(again, again.partition_of("g")) if batch.header.is_control]
    assert (marker.header.producer_id, marker.header.producer_epoch) == (producer[0], producer[1] + 1)
    again.close()


def test_memory_and_files_are_those_of_what_lives_however_much_was_committed(tmp_path: Path) -> None:
    log = opened(tmp_path, clean_size_min=20_000)
    driven = client_of(log)

    def commits(count: int) -> int:
        for offset in range(count):
            commit(driven, "a", {("t1", 0): offset})
            driven.answers.clear()
            if offset % 50 == 0:
                clean(log, driven.now_ms)
        clean(log, driven.now_ms)
        gc.collect()  # also Python's lists of free objects
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = commits(400), commits(1_200)
    finally:
        tracemalloc.stop()
    assert after - before < 20_000, "1200 commits in memory took 500 000 bytes"
    assert log.size < 2 * 20_000 + 10_000
    assert not driven.shard.written
    log.close()


class FullDisk(UnsyncedDisk):
    """Its file system has no room left from some moment on."""

    is_full = False

    def write_at(self, fd: int, data: bytes, position: int) -> None:
        if self.is_full:
            raise OSError(ENOSPC, "No space left on device")
        super().write_at(fd, data, position)


def test_a_full_disk_ends_the_log_and_nothing_is_written_after_it(tmp_path: Path) -> None:
    disk = FullDisk()
    log = opened(tmp_path, disk=disk)
    driven = client_of(log)
    commit(driven, "a", {("t1", 0): 1})
    disk.is_full = True
    with pytest.raises(OSError, match="No space left"):
        commit(driven, "a", {("t1", 0): 2})
    disk.is_full = False
    with pytest.raises(OSError, match="nothing is written any more"):
        commit(driven, "a", {("t1", 0): 3})
    log.close()
    again = opened(tmp_path)
    assert fetch(client_of(again), "a") == {("t1", 0): 1}
    again.close()
