"""How a replica fetches, truncates, appends and downloads."""

from __future__ import annotations

import pytest

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, NONE, NOT_LEADER_OR_FOLLOWER, SNAPSHOT_NOT_FOUND, UNKNOWN_LEADER_EPOCH
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from metashell.quorum.raft.ready import Committed, ElectionState, Send, SnapshotToLoad, TruncatedTo
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.roles import Follower
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft.made import data_batch
from tests.quorum.raft.pump import directory, endpoint
from tests.quorum.raft.solo import Solo, batches, fetch, fetched, log_of

EPOCH = 6
LEADER = 3
SNAPSHOT = write_control_batch(0, 4, 1, [SnapshotHeader(0)]) + write_control_batch(1, 4, 1, [SnapshotFooter()])


def follower(*epochs: int, **others: object) -> Solo:
    return Solo(ElectionState(EPOCH, LEADER), log_of(*epochs), **others)


def fetched_by(solo: Solo, response: FetchResponse) -> None:
    solo.answer(solo.next_fetch(), response)


def test_a_follower_asks_for_what_follows_its_log() -> None:
    solo = follower(1, 4)
    send = solo.next_fetch()
    assert (send.destination, send.endpoint) == (LEADER, endpoint(LEADER))
    assert send.message == FetchRequest("cluster", 1, directory(1), EPOCH, 2, 4, 500, 1 << 20, -1)
    solo.answer(send, fetched(LEADER, EPOCH, high_watermark=2))
    request = solo.take(FetchRequest)[0][1]
    assert request.high_watermark == 2


@pytest.mark.parametrize(("fetch_timeout_ms", "wait_ms"), [(2_000, 500), (1_000, 500), (300, 150)])
def test_a_leader_with_nothing_new_answers_before_its_silence_would_depose_it(fetch_timeout_ms: int, wait_ms: int) -> None:
    assert follower(1, 4, fetch_timeout_ms=fetch_timeout_ms).next_fetch().message.max_wait_ms == wait_ms


def test_an_empty_log_has_the_last_epoch_0() -> None:
    assert follower().next_fetch().message.last_epoch == 0


def test_what_was_appended_is_durable_before_the_next_fetch() -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, batches(2, 4, 6)))
    assert solo.flush_to == 4 and solo.node.log_end_offset == 4
    assert solo.log.leader_epochs() == [(1, 0), (4, 1), (6, 3)]
    solo.poll()
    assert not solo.take(FetchRequest)
    solo.flush()
    assert [request.fetch_offset for _, request in solo.take(FetchRequest)] == [4]


@pytest.mark.parametrize("nothing", [{"diverging": OffsetAndEpoch(-1, -1)}, {"snapshot_id": OffsetAndEpoch(-1, -1)}])
def test_a_divergence_and_a_snapshot_of_minus_one_are_none(nothing: dict[str, object]) -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, batches(2, 4), **nothing))
    assert solo.node.log_end_offset == 3 and not solo.take(FetchSnapshotRequest)


def test_a_snapshot_at_offset_0_or_of_epoch_0_is_one() -> None:
    for id in (OffsetAndEpoch(5, 0), OffsetAndEpoch(0, 3)):
        solo = follower()
        fetched_by(solo, fetched(LEADER, EPOCH, snapshot_id=id))
        solo.poll()
        assert [request.snapshot_id for _, request in solo.take(FetchSnapshotRequest)] == [id]


def test_a_broker_need_not_wait_for_its_disk() -> None:
    solo = Solo(ElectionState(EPOCH, LEADER), log_of(1, 4), voters=(2, 3), is_controller=False)
    fetched_by(solo, fetched(LEADER, EPOCH, batches(2, 4)))
    assert solo.flush_to is None
    assert [request.fetch_offset for _, request in solo.take(FetchRequest)] == [3]


@pytest.mark.parametrize(
    ("own", "diverging", "expected"),
    [
        ((1, 1, 2, 2), (3, 2), 3),  # the same epoch, shorter there
        ((1, 1, 2, 2), (9, 2), 4),
        ((1, 1, 3, 3), (4, 2), 2),  # an epoch that is not here: all after the last one before it goes
        ((1, 1, 3, 3), (1, 1), 1),
        ((1, 1), (0, 0), 0),
        ((1, 1), (1, 0), 1),
    ],
)
def test_a_follower_goes_back_to_what_both_logs_may_have(own: tuple[int, ...], diverging: tuple[int, int], expected: int) -> None:
    solo = follower(*own)
    fetched_by(solo, fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(*diverging)))
    assert solo.node.log_end_offset == solo.log.end_offset == expected
    assert (TruncatedTo(expected) in solo.notices) is (expected < len(own))
    again = solo.take(FetchRequest)[0][1]
    assert (again.fetch_offset, again.last_epoch) == (expected, own[expected - 1] if expected else 0)


