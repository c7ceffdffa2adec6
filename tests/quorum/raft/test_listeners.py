"""What the application hears and asks, and the figures."""

from __future__ import annotations

import pytest

from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import NotLeaderError, RecordBatchTooLargeError
from metashell.quorum.raft.ready import Committed, ElectionState, LeaderChanged, SnapshotToLoad
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft.quorum import Quorum, endpoint
from tests.quorum.raft.solo import Solo, batches, begin, fetch, fetched, log_of, vote

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


def test_a_log_that_begins_later_is_begun_with_its_snapshot() -> None:
    log = log_of(1, 4, 4)
    log.add_snapshot(OffsetAndEpoch(2, 4), SNAPSHOT)
    log.delete_before(OffsetAndEpoch(2, 4))
    log.write_leader_epochs([(4, 2)])
    solo = Solo(ElectionState(EPOCH, 3), log)
    listener = register(solo)
    assert not any(isinstance(notice, SnapshotToLoad) for notice in solo.notices)
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=3))
    assert solo.notices[-1] == SnapshotToLoad(listener, OffsetAndEpoch(2, 4))
    consume(solo, listener, 2)
    assert solo.notices[-1] == Committed(listener, 2, 3)


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
