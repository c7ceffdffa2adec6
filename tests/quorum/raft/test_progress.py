"""The high watermark of a leader: the offset that a majority has.
What the application hears and asks, and the figures.
DescribeQuorum: what the leader knows of voters and observers, and what others answer."""

from __future__ import annotations

import pytest

from metashell.codec.error_codes import NONE, NOT_LEADER_OR_FOLLOWER
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    NotLeaderError,
    RecordBatchTooLargeError,
    RemoveRaftVoterRequest,
    ReplicaState,
)
from metashell.quorum.raft.progress import OBSERVER_EXPIRY_MS, high_watermark_candidate, may_commit
from metashell.quorum.raft.ready import Committed, ElectionState, LeaderChanged, SnapshotToLoad
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.roles import Leader, Progress
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft.quorum import CLUSTER, WALL_MS, Quorum, endpoint, key
from tests.quorum.raft.solo import Solo, batches, begin, fetch, fetched, log_of, vote


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (10, (7, 5), 7),
        (10, (5, -1), 5),
        (10, (-1, -1), -1),
        (10, (9, 7, 5), 7),
        (10, (4,), 4),
        (None, (9, 4), 4),
        (10, (), 10),
        (6, (10, 10), 10),
        (3, (9, 9, 2, 1), 3),
    ],
)
def test_the_offset_that_a_majority_has(own: int | None, others: tuple[int, ...], expected: int) -> None:
    solo = Solo(ElectionState(5), log_of(3, 4)).lead()
    leader = solo.node.role
    assert isinstance(leader, Leader)
    leader.voters = {id: Progress(ReplicaKey(id)) for id in range(2, 2 + len(others))}
    for entry, end_offset in zip(leader.voters.values(), others, strict=True):
        entry.end_offset = end_offset
    if own is not None:
        leader.voters[1] = Progress(ReplicaKey(1))
        solo.node.durable_end = own
    assert high_watermark_candidate(solo.node, leader) == expected


@pytest.mark.parametrize(
    ("candidate", "epoch_start", "known", "expected"),
    [(7, 7, None, False), (8, 7, None, True), (8, 7, 8, False), (9, 7, 8, True), (8, 7, 9, False), (-1, 0, None, False)],
)
def test_only_what_lies_behind_the_start_of_the_epoch_and_is_new_is_committed(
    candidate: int, epoch_start: int, known: int | None, expected: bool
) -> None:
    assert may_commit(candidate, epoch_start, known) is expected


def test_a_replica_that_goes_back_does_not_take_the_high_watermark_along() -> None:
    solo = Solo(ElectionState(5), log_of(3, 4)).lead()
    solo.ask(fetch(2, 6, 3, 6, 0))
    assert solo.node.high_watermark == 3
    solo.ask(fetch(2, 6, 1, 3, 0))
    assert solo.node.high_watermark == 3


def test_check_quorum_counts_different_voters_and_the_leader_only_if_it_is_one() -> None:
    solo = Solo(ElectionState(5), log_of(3, 4), voters=(1, 2, 3, 4, 5))
    solo.stand()
    for _ in range(2):
        solo.vote_from(2)
        solo.vote_from(3)
    solo.poll()
    assert solo.node.state_name == "leader"
    for _ in range(5):
        solo.wait(700)
        if solo.node.state_name != "leader":
            break
        solo.ask(fetch(2, 6, 2, 4, 0))
    assert solo.node.state_name == "resigned"


def test_each_round_of_check_quorum_asks_for_a_majority_anew() -> None:
    solo = Solo(ElectionState(5), log_of(3, 4), voters=(1, 2, 3, 4, 5))
    solo.stand()
    for _ in range(2):
        solo.vote_from(2)
        solo.vote_from(3)
    solo.poll()
    solo.ask(fetch(2, 6, 2, 4, 0))
    solo.ask(fetch(3, 6, 2, 4, 0))
    # Voter 3 was heard once. From now on the leader hears voter 2 alone: two of five are no majority.
    for _ in range(5):
        solo.wait(700)
        if solo.node.state_name != "leader":
            break
        solo.ask(fetch(2, 6, 2, 4, 0))
    assert solo.node.state_name == "resigned"


EPOCH = 6
SNAPSHOT = write_control_batch(0, 4, 1, [SnapshotHeader(0)]) + write_control_batch(1, 4, 1, [SnapshotFooter()])


def register(solo: Solo) -> int:
    listener, ready = solo.node.register(solo.now_ms)
    solo.work(ready)
    return listener


def consume(solo: Solo, listener: int, end_offset: int) -> None:
    solo.work(solo.node.consumed(listener, end_offset, solo.now_ms))