def test_a_leader_that_lets_nothing_be_truncated_is_followed_and_asked_again_after_a_pause() -> None:
    solo = follower(1, 1, 2, 2)
    send = solo.next_fetch()
    solo.now_ms += 100
    solo.answer(send, fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(9, 2)))
    assert solo.node.complaints == 1 and solo.node.connections.is_backing_off(LEADER, solo.now_ms)
    assert solo.node.role.fetch_deadline_ms == solo.now_ms + solo.node.role.fetch_timeout_ms  # type: ignore[union-attr]


def test_a_server_that_is_behind_is_left_alone_for_a_while() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    send = solo.next_fetch()
    solo.answer(send, FetchResponse(error=UNKNOWN_LEADER_EPOCH, epoch=EPOCH - 1))
    assert solo.node.connections.is_backing_off(send.destination, solo.now_ms) and solo.node.epoch == EPOCH


def test_what_is_committed_is_never_truncated() -> None:
    solo = follower(1, 1, 2, 2)
    fetched_by(solo, fetched(LEADER, EPOCH, high_watermark=3))
    solo.answer(solo.take(FetchRequest)[0][0], fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(2, 1)))
    assert solo.node.log_end_offset == 4 and solo.node.complaints == 1
    solo.poll()
    # The leader is left alone for a while; others may know better.
    assert [send.destination for send, _ in solo.take(FetchRequest)] == [2]


def test_the_high_watermark_is_the_leaders_as_far_as_the_log_goes_and_never_goes_back() -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, high_watermark=99))
    assert solo.node.high_watermark == 2
    solo.answer(solo.take(FetchRequest)[0][0], fetched(LEADER, EPOCH, high_watermark=-1))
    assert solo.node.high_watermark == 2
    solo.answer(solo.take(FetchRequest)[0][0], fetched(LEADER, EPOCH, high_watermark=1))
    assert solo.node.high_watermark == 2 and solo.node.complaints == 1


def test_diverging_answers_and_those_with_a_snapshot_say_nothing_of_the_high_watermark() -> None:
    solo = follower(1, 1, 2)
    fetched_by(solo, fetched(LEADER, EPOCH, high_watermark=3, diverging=OffsetAndEpoch(2, 1)))
    assert solo.node.high_watermark is None
    solo.answer(solo.take(FetchRequest)[0][0], fetched(LEADER, EPOCH, high_watermark=2, snapshot_id=OffsetAndEpoch(9, 4)))
    assert solo.node.high_watermark is None


def test_batches_of_an_epoch_after_the_own_are_left_out() -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, batches(2, 6, 7)))
    assert solo.node.log_end_offset == 3 and solo.node.complaints == 0


def test_only_answers_of_the_leader_start_the_fetch_timer_anew() -> None:
    solo = follower(1, 4)
    assert isinstance(solo.node.role, Follower)
    solo.node.role.has_updated_leader = True
    for _ in range(5):
        solo.now_ms += 1_000
        fetched_by(solo, fetched(LEADER, EPOCH))
        assert isinstance(solo.node.role, Follower) and solo.node.role.has_fetched
    solo.fail(solo.next_fetch(), BROKER_NOT_AVAILABLE)
    solo.wait(solo.node.role.fetch_timeout_ms + 1)
    assert solo.node.state_name == "prospective"


def test_a_fetch_from_a_bootstrap_server_finds_the_leader_that_is_then_fetched_from() -> None:
    solo = Solo(ElectionState(EPOCH), MemoryLog(), voters=(2, 3, 9), is_controller=False)
    send = solo.next_fetch()
    assert send.message.epoch == EPOCH and send.message.fetch_offset == 0
    solo.answer(send, fetched(9, EPOCH, batches(0, 1), 1))
    # Nothing is appended before it is on disk who leads.
    assert solo.election == ElectionState(EPOCH, 9) and solo.node.log_end_offset == 0
    send = solo.next_fetch()
    assert send.destination == 9
    solo.answer(send, fetched(9, EPOCH, batches(0, 1), 1))
    assert solo.node.log_end_offset == 1 and solo.node.high_watermark == 1


