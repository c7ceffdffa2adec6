"""Which logs paths stand for, copies of several brokers as one log, and what lies beside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch
from metashell.common.errors import UsageError
from metashell.disk.segment import SourceFault
from metashell.groups.log.log_dir import end_offsets, find_group_logs, merge_batches, topic_names
from metashell.groups.log.queries import load_logs
from tests.golden_cases import golden_root
from tests.groups.log.test_fold import offset_key, record_of
from tests.groups.log.written_logs import NAME, write_log

NODE = golden_root() / "4.3.1" / "main" / "data" / "stopped" / "node-4"


def commits(first: int, count: int = 1, *, epoch: int = 0, group: int = 0, number: int = 5) -> bytes:
    """A batch of commits, each of another partition."""
    records = [record_of(("commit", group, partition, 0, number), first + partition) for partition in range(count)]
    return write_batch(first, records, leader_epoch=epoch)


def node(folder: Path, name: str, cluster: str = "one") -> Path:
    path = folder / name
    path.mkdir()
    (path / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\nnode.id=1\n")
    return path


def merged(*copies: list[bytes], folder: Path) -> list[tuple[int, int]]:
    """Base offset and epoch of the batches of one partition, of which each broker has one of the copies."""
    for number, copy in enumerate(copies):
        write_log(node(folder, f"n{number}"), copy, partition=7)
    (log,) = find_group_logs([str(folder / f"n{number}") for number in range(len(copies))])
    assert log.partition == 7
    found = []
    for item in merge_batches(log):
        assert isinstance(item, RecordBatch), item
        found.append((item.header.base_offset, item.header.leader_epoch))
    return found


def test_copies_of_several_brokers_are_one_log_and_the_longest_gives_the_rest(tmp_path: Path) -> None:
    log = [commits(0), commits(1), commits(2)]
    assert merged(log, log[:2], log[1:], folder=tmp_path) == [(0, 0), (1, 0), (2, 0)]


def test_what_an_old_leader_wrote_and_never_committed_does_not_count(tmp_path: Path) -> None:
    stale = [commits(0), commits(1, epoch=1), commits(2, epoch=1), commits(3, epoch=1)]
    true = [commits(0), commits(1, epoch=2), commits(2, epoch=2)]
    assert merged(stale, true, folder=tmp_path) == [(0, 0), (1, 2), (2, 2)]


def test_a_copy_that_was_compacted_further_hides_nothing(tmp_path: Path) -> None:
    whole = [commits(0, 3), commits(3, 2), commits(5)]
    assert merged([whole[1], whole[2]], whole, folder=tmp_path) == [(0, 0), (3, 0), (5, 0)]


def test_logs_of_two_clusters_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_log(node(tmp_path, name, cluster=name), [commits(0)])
    with pytest.raises(UsageError, match=r"logs of 2 clusters, name those of one: one .*, two "):
        find_group_logs([str(tmp_path / "one"), str(tmp_path / "two")])


def test_a_path_without_groups_is_passed_over_where_another_has_them(tmp_path: Path) -> None:
    write_log(node(tmp_path, "broker"), [commits(0)])
    other = node(tmp_path, "other")
    (other / "__transaction_state-0").mkdir()
    (other / "__transaction_state-0" / NAME).write_bytes(b"")
    notes: list[str] = []
    assert [log.partition for log in find_group_logs([str(other), str(tmp_path / "broker")], notes)] == [0]
    assert notes == [f"{other}: no log of groups (__consumer_offsets) here, but the log of transactions (__transaction_state)"]
    with pytest.raises(UsageError, match="no log of groups"):
        find_group_logs([str(other)])


@pytest.mark.parametrize("what", ["missing", "empty folder", "empty log", "other log"])
def test_a_path_that_tells_nothing_is_an_error_that_names_it(what: str, tmp_path: Path) -> None:
    path = tmp_path / "logs"
    if what == "empty folder":
        path.mkdir()
    elif what == "empty log":
        path = write_log(tmp_path, [])
    elif what == "other log":
        path = golden_root() / "4.3.1" / "main" / "data" / "stopped" / "node-1"
    with pytest.raises(UsageError, match=str(path)):
        find_group_logs([str(path)])


def test_segments_that_are_named_one_by_one_are_one_log(tmp_path: Path) -> None:
    directory = write_log(tmp_path, [commits(0), commits(1)])
    (directory / "00000000000000000002.log").write_bytes(commits(2))
    (log,) = find_group_logs([str(directory / "00000000000000000002.log"), str(directory / NAME)])
    assert [file.path for file in log.copies[0]] == [str(directory / NAME), str(directory / "00000000000000000002.log")]


def test_a_partition_that_was_named_twice_counts_once(tmp_path: Path) -> None:
    directory = write_log(tmp_path, [commits(0)])
    (log,) = find_group_logs([str(tmp_path), str(directory), str(directory / NAME)])
    assert [len(copy) for copy in log.copies] == [1]


def test_real_copies_of_three_brokers_say_what_each_says() -> None:
    nodes = [str(path) for path in sorted(NODE.parent.glob("node-*")) if list(path.rglob("__consumer_offsets-*"))]
    together = load_logs(nodes)
    assert not [fault for fault in together.faults if not fault.is_tail]
    for one in nodes:
        for log in load_logs([one]).logs:
            same = next(other for other in together.logs if other.log.partition == log.log.partition)
            assert same.fold.offset_counts() == log.fold.offset_counts()
            assert same.fold.state.groups.keys() == log.fold.state.groups.keys()


@pytest.mark.parametrize("size", range(0, 200, 7))
def test_a_log_that_is_cut_anywhere_says_what_precedes_the_cut(size: int, tmp_path: Path) -> None:
    data = b"".join(commits(offset, group=offset % 4) for offset in range(12))
    directory = write_log(tmp_path, [data[: len(data) - size]])
    loaded = load_logs([str(directory)])
    whole = (len(data) - size) // len(commits(0))
    assert sum(loaded.logs[0].fold.offset_counts().values()) >= min(whole, 4) - 1
    assert loaded.fault_count == 0, loaded.faults


@pytest.mark.parametrize("at", range(0, 300, 11))
def test_a_flipped_bit_costs_one_batch_at_most_and_is_a_fault(at: int, tmp_path: Path) -> None:
    batches = [commits(offset, group=offset % 4) for offset in range(12)]
    data = bytearray(b"".join(batches))
    data[at] ^= 0x10
    (tmp_path / "__consumer_offsets-0").mkdir()
    (tmp_path / "__consumer_offsets-0" / NAME).write_bytes(data)
    try:
        loaded = load_logs([str(tmp_path)])
    except UsageError:
        return  # the damage hides what log it is: that is told
    faults = [fault for fault in loaded.faults if isinstance(fault, SourceFault)]
    assert faults
    assert all("__consumer_offsets-0" in str(fault) for fault in faults)


def test_a_segment_that_is_gone_when_it_is_read_is_a_fault_and_the_rest_is_told(tmp_path: Path) -> None:
    directory = write_log(tmp_path, [commits(0)])
    second = directory / "00000000000000000001.log"
    second.write_bytes(commits(1, group=1))
    (log,) = find_group_logs([str(directory)])
    (directory / NAME).unlink()
    fault, batch = merge_batches(log)
    assert str(fault) == f"{directory / NAME}: No such file or directory"
    assert isinstance(batch, RecordBatch)
    assert batch.header.base_offset == 1


def test_ends_and_names_come_from_the_directories_beside(tmp_path: Path) -> None:
    broker = node(tmp_path, "broker")
    write_log(broker, [commits(0)])
    orders = broker / "orders-3"
    orders.mkdir()
    (orders / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFQ\n")
    (orders / "00000000000000000040.log").write_bytes(
        write_batch(40, [Record(40, 1, None, b"x"), Record(47, 1, None, b"y")], leader_epoch=0)
    )
    for path in (broker, broker / "__consumer_offsets-0", broker / "__consumer_offsets-0" / NAME):
        assert end_offsets([str(path)])["orders", 3] == 48
        assert topic_names([str(path)]) == {bytes(15) + b"\x15": "orders"}


def test_files_are_only_read(tmp_path: Path) -> None:
    copy = tmp_path / "node"
    shutil.copytree(NODE, copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    load_logs([str(copy)])
    end_offsets([str(copy)])
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_keys_of_the_same_group_in_any_bytes(tmp_path: Path) -> None:
    """A group id is any bytes: what is no UTF-8 is one group with U+FFFD, as for a coordinator."""
    raw = offset_key(0, 0).replace(b"\x00\x01g", b"\x00\x01\xff")
    value = record_of(("commit", 0, 0, 0, 5), 0).value
    directory = write_log(tmp_path, [write_batch(0, [Record(0, 1000, raw, value)], leader_epoch=0)])
    (log,) = load_logs([str(directory)]).logs
    assert dict(log.fold.offset_counts()) == {"\ufffd".encode(): 1}