def test_a_listener_gets_one_committed_range_at_a_time() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1, 4, 4))
    listener = register(solo)
    assert solo.notices == [LeaderChanged(listener, 3, EPOCH)]
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=2))
    assert solo.notices[1:] == [Committed(listener, 0, 2)]
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=3))
    assert len(solo.notices) == 2
    consume(solo, listener, 2)
    assert solo.notices[2:] == [Committed(listener, 2, 3)]
    consume(solo, listener, 3)
    assert len(solo.notices) == 3


def test_a_listener_may_take_in_less_than_it_was_handed() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1, 4, 4))
    listener = register(solo)
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=3))
    consume(solo, listener, 1)
    assert solo.notices[-1] == Committed(listener, 1, 3)


def test_each_listener_has_its_own_pace() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1, 4, 4))
    first = register(solo)
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=2))
    second = register(solo)
    assert second != first and Committed(second, 0, 2) in solo.notices
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=3))
    consume(solo, second, 2)
    assert solo.notices[-1] == Committed(second, 2, 3)
    consume(solo, first, 2)
    assert solo.notices[-1] == Committed(first, 2, 3)


def with_snapshot() -> MemoryLog:
    log = log_of(1, 4, 4)
    log.add_snapshot(OffsetAndEpoch(2, 4), SNAPSHOT)
    log.delete_before(OffsetAndEpoch(2, 4))
    log.write_leader_epochs([(4, 2)])
    return log


def test_a_log_that_begins_later_is_begun_with_its_snapshot_whether_or_not_a_leader_is_known() -> None:
    solo = Solo(ElectionState(EPOCH, 3), with_snapshot())
    listener = register(solo)
    assert SnapshotToLoad(listener, OffsetAndEpoch(2, 4)) in solo.notices
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=3))
    assert not any(isinstance(notice, Committed) for notice in solo.notices)
    consume(solo, listener, 2)
    assert solo.notices[-1] == Committed(listener, 2, 3)


def test_who_has_not_loaded_its_snapshot_does_not_stand_and_does_at_once_when_it_has() -> None:
    solo = Solo(ElectionState(EPOCH), with_snapshot())
    first, second = register(solo), register(solo)
    solo.wait(10_000)
    solo.work(solo.node.stand(solo.now_ms))
    assert solo.node.state_name == "unattached" and solo.node.is_loading()
    consume(solo, first, 2)
    assert solo.node.state_name == "unattached"
    consume(solo, second, 2)
    assert solo.node.state_name == "prospective" and not solo.node.is_loading()


def test_who_has_not_loaded_its_snapshot_votes() -> None:
    solo = Solo(ElectionState(EPOCH), with_snapshot())
    register(solo)
    assert solo.ask(vote(2, EPOCH + 1, 4, 3)).granted


def test_the_leader_of_an_epoch_is_told_at_most_twice_unknown_then_known() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    listener = register(solo)
    solo.ask(vote(2, EPOCH + 1, 4, 2))
    solo.ask(begin(2, EPOCH + 1))
    solo.wait_for("prospective")
    solo.ask(begin(2, EPOCH + 1))
    expected = [(-1, EPOCH), (-1, EPOCH + 1), (2, EPOCH + 1)]
    assert solo.notices == [LeaderChanged(listener, leader_id, epoch) for leader_id, epoch in expected]


def test_a_new_leader_hears_of_itself_after_all_that_was_committed_before() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4)).lead()
    listener = register(solo)
    assert not solo.notices
    solo.ask(fetch(2, EPOCH + 1, 3, EPOCH + 1))
    assert solo.notices == [Committed(listener, 0, 3)]
    consume(solo, listener, 2)
    assert solo.notices[1:] == [Committed(listener, 2, 3)]
    consume(solo, listener, 3)
    assert solo.notices[2:] == [LeaderChanged(listener, 1, EPOCH + 1)]


def test_an_append_belongs_to_an_epoch_that_is_led() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    with pytest.raises(NotLeaderError):
        solo.node.prepare_append(EPOCH, [b"x"])
    solo.lead()
    with pytest.raises(NotLeaderError):
        solo.node.prepare_append(EPOCH, [b"x"])
    with pytest.raises(ValueError, match="after the leader's"):
        solo.node.prepare_append(EPOCH + 2, [b"x"])
    with pytest.raises(RecordBatchTooLargeError):
        solo.node.prepare_append(EPOCH + 1, [bytes(9 << 20)])
    assert solo.node.prepare_append(EPOCH + 1, [b"x", b"y"]) == 4
    assert solo.node.log_end_offset == 3
    solo.work(solo.node.schedule_append(solo.now_ms))
    assert solo.node.log_end_offset == 5 and solo.flush_to == 5