def test_who_does_not_lead_tells_who_does() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    solo.answer(solo.next_fetch(), FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 9, EPOCH, ("nine", 9)))
    assert solo.node.state_name == "follower" and solo.node.role.endpoints == {"CONTROLLER": ("nine", 9)}
    assert [(send.destination, send.endpoint) for send, _ in solo.take(FetchRequest)] == [(9, ("nine", 9))]


def test_a_server_that_knows_nothing_new_is_left_alone_for_a_while() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    first = solo.next_fetch()
    solo.answer(first, FetchResponse(0, NOT_LEADER_OR_FOLLOWER, -1, EPOCH))
    second = solo.take(FetchRequest)[0][0]
    assert second.destination != first.destination
    solo.answer(second, FetchResponse(0, NOT_LEADER_OR_FOLLOWER, -1, EPOCH))
    assert not solo.take(FetchRequest)
    solo.wait(20)
    assert len(solo.take(FetchRequest)) == 1


def test_at_most_one_fetch_is_in_flight() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4), may_stand=False)
    for _ in range(100):
        solo.now_ms += 19
        solo.poll()
    assert len(solo.take(FetchRequest)) == 1


def test_an_observer_whose_leader_is_silent_asks_the_others() -> None:
    solo = Solo(ElectionState(EPOCH, 3), MemoryLog(), voters=(2, 3), is_controller=False)
    solo.wait(10_000)
    assert {send.destination for send, _ in solo.take(FetchRequest)} == {2, 3}


def test_bootstrap_servers_are_asked_in_turn_and_nobody_asks_itself() -> None:
    servers = (endpoint(1), endpoint(2), endpoint(3))
    solo = Solo(ElectionState(0), MemoryLog(), voters=(), bootstrap_servers=servers)
    asked = []
    for _ in range(4):
        send = solo.next_fetch()
        asked.append((send.destination, send.endpoint))
        solo.fail(send, BROKER_NOT_AVAILABLE)
        solo.now_ms += 20
    assert set(asked) == {(-3, endpoint(2)), (-4, endpoint(3))} and asked[0] != asked[1] and asked[:2] == asked[2:]


def page_of(send: Send, data: bytes, **changes: object) -> FetchSnapshotResponse:
    request = send.message
    assert isinstance(request, FetchSnapshotRequest)
    response = FetchSnapshotResponse(0, NONE, LEADER, EPOCH, endpoint(LEADER), request.snapshot_id, len(SNAPSHOT), request.position, data)
    for name, value in changes.items():
        setattr(response, name, value)
    return response


def downloading(*epochs: int) -> tuple[Solo, Send]:
    """A follower that was offered a snapshot, and its first FetchSnapshot."""
    solo = follower(*epochs)
    _, ready = solo.node.register(solo.now_ms)
    solo.work(ready)
    fetched_by(solo, fetched(LEADER, EPOCH, snapshot_id=OffsetAndEpoch(9, 4)))
    send, request = solo.take(FetchSnapshotRequest)[0]
    assert request == FetchSnapshotRequest("cluster", 1, directory(1), EPOCH, OffsetAndEpoch(9, 4), 0, 1 << 20)
    return solo, send


@pytest.mark.parametrize("epochs", [(), (1, 2), (1, 5)])
def test_a_snapshot_is_downloaded_made_durable_and_then_the_log_begins_with_it(epochs: tuple[int, ...]) -> None:
    solo, send = downloading(*epochs)
    solo.answer(send, page_of(send, SNAPSHOT[:70]))
    send, request = solo.take(FetchSnapshotRequest)[0]
    assert request.position == 70
    ready = solo.node.handle_response(send.destination, send.correlation_id, page_of(send, SNAPSHOT[70:]), solo.now_ms)
    assert ready.freeze == OffsetAndEpoch(9, 4) and solo.node.log_end_offset == len(epochs)
    assert not ready.has_messages
    part = solo.node.downloaded_part()
    assert part is not None
    part.freeze()
    solo.work(solo.node.snapshot_frozen(OffsetAndEpoch(9, 4), solo.now_ms))
    assert (solo.log.start_offset, solo.node.log_end_offset, solo.node.high_watermark) == (9, 9, 9)
    request = solo.take(FetchRequest)[0][1]
    assert (request.fetch_offset, request.last_epoch) == (9, 4)
    assert solo.notices[-1] == SnapshotToLoad(1, OffsetAndEpoch(9, 4))
    assert TruncatedTo(9) not in solo.notices
    solo.answer(Send(LEADER, endpoint(LEADER), 3, request), fetched(LEADER, EPOCH, batches(9, 4, 6), 10))
    solo.work(solo.node.consumed(1, 9, solo.now_ms))
    assert solo.log.leader_epochs() == [(4, 9), (6, 10)]
    assert solo.notices[-1] == Committed(1, 9, 10)


