"""Three nodes over logs in memory.
Standing without waiting for an election timeout: for who starts a quorum and knows that all of it is there."""

from __future__ import annotations

from random import Random

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.appending import append_fetched, check_fetched, truncate
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.roles import Follower
from tests.quorum.raft.pump import Host, Pump, settings
from tests.quorum.raft.quorum import Quorum
from tests.quorum.raft.solo import Solo, batches, fetched, log_of


def quorum(seed: int = 1) -> Pump:
    return Pump(seed).start(*(settings(id) for id in (1, 2, 3)))


def test_three_voters_elect_a_leader_and_commit_its_first_record() -> None:
    pump = quorum()
    assert pump.run(10_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None and leader.node.epoch == 1 and leader.node.high_watermark == 1


def test_what_a_leader_appends_is_replicated_committed_and_delivered() -> None:
    pump = quorum()
    assert pump.run(10_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None
    assert leader.append(b"one", b"two") == 2
    assert pump.run(10_000, lambda: all(host.node.high_watermark == 3 for host in pump.hosts.values()))
    logs = {host.log.read(0, 3, 1 << 20) for host in pump.hosts.values()}
    assert len(logs) == 1
    assert pump.run(1_000, lambda: all(host.committed and host.committed[-1][1] == 3 for host in pump.hosts.values()))
    assert not any(host.node.complaints for host in pump.hosts.values())


def test_when_the_leader_is_gone_the_others_elect_another_and_keep_what_was_committed() -> None:
    pump = quorum()
    assert pump.run(10_000, pump.has_leader)
    first = pump.leader()
    assert first is not None
    first.append(b"kept")
    assert pump.run(10_000, lambda: first.node.high_watermark == 2)
    pump.cut.add(first.id)
    assert pump.run(20_000, lambda: pump.has_leader() and pump.leader() is not first)
    second = pump.leader()
    assert second is not None and second.node.epoch > first.node.epoch
    assert second.log.read(1, 2, 1 << 20) == first.log.read(1, 2, 1 << 20)


def test_a_leader_that_was_cut_off_resigns_and_later_follows() -> None:
    pump = quorum()
    assert pump.run(10_000, pump.has_leader)
    first = pump.leader()
    assert first is not None
    first.append(b"kept")
    pump.run(100)
    pump.cut.add(first.id)
    first.append(b"lost")
    assert pump.run(20_000, lambda: first.node.state_name != "leader")
    assert pump.run(20_000, pump.has_leader)
    pump.cut.clear()
    assert pump.run(20_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None and leader is not first
    assert pump.run(10_000, lambda: {host.node.high_watermark for host in pump.hosts.values()} == {leader.node.log_end_offset})
    end = leader.node.log_end_offset
    assert len({host.log.read(0, end, 1 << 20) for host in pump.hosts.values()}) == 1


def test_a_sole_voter_leads_at_once() -> None:
    pump = Pump().start(settings(1, (1,)))
    assert pump.run(10, lambda: pump.hosts[1].leaders == [(1, 1)])
    assert pump.hosts[1].committed == [(0, 1)]


def test_an_observer_finds_the_leader_and_follows() -> None:
    pump = quorum().start(settings(7))
    assert pump.run(10_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None
    leader.append(b"one")
    assert pump.run(10_000, lambda: pump.hosts[7].node.high_watermark == 2)
    assert pump.hosts[7].node.metrics()["current-state"] == "observer"


def test_a_restarted_quorum_goes_on_from_its_disks() -> None:
    pump = quorum()
    assert pump.run(10_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None
    leader.append(b"one")
    assert pump.run(10_000, lambda: all(host.node.high_watermark == 2 for host in pump.hosts.values()))
    for id in (1, 2, 3):
        pump.restart(id)
    assert pump.run(20_000, pump.has_leader)
    assert pump.run(1_000, lambda: all(host.node.high_watermark == 3 for host in pump.hosts.values()))


def test_a_voter_whose_disk_is_new_begins_with_the_leaders_snapshot() -> None:
    pump = Pump(3).start(*(settings(id, fetch_snapshot_max_size=40) for id in (1, 2, 3)))
    assert pump.run(10_000, pump.has_leader)
    leader = pump.leader()
    assert leader is not None
    for value in (b"one", b"two", b"three"):
        leader.append(value)
        pump.run(50)
    id = OffsetAndEpoch(3, leader.node.epoch)
    writer = leader.node.create_snapshot(id, 1_000)
    assert writer is not None
    writer.append([b"one", b"two"])
    writer.freeze()
    leader.work(leader.node.snapshot_frozen(id, pump.now_ms))
    leader.log.delete_before(id)
    late = next(host for host in pump.hosts.values() if host is not leader)
    late.is_up = False
    host = pump.hosts[late.id] = Host(pump, late.config)
    assert pump.run(10_000, lambda: host.node.high_watermark == 4)
    size = leader.log.snapshot_size(id)
    assert host.log.read_snapshot(id, 0, size) == leader.log.read_snapshot(id, 0, size)
    assert host.log.start_offset == 3 and host.log.read(3, 4, 1 << 20) == leader.log.read(3, 4, 1 << 20)
    assert pump.run(1_000, lambda: host.committed == [(3, 4)])


def test_steps_are_the_same_for_the_same_seed() -> None:
    def play() -> list[object]:
        pump = quorum(5)
        pump.run(20_000)
        return [(host.leaders, host.committed, host.node.epoch, pump.delivered) for host in pump.hosts.values()]

    assert play() == play()


def test_a_leader_hands_over_in_memory_what_it_appended() -> None:
    solo = Solo(ElectionState(5), log_of(3, 4)).lead()
    start = solo.node.prepare_append(6, [b"a", b"b"]) - 1
    ready = solo.node.schedule_append(solo.now_ms)
    assert [(batch.base_offset, batch.last_offset) for batch in ready.appended] == [(start, start + 1)]
    assert b"".join(batch.data for batch in ready.appended) == solo.log.read(start, start + 2, 1 << 20)
    assert not solo.node.poll(solo.now_ms).appended


def test_a_voter_that_is_asked_to_stand_leads_before_any_election_timeout() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    quorum.take(2, quorum.nodes[2].stand(quorum.now))
    assert quorum.run(50, lambda: (leader := quorum.leader()) is not None and leader.high_watermark is not None)
    assert quorum.nodes[2].state_name == "leader" and quorum.nodes[2].epoch == 1


def test_two_that_stand_at_once_elect_one_leader() -> None:
    quorum = Quorum.static([1, 2, 3])
    for id in (1, 2):
        quorum.take(id, quorum.nodes[id].stand(quorum.now))
    quorum.elect()  # the quorum of the test checks that no epoch has two


def test_a_follower_that_hears_from_its_leader_does_not_stand() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    leader = quorum.elect()
    quorum.commit(b"one")
    follower = next(node for node in quorum.nodes.values() if node is not leader)
    before = follower.epoch
    quorum.take(follower.local_id, follower.stand(quorum.now))
    quorum.run(5_000)
    assert quorum.leader() is leader and follower.epoch == before


def test_an_observer_does_not_stand() -> None:
    quorum = Quorum.dynamic([1], [2])
    quorum.take(2, quorum.nodes[2].stand(quorum.now))
    assert quorum.nodes[2].state_name != "prospective"


def test_a_restarted_quorum_is_led_soon_by_who_has_the_longest_log() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    quorum.take(1, quorum.nodes[1].stand(quorum.now))
    quorum.elect()
    quorum.commit(b"one")
    for id in (1, 2, 3):
        quorum.stop(id)
    for id in (1, 2, 3):
        quorum.start(id)
    longest = max((2, 3), key=lambda id: quorum.nodes[id].log_end)
    quorum.take(longest, quorum.nodes[longest].stand(quorum.now))
    assert quorum.run(50, lambda: quorum.nodes[longest].state_name == "leader")


def test_an_fsync_covers_nothing_that_was_cut_off_before_its_step() -> None:
    """The fsync covered four batches; before the step that hears of it, a leader cut the log to two and sent two others."""
    solo = Solo(ElectionState(4, 3), log_of(1, 1))
    solo.answer(solo.next_fetch(), fetched(3, 4, batches(2, 1, 1)))
    assert solo.flush_to == 4
    solo.log.flush_to(4)
    truncate(solo.node, 2)
    append_fetched(solo.node, check_fetched(batches(2, 2, 2), 2, 1, 4))
    solo.work(solo.node.flushed(solo.now_ms))
    assert (solo.node.log_end_offset, solo.node.durable_end) == (4, 2)
    solo.flush()
    assert solo.node.durable_end == 4


def test_two_followers_lose_patience_at_different_times() -> None:
    """They heard the last word of their leader at the same time. With one timeout for all they would stand together."""

    def patience_ms(seed: int) -> int:
        node = RaftNode(settings(1), log_of(3, 4), ElectionState(5, 3), random=Random(seed), now_ms=0, wall_ms=1)
        assert isinstance(node.role, Follower)
        return node.role.fetch_timeout_ms

    drawn = [patience_ms(seed) for seed in range(100)]
    assert patience_ms(7) == drawn[7]
    assert all(2_000 <= each < 3_000 for each in drawn)
    apart = [abs(one - other) > 20 for one, other in zip(drawn[::2], drawn[1::2], strict=True)]
    assert sum(apart) > 40