def test_appends_wait_for_the_linger_time() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4), append_linger_ms=25).lead()
    solo.node.prepare_append(EPOCH + 1, [b"x"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    assert solo.node.log_end_offset == 3 and solo.node.next_poll_ms() == solo.now_ms + 25
    solo.wait(25)
    assert solo.node.log_end_offset == 4


def test_resigning_is_for_the_epoch_that_is_led() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    for epoch in (-1, EPOCH, EPOCH + 1):
        with pytest.raises(ValueError, match="cannot resign"):
            solo.node.resign(epoch)
    solo.lead()
    solo.node.resign(EPOCH)
    assert solo.node.next_poll_ms() > solo.now_ms
    solo.node.resign(EPOCH + 1)
    assert solo.node.next_poll_ms() == solo.now_ms
    with pytest.raises(NotLeaderError):
        solo.node.prepare_append(EPOCH + 1, [b"x"])
    solo.poll()
    assert solo.node.state_name == "resigned"


@pytest.mark.parametrize("election", [ElectionState(EPOCH, 3), ElectionState(EPOCH, 2)])
def test_a_follower_stops_at_once(election: ElectionState) -> None:
    solo = Solo(election, log_of(1, 4))
    solo.work(solo.node.begin_shutdown(5_000, solo.now_ms))
    assert solo.node.is_shut_down


def test_a_leader_stops_when_another_leads_or_its_time_is_over() -> None:
    for another in (True, False):
        solo = Solo(ElectionState(EPOCH), log_of(1, 4)).lead()
        solo.work(solo.node.begin_shutdown(900, solo.now_ms))
        assert solo.node.state_name == "resigned" and not solo.node.is_shut_down
        if another:
            solo.ask(begin(2, EPOCH + 2))
        else:
            solo.wait(900)
            solo.poll()
        assert solo.node.is_shut_down


def test_a_sole_voter_and_an_observer_stop_at_once() -> None:
    for voters in ((1,), (2, 3)):
        solo = Solo(voters=voters)
        solo.work(solo.node.begin_shutdown(5_000, solo.now_ms))
        assert solo.node.is_shut_down


def test_the_figures_have_kafkas_names() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    assert solo.node.metrics()["current-state"] == "unattached"
    solo.ask(vote(2, EPOCH, 4, 2))
    figures = solo.node.metrics()
    assert (figures["current-state"], figures["current-vote"], figures["high-watermark"]) == ("unattached-voted", 2, -1)
    assert figures["current-vote-directory-id"] == "AAAAAAAAAAAAAAAAAAAAZg"
    solo.stand()
    assert solo.node.metrics()["current-state"] == "prospective-voted"
    solo.vote_from(3)
    figures = solo.node.metrics()
    assert (figures["current-state"], figures["current-vote"], figures["current-epoch"]) == ("candidate", 1, EPOCH + 1)
    solo.vote_from(3)
    solo.poll()
    solo.flush()
    solo.now_ms += 7
    solo.ask(fetch(2, EPOCH + 1, 3, EPOCH + 1))
    figures = solo.node.metrics()
    assert (figures["current-state"], figures["current-leader"], figures["log-end-epoch"]) == ("leader", 1, EPOCH + 1)
    assert (figures["high-watermark"], figures["log-end-offset"], figures["number-of-voters"]) == (3, 3, 3)
    assert (figures["commit-latency-max"], figures["number-of-observers"], figures["uncommitted-voter-change"]) == (7.0, 0, 0)
    solo.node.resign(EPOCH + 1)
    solo.poll()
    assert solo.node.metrics()["current-state"] == "unattached"


def test_records_of_appends_and_fetches_are_counted() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1, 4))
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, batches(2, 4, 4)))
    assert (solo.node.metrics()["fetch-records-total"], solo.node.metrics()["append-records-total"]) == (2, 0)
    solo = Solo(ElectionState(EPOCH), log_of(1, 4)).lead()
    before = solo.node.metrics()["append-records-total"]
    solo.node.prepare_append(EPOCH + 1, [b"a", b"b", b"c"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    assert solo.node.metrics()["append-records-total"] == before + 3


def test_static_voters_are_ignored_only_where_there_are_some_and_the_log_names_others() -> None:
    for quorum in (Quorum.dynamic([1, 2, 3]), Quorum.static([1, 2, 3])):
        assert quorum.elect().metrics()["ignored-static-voters"] == 0
    quorum = Quorum.dynamic([1, 2, 3], static_voters={id: endpoint(id) for id in (1, 2, 3)})
    assert quorum.elect().metrics()["ignored-static-voters"] == 1


def test_a_clock_that_goes_backwards_stands_still() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1, 4))
    solo.poll()
    due = solo.node.next_poll_ms()
    solo.work(solo.node.poll(0))
    assert solo.node.next_poll_ms() == due