def test_what_lay_behind_a_snapshot_that_the_log_now_begins_with_is_told_to_be_cut() -> None:
    solo, send = downloading(*[1] * 11)
    ready = solo.node.handle_response(send.destination, send.correlation_id, page_of(send, SNAPSHOT), solo.now_ms)
    part = solo.node.downloaded_part()
    assert ready.freeze == OffsetAndEpoch(9, 4) and part is not None
    part.freeze()
    solo.work(solo.node.snapshot_frozen(OffsetAndEpoch(9, 4), solo.now_ms))
    assert solo.node.log_end_offset == 9 and TruncatedTo(9) in solo.notices


@pytest.mark.parametrize("half", [OffsetAndEpoch(0, -1), OffsetAndEpoch(5, -1), OffsetAndEpoch(-1, 0), OffsetAndEpoch(-1, 3)])
def test_half_a_snapshot_id_is_complained_of_and_nothing_is_appended(half: OffsetAndEpoch) -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, batches(2, 4), snapshot_id=half))
    assert solo.node.complaints == 1 and solo.node.log_end_offset == 2 and not solo.take(FetchSnapshotRequest)


@pytest.mark.parametrize("id", [OffsetAndEpoch(9, EPOCH + 1), OffsetAndEpoch(2, 4)])
def test_a_snapshot_of_an_epoch_to_come_or_of_what_is_here_is_complained_of(id: OffsetAndEpoch) -> None:
    solo = follower(1, 4)
    fetched_by(solo, fetched(LEADER, EPOCH, snapshot_id=id))
    assert solo.node.complaints == 1 and solo.node.log_end_offset == 2 and not solo.take(FetchSnapshotRequest)


def test_a_log_is_never_cut_inside_a_batch() -> None:
    log = log_of(1)
    log.append(data_batch(1, 4, 1, [b"a", b"b", b"c"]), 4)
    log.write_leader_epochs([(1, 0), (4, 1)])
    log.flush_to(4)
    solo = Solo(ElectionState(EPOCH, LEADER), log)
    fetched_by(solo, fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(2, 4)))
    assert solo.node.log_end_offset == 4 and solo.node.complaints == 1


def test_a_snapshot_that_the_leader_has_no_more_is_given_up() -> None:
    solo, send = downloading()
    solo.answer(send, page_of(send, b"", error=SNAPSHOT_NOT_FOUND))
    assert len(solo.take(FetchRequest)) == 1 and solo.node.complaints == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"position": 5},
        {"snapshot_id": OffsetAndEpoch(8, 4)},
        {"records": b""},
        {"size": 10},
        {"records": b"\0" * 80},
        {"records": SNAPSHOT + b"x"},
        {"records": SNAPSHOT[: len(SNAPSHOT) // 2], "size": len(SNAPSHOT) // 2},
        {"error": 42},
        {"error": 99},
    ],
)
def test_a_page_that_does_not_fit_is_refused_and_the_leader_left_alone_for_a_while(changes: dict[str, object]) -> None:
    solo, send = downloading()
    solo.answer(send, page_of(send, SNAPSHOT[:70], **changes))
    assert solo.node.complaints == 1 and solo.node.log_end_offset == 0 and solo.node.downloaded_part() is None
    assert solo.node.connections.is_backing_off(LEADER, solo.now_ms)
    solo.wait(20)
    assert solo.node.state_name == "follower"


def test_a_download_ends_with_its_leader() -> None:
    solo, send = downloading()
    solo.answer(send, page_of(send, SNAPSHOT[:70]))
    late = solo.take(FetchSnapshotRequest)[0][0]
    solo.wait_for("prospective")
    solo.answer(late, page_of(late, SNAPSHOT[70:]))
    assert solo.node.downloaded_part() is None and not solo.log.snapshots()


