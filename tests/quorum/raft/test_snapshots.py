"""Snapshots that a node makes, and what a node that comes late does with them.
Retention: old snapshots and the log before them go by size and by age, and never the newest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import AddRaftVoterRequest, FetchSnapshotRequest, FetchSnapshotResponse
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.partition_state import SnapshotCheck, read_snapshot_head
from metashell.quorum.raft.snapshots import clean_log, is_too_large, is_too_old, snapshot_refusal
from tests.quorum.raft.made import read_snapshot_controls
from tests.quorum.raft.quorum import CLUSTER, WALL_MS, Quorum, endpoint, key


def settled(**settings: Any) -> tuple[Quorum, RaftNode]:
    """Three voters and a leader with three committed batches of two records."""
    quorum = Quorum.dynamic([1, 2, 3], append_linger_ms=0, **settings)
    leader = quorum.elect()
    for number in range(3):
        quorum.commit(b"a%d" % number, b"b%d" % number)
    return quorum, leader


def make(quorum: Quorum, node: RaftNode, id: OffsetAndEpoch, values: list[bytes]) -> None:
    writer = node.create_snapshot(id, quorum.now + WALL_MS)
    assert writer is not None
    writer.append(values)
    writer.freeze()
    quorum.take(node.local_id, node.snapshot_frozen(id, quorum.now))


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        (lambda node: OffsetAndEpoch(0, 0), "is there"),
        (lambda node: OffsetAndEpoch(node.log_end + 1, node.epoch), "what is not committed"),
        (lambda node: OffsetAndEpoch(node.log_end - 1, node.epoch), "inside a batch"),
        (lambda node: OffsetAndEpoch(node.log_end, node.epoch + 1), "another epoch than the last record"),
        (lambda node: OffsetAndEpoch(node.log_end, 0), "another epoch than the last record"),
        (lambda node: OffsetAndEpoch(node.log_end, -1), "older than"),
    ],
)
def test_a_snapshot_is_not_made(id: Callable[[RaftNode], OffsetAndEpoch], reason: str):
    _, node = settled()
    text = snapshot_refusal(node, id(node))
    assert text is not None and reason in text
    assert node.create_snapshot(id(node), 0) is None


def test_a_snapshot_is_not_made_of_what_is_gone_nor_after_its_epoch_ended():
    quorum, node = settled()
    end = node.log_end
    make(quorum, node, OffsetAndEpoch(end, node.epoch), [b"s"])
    node.log.delete_before(OffsetAndEpoch(end, node.epoch))
    before = snapshot_refusal(node, OffsetAndEpoch(end - 2, node.epoch))
    assert before is not None and "before the log" in before
    old = node.epoch
    quorum.stop(node.local_id)
    leader = quorum.elect()
    quorum.commit(b"next")
    after = snapshot_refusal(leader, OffsetAndEpoch(leader.log_end, old))
    assert after is not None and "another epoch than the last record" in after
    # The end of an epoch is the last place for a snapshot of it.
    assert snapshot_refusal(leader, OffsetAndEpoch(end, old)) is None


def test_a_snapshot_is_not_made_behind_a_later_one_since_the_voters_of_that_time_are_forgotten():
    quorum, node = settled()
    make(quorum, node, OffsetAndEpoch(node.log_end, node.epoch), [b"s"])
    text = snapshot_refusal(node, OffsetAndEpoch(node.log_end - 2, node.epoch))
    assert text is not None and "older than" in text


def test_a_snapshot_may_end_behind_the_first_record_of_an_epoch_and_be_of_it():
    quorum, node = settled()
    quorum.stop(node.local_id)
    leader = quorum.elect()
    start = leader.log_end - 1
    assert leader.epochs.epoch_at(start) == leader.epoch != leader.epochs.epoch_at(start - 1)
    assert snapshot_refusal(leader, OffsetAndEpoch(start + 1, leader.epoch)) is None
    assert snapshot_refusal(leader, OffsetAndEpoch(start, leader.epoch)) is not None


def test_nothing_is_made_before_anything_is_known_to_be_committed():
    quorum = Quorum.dynamic([1, 2, 3])
    assert quorum.run(60_000, lambda: quorum.leader() is not None)
    node = quorum.leader()
    assert node is not None and node.high_watermark is None
    text = snapshot_refusal(node, OffsetAndEpoch(0, 1))
    assert text is not None and "not committed" in text


def test_followers_make_snapshots_too_and_name_level_and_voters():
    quorum, leader = settled()
    follower = next(node for node in quorum.nodes.values() if node is not leader)
    id = OffsetAndEpoch(leader.log_end, leader.epoch)
    make(quorum, follower, id, [b"state"])
    assert read_snapshot_controls(follower.log, id) == (1, leader.voters)
    check = SnapshotCheck()
    check.feed(follower.log.read_snapshot(id, 0, 1 << 20))
    assert check.is_complete and check.next_offset == 5


def test_a_writer_that_is_closed_leaves_nothing():
    _, node = settled()
    id = OffsetAndEpoch(node.log_end, node.epoch)
    writer = node.create_snapshot(id, 0)
    assert writer is not None
    writer.append([b"x"])
    writer.close()
    assert id not in node.log.snapshots() and node.create_snapshot(id, 0) is not None


@pytest.mark.parametrize("page_size", [1, 100, 1 << 20])
def test_a_node_that_comes_late_loads_the_snapshot_and_then_the_log_and_may_become_a_voter(page_size: int):
    quorum, leader = settled(fetch_timeout_ms=4_000)
    id = OffsetAndEpoch(leader.log_end, leader.epoch)
    for node in quorum.nodes.values():
        make(quorum, node, id, [b"state" * 20])
        node.log.delete_before(id)
    quorum.commit(b"behind it")
    late = quorum.start(4, bootstrap_servers=(endpoint(1), endpoint(2), endpoint(3)), fetch_snapshot_max_size=page_size)
    assert quorum.run(30_000, lambda: late.high_watermark == leader.high_watermark)
    assert id in late.log.snapshots() and late.log.start_offset == id.offset
    assert late.voters == leader.voters and late.kraft_version == 1 and late.partition.voters_offset == id.offset - 1
    size = late.log.snapshot_size(id)
    asked = [message.position for source, _, message in quorum.sent if isinstance(message, FetchSnapshotRequest) and source == 4]
    assert asked == list(range(0, size, page_size))
    quorum.run(2_000)
    quorum.ask(leader.local_id, AddRaftVoterRequest(CLUSTER, 4, key(4).directory_id, {"CONTROLLER": endpoint(4)}, 1))
    assert quorum.run(10_000, lambda: late.is_voter)


def test_a_snapshot_that_is_damaged_on_its_way_is_never_stood_on():
    quorum, leader = settled()
    id = OffsetAndEpoch(leader.log_end, leader.epoch)
    for node in quorum.nodes.values():
        make(quorum, node, id, [b"state"])
        node.log.delete_before(id)
    quorum.commit(b"behind it")
    damaged = 0

    def damage(source: int, target: int, message: Any) -> bool:
        nonlocal damaged
        if isinstance(message, FetchSnapshotResponse) and message.records and damaged < 3:
            damaged += 1
            message.records = message.records[:-1] + bytes([message.records[-1] ^ 1])
        return False

    quorum.lost = damage
    late = quorum.start(4, bootstrap_servers=(endpoint(1),))
    assert quorum.run(30_000, lambda: late.high_watermark == leader.high_watermark)
    assert damaged == 3 and late.complaints >= 3 and late.voters == leader.voters


HOUR = 3_600_000


def with_snapshots(*ages_ms: int, size: int = -1, age_ms: int = -1) -> tuple[Quorum, RaftNode]:
    """A sole voter whose log has a snapshot after each ten batches, of records as old as given, and its limits."""
    quorum = Quorum.dynamic([1], retention_size=size, retention_ms=age_ms, append_linger_ms=0, clean_interval_ms=1 << 40)
    node = quorum.elect()
    for age in ages_ms:
        for number in range(10):
            quorum.commit(b"value %d" % number)
        writer = node.create_snapshot(OffsetAndEpoch(node.log_end, 1), quorum.now + WALL_MS - age)
        assert writer is not None
        writer.append([b"x" * 100])
        writer.freeze()
        quorum.take(1, node.snapshot_frozen(writer.id, quorum.now))
    quorum.run(10)  # its listener takes in the last batch
    return quorum, node


def total(node: RaftNode) -> int:
    return node.log.size + sum(map(node.log.snapshot_size, node.log.snapshots()))


def test_nothing_goes_without_limits():
    _, node = with_snapshots(9 * HOUR, 8 * HOUR)
    assert not clean_log(node) and node.log.start_offset == 0


def test_the_oldest_go_until_the_rest_fits():
    _, node = with_snapshots(0, 0, 0, 0)
    ids, before = list(node.log.snapshots()), total(node)
    limit = before - node.log.snapshot_size(ids[0]) - node.log.snapshot_size(ids[1]) - len(node.log.read(0, 13, 1 << 20))
    node.config = replace(node.config, retention_size=limit)
    assert clean_log(node)
    # (0, 0) and the first own one: the log then begins at the second.
    assert list(node.log.snapshots()) == ids[2:] and node.log.start_offset == ids[2].offset
    assert total(node) <= limit
    assert not clean_log(node)


def test_one_byte_over_the_limit_is_too_much_and_the_limit_is_not():
    _, node = with_snapshots(0)
    assert is_too_large(node.log, total(node) - 1) and not is_too_large(node.log, total(node))


def test_the_newest_snapshot_stays_whatever_its_size_and_age():
    quorum, node = with_snapshots(9 * HOUR, 9 * HOUR, size=0, age_ms=0)
    newest = node.log.snapshots()[-1]
    assert clean_log(node)
    assert list(node.log.snapshots()) == [newest] and node.log.start_offset == newest.offset
    assert node.epochs.entries == [(1, newest.offset)] and list(node.log.leader_epochs()) == node.epochs.entries
    quorum.commit(b"goes on")
    assert not clean_log(node)


@pytest.mark.parametrize(("limit", "left"), [(9 * HOUR, 3), (8 * HOUR - 1, 2), (7 * HOUR - 1, 1), (6 * HOUR - 1, 1), (0, 1)])
def test_snapshots_of_old_records_go_until_the_first_that_is_young_enough(limit: int, left: int):
    _, node = with_snapshots(8 * HOUR, 7 * HOUR, 6 * HOUR, age_ms=limit)
    # The bootstrap snapshot says 1970, and is first to go.
    assert clean_log(node)
    assert len(node.log.snapshots()) == left


def test_a_snapshot_of_exactly_the_age_stays():
    _, node = with_snapshots(8 * HOUR)
    id = node.log.snapshots()[-1]
    written_ms = read_snapshot_head(node.log, id).last_contained_log_timestamp
    assert written_ms is not None
    wall_ms = written_ms + 8 * HOUR
    assert not is_too_old(node.log, id, 8 * HOUR, wall_ms) and is_too_old(node.log, id, 8 * HOUR - 1, wall_ms)


def test_the_log_always_begins_where_a_snapshot_ends_and_the_voters_stay_known():
    quorum, node = with_snapshots(9 * HOUR, 9 * HOUR, age_ms=HOUR)
    voters = node.voters
    clean_log(node)
    start = node.log.start_offset
    assert start > 0 and start in [id.offset for id in node.log.snapshots()]
    assert node.partition.voters_at(start - 1) == voters
    quorum.stop(1)
    quorum.start(1)
    assert quorum.elect().voters == voters


def test_a_snapshot_without_a_readable_header_is_not_taken_for_old():
    _, node = with_snapshots(9 * HOUR, age_ms=HOUR)
    for id in list(node.log.snapshots()):
        node.log.add_snapshot(id, b"noise" * 30)
    assert not clean_log(node)


def test_the_node_cleans_by_itself_when_it_is_time():
    quorum = Quorum.dynamic([1, 2, 3], retention_ms=HOUR, clean_interval_ms=60_000)
    node = quorum.elect()
    quorum.commit(b"x")
    id = OffsetAndEpoch(node.log_end, node.epoch)
    writer = node.create_snapshot(id, 0)
    assert writer is not None
    writer.freeze()
    quorum.take(node.local_id, node.snapshot_frozen(id, quorum.now))
    assert quorum.run(130_000, lambda: node.log.start_offset == id.offset)


def test_a_listener_that_knows_that_its_replica_leads_is_not_overtaken():
    _, node = with_snapshots(9 * HOUR, 8 * HOUR, size=0, age_ms=0)
    (listener,) = node.listeners.values()
    ids = list(node.log.snapshots())
    listener.next_offset = ids[1].offset
    assert clean_log(node)
    # What it reads next is there; a leader must never be told to load a snapshot.
    assert node.log.start_offset == listener.next_offset and list(node.log.snapshots()) == ids[1:]
    assert not clean_log(node)
    listener.leader_id = -1  # not told yet: it may begin with a snapshot, as after a restart
    assert clean_log(node) and list(node.log.snapshots()) == ids[-1:]


def test_a_follower_keeps_nothing_for_its_listeners():
    quorum = Quorum.dynamic([1, 2], [], retention_size=0, append_linger_ms=0, clean_interval_ms=1 << 40)
    leader = quorum.elect()
    quorum.commit(b"value")
    quorum.run(1_000)
    node = next(node for node in quorum.nodes.values() if node is not leader)
    writer = node.create_snapshot(OffsetAndEpoch(node.log_end, leader.epoch), 0)
    assert writer is not None
    writer.freeze()
    (listener,) = node.listeners.values()
    listener.next_offset = 0
    assert clean_log(node) and node.log.start_offset == writer.id.offset