def test_a_batch_bears_the_time_of_its_append_also_after_a_long_silence() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4)).lead()
    solo.now_ms += 700
    solo.node.prepare_append(EPOCH + 1, [b"x"], solo.now_ms)
    solo.work(solo.node.schedule_append(solo.now_ms))
    batch = solo.log.read(3, 4, 1 << 20)
    assert int.from_bytes(batch[27:35], "big") == solo.now_ms + solo.node.wall_offset_ms


def described(quorum: Quorum, id: int, request: DescribeQuorumRequest | None = None) -> DescribeQuorumResponse:
    response = quorum.ask(id, request or DescribeQuorumRequest())
    assert isinstance(response, DescribeQuorumResponse)
    return response


def test_the_leader_tells_all_it_knows_with_its_own_entry_at_the_end_and_now():
    quorum = Quorum.dynamic([1, 2, 3], [4])
    leader = quorum.elect().local_id
    quorum.commit(b"x")
    quorum.run(2_000)
    node, response = quorum.nodes[leader], described(quorum, leader)
    now = quorum.now + WALL_MS
    assert (response.error, response.leader_id, response.epoch) == (NONE, leader, node.epoch)
    assert response.high_watermark == node.log_end
    voters = {state.id: state for state in response.voters}
    assert sorted(voters) == [1, 2, 3]
    assert voters[leader] == ReplicaState(leader, key(leader).directory_id, node.log_end, now, now)
    [observer] = response.observers
    for state in (*(state for id, state in voters.items() if id != leader), observer):
        assert state.directory_id == key(state.id).directory_id and state.log_end_offset == node.log_end
        assert now - 600 <= state.last_fetch_timestamp <= now and now - 600 <= state.last_caught_up_timestamp <= now
    assert response.nodes == tuple((id, {"CONTROLLER": endpoint(id)}) for id in (1, 2, 3))


def test_who_never_fetched_has_no_offset_and_no_times_and_nothing_is_committed():
    quorum = Quorum.dynamic([1, 2, 3])
    assert quorum.run(60_000, lambda: quorum.leader() is not None)
    leader = quorum.leader()
    assert leader is not None
    response = described(quorum, leader.local_id)
    assert response.high_watermark == -1
    others = [state for state in response.voters if state.id != leader.local_id]
    assert all((state.log_end_offset, state.last_fetch_timestamp, state.last_caught_up_timestamp) == (-1, -1, -1) for state in others)


def test_who_does_not_lead_says_so_in_the_partition():
    quorum = Quorum.dynamic([1, 2, 3], [4])
    leader = quorum.elect().local_id
    for id in set(quorum.nodes) - {leader}:
        response = described(quorum, id)
        assert (response.top_error, response.error, response.voters) == (NONE, NOT_LEADER_OR_FOLLOWER, ())


def test_other_partitions_are_told_to_be_unknown_by_anybody():
    quorum = Quorum.dynamic([1, 2, 3])
    quorum.elect()
    asked = (("__cluster_metadata", 1), ("orders", 0))
    for id in quorum.nodes:
        assert described(quorum, id, DescribeQuorumRequest(asked)) == DescribeQuorumResponse(unknown=asked)


def test_an_observer_that_is_silent_for_five_minutes_is_forgotten():
    quorum = Quorum.dynamic([1, 2, 3], [4])
    leader = quorum.elect().local_id
    quorum.commit(b"x")
    quorum.stop(4)
    quorum.run(100)
    last = next(iter(quorum.nodes[leader].role.observers.values())).last_fetch_ms
    quorum.run(last + OBSERVER_EXPIRY_MS - 1 - quorum.now)
    assert [state.id for state in described(quorum, leader).observers] == [4]
    quorum.run(1)
    assert described(quorum, leader).observers == () and not quorum.nodes[leader].role.observers


def test_a_leader_outside_the_voters_is_an_observer_at_the_end_of_its_log():
    quorum = Quorum.dynamic([1, 2, 3])
    leader = quorum.elect().local_id
    quorum.commit(b"x")
    quorum.run(3_000)
    quorum.cut = set(quorum.nodes) - {leader}
    quorum.ask(leader, RemoveRaftVoterRequest(CLUSTER, leader, key(leader).directory_id), "removal")
    quorum.run(100)
    response, now = described(quorum, leader), quorum.now + WALL_MS
    assert leader not in [state.id for state in response.voters]
    assert ReplicaState(leader, key(leader).directory_id, quorum.nodes[leader].log_end, now, now) in response.observers