def test_a_crash_between_a_complete_download_and_the_new_log_is_made_good_at_the_start() -> None:
    log = log_of(1, 5)
    log.add_snapshot(OffsetAndEpoch(9, 4), SNAPSHOT)
    solo = Solo(ElectionState(EPOCH, LEADER), log)
    assert (solo.log.start_offset, solo.node.log_end_offset, solo.node.last_epoch) == (9, 9, 4)


def test_a_voter_tells_each_leader_of_itself_once() -> None:
    solo = follower(1, 4)
    updates = 0
    for _ in range(6):
        solo.now_ms += 1_000
        solo.poll()
        for send, _ in solo.take(FetchRequest):
            solo.answer(send, fetched(LEADER, EPOCH))
        for send, _ in (told := solo.take(UpdateRaftVoterRequest)):
            solo.answer(send, UpdateRaftVoterResponse(NONE, LEADER, EPOCH, endpoint(LEADER)))
        updates += len(told)
    assert updates == 1


def test_a_snapshot_that_is_durable_after_its_leader_fell_silent_is_taken_all_the_same() -> None:
    solo, send = downloading(1, 2)
    solo.answer(send, page_of(send, SNAPSHOT))
    part = solo.node.downloaded_part()
    assert part is not None
    solo.wait_for("prospective")
    part.freeze()
    solo.work(solo.node.snapshot_frozen(OffsetAndEpoch(9, 4), solo.now_ms))
    # Its application has not loaded it, so it no longer stands.
    assert (solo.node.state_name, solo.log.start_offset, solo.node.log_end_offset) == ("follower", 9, 9)
    assert solo.node.committed == 9
    (loading,) = (notice for notice in solo.notices if isinstance(notice, SnapshotToLoad))
    solo.wait(10_000)
    assert solo.node.state_name == "follower"
    solo.work(solo.node.consumed(loading.listener, 9, solo.now_ms))
    assert solo.node.state_name == "prospective"


def test_an_answer_that_is_late_is_dropped_when_another_server_was_asked() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4), may_stand=False)
    late = solo.next_fetch()
    solo.wait(2_000)
    again = solo.take(FetchRequest)[-1][0]
    assert again.destination != late.destination
    solo.answer(late, fetched(LEADER, EPOCH, batches(2, 4)))
    assert solo.node.state_name == "unattached" and solo.node.log_end_offset == 2
    solo.answer(again, fetched(LEADER, EPOCH, batches(2, 4)))
    assert solo.node.leader_id == LEADER and solo.node.complaints == 0


def test_an_unanswered_fetch_of_the_leader_is_dropped_when_a_bootstrap_server_was_asked() -> None:
    solo = follower(1, 4, may_stand=False)
    assert isinstance(solo.node.role, Follower)
    solo.node.role.has_updated_leader = True
    late = solo.next_fetch()
    solo.wait(2_000)
    assert len(solo.take(FetchRequest)) == 1
    solo.answer(late, fetched(LEADER, EPOCH, batches(2, 4)))
    assert solo.node.log_end_offset == 2


def test_listener_names_are_compared_upper_cased() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4), default_listener="controller", listeners={"Controller": endpoint(1)}).lead()
    solo.work(solo.node.handle_request("token", fetch(2, EPOCH + 1, 2, 4), "controller", solo.now_ms))
    answer = solo.replies[-1].message
    assert isinstance(answer, FetchResponse) and answer.leader_endpoint == endpoint(1)


def test_a_snapshot_that_is_here_already_is_not_downloaded_again() -> None:
    log = log_of(1, 4, 4)
    log.add_snapshot(OffsetAndEpoch(2, 4), SNAPSHOT)
    solo = Solo(ElectionState(EPOCH, LEADER), log)
    fetched_by(solo, fetched(LEADER, EPOCH, snapshot_id=OffsetAndEpoch(2, 4)))
    assert (solo.node.log_end_offset, solo.log.start_offset, solo.node.high_watermark) == (2, 2, 2)
    assert [request.fetch_offset for _, request in solo.take(FetchRequest)] == [2] and not solo.take(FetchSnapshotRequest)


def test_a_page_after_the_download_was_given_up_is_refused() -> None:
    solo, send = downloading()
    assert isinstance(solo.node.role, Follower)
    solo.node.role.download = None
    solo.answer(send, page_of(send, SNAPSHOT))
    assert solo.node.complaints == 1 and solo.node.downloaded_part() is None
