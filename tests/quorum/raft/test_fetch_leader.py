"""How a leader answers Fetch and FetchSnapshot."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    POSITION_OUT_OF_RANGE,
    SNAPSHOT_NOT_FOUND,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import FetchResponse
from metashell.quorum.raft.ready import NEVER, ElectionState
from tests.quorum.raft.pump import directory, endpoint
from tests.quorum.raft.solo import Solo, changed, fetch, log_of, page, vote

EPOCH = 6


def leader(**others: Any) -> Solo:
    solo = Solo(ElectionState(EPOCH - 1), log_of(1, 1, 1, 2, 2, 4, 4, 4), **others).lead()
    assert solo.node.epoch == EPOCH and solo.node.log_end_offset == 9
    return solo


@pytest.mark.parametrize(
    ("changes", "top_error", "error"),
    [
        ({"cluster_id": "another", "shape_ok": False}, INCONSISTENT_CLUSTER_ID, None),
        ({"shape_ok": False, "max_wait_ms": -1}, INVALID_REQUEST, None),
        ({"max_wait_ms": -1, "epoch": EPOCH - 1}, NONE, INVALID_REQUEST),
        ({"fetch_offset": -1}, NONE, INVALID_REQUEST),
        ({"last_epoch": -1}, NONE, INVALID_REQUEST),
        ({"last_epoch": EPOCH + 1}, NONE, INVALID_REQUEST),
        ({"epoch": EPOCH - 1}, NONE, FENCED_LEADER_EPOCH),
        ({"epoch": EPOCH + 1}, NONE, UNKNOWN_LEADER_EPOCH),
        ({"replica_id": 1}, NONE, UNKNOWN_SERVER_ERROR),
        ({"cluster_id": None}, NONE, NONE),
    ],
)
def test_a_fetch_is_checked_in_kafkas_order(changes: dict[str, Any], top_error: int, error: int | None) -> None:
    solo = leader()
    response = solo.ask(changed(fetch(2, EPOCH, 5, 2), changes))
    assert response.top_error == top_error and solo.node.epoch == EPOCH
    if error is not None:
        assert response.error == error and response.epoch == EPOCH
        assert (response.records == b"") is (error != NONE)
        assert error == NONE or response.high_watermark == -1


def test_who_does_not_lead_says_so_and_names_the_leader() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(1))
    assert solo.ask(fetch(2, EPOCH, 1, 1)) == FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 3, EPOCH, endpoint(3), log_start_offset=0)
    # Whoever asks does not lead, whatever this replica believes: a Kafka peer would die of it.
    assert solo.ask(fetch(3, EPOCH, 1, 1)) == FetchResponse(0, NOT_LEADER_OR_FOLLOWER, -1, EPOCH, log_start_offset=0)


def test_a_leader_that_shuts_down_serves_nobody() -> None:
    solo = leader()
    solo.work(solo.node.begin_shutdown(5_000, solo.now_ms))
    assert solo.node.state_name == "resigned" and not solo.node.is_shut_down
    assert solo.ask(fetch(2, EPOCH, 5, 4)).error == NOT_LEADER_OR_FOLLOWER
    solo.wait(5_000)
    solo.poll()
    assert solo.node.is_shut_down


def test_the_error_of_a_leader_that_is_about_to_shut_down() -> None:
    solo = leader()
    solo.node.shutdown_deadline_ms = NEVER - 1
    assert solo.ask(fetch(2, EPOCH, 5, 4)).error == BROKER_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [
        (9, 6, None),
        (8, 4, None),
        (5, 2, None),
        (6, 4, None),
        (0, 0, None),
        (4, 1, (3, 1)),
        (9, 2, (5, 2)),
        (7, 3, (5, 2)),
        (4, 3, (5, 2)),  # an epoch that the log never had, at an offset that it has
        (5, 3, (5, 2)),
        (7, 5, (8, 4)),
        (9, 5, (8, 4)),
        (10, 6, (9, 6)),
        (1, 0, (0, 0)),
    ],
)
def test_a_position_is_valid_where_the_logs_agree_before_it(offset: int, last_epoch: int, diverging: tuple[int, int] | None) -> None:
    solo = leader()
    response = solo.ask(fetch(2, EPOCH, offset, last_epoch, 0))
    assert response.error == NONE and response.snapshot_id is None
    assert response.diverging == (None if diverging is None else OffsetAndEpoch(*diverging))
    assert (response.records != b"") is (diverging is None and offset < 9)


def test_a_position_of_an_epoch_that_is_not_in_the_log_is_not_valid_though_the_log_goes_on_behind_it() -> None:
    # A leader of epoch 2 wrote two records behind 5 of epoch 1 and died; the leader of epoch 3 had ten of epoch 1.
    solo = Solo(ElectionState(2), log_of(*[1] * 10)).lead()
    response = solo.ask(fetch(2, 3, 7, 2, 0))
    assert response.diverging == OffsetAndEpoch(10, 1) and response.records == b""
    assert solo.node.role.voters[2].end_offset == -1  # type: ignore[union-attr]


def with_snapshot(*ids: tuple[int, int], start: tuple[int, int] | None = None) -> Solo:
    log = log_of(1, 1, 1, 2, 2, 4, 4, 4)
    for id in ids:
        log.add_snapshot(OffsetAndEpoch(*id), _SNAPSHOT)
    if start is not None:
        log.delete_before(OffsetAndEpoch(*start))
        if log.start_offset > 3:
            log.write_leader_epochs([(2, log.start_offset), (4, 5)])
    return Solo(ElectionState(EPOCH - 1), log).lead()


def _snapshot() -> bytes:
    from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch

    return write_control_batch(0, 1, 1, [SnapshotHeader(0)]) + write_control_batch(1, 1, 1, [SnapshotFooter()])


_SNAPSHOT = _snapshot()


@pytest.mark.parametrize(
    ("start", "offset", "last_epoch", "snapshot"),
    [
        (None, 0, 0, True),  # nothing yet: the snapshot is shorter than the log
        (None, 3, 1, True),  # an epoch before that of the oldest snapshot
        (None, 3, 2, False),
        ((4, 2), 3, 1, True),  # before the log's start
        ((4, 2), 4, 1, True),  # at its start, from another epoch
        ((4, 2), 4, 2, False),
        ((4, 2), 6, 1, True),  # an epoch that is no longer in the log
        ((4, 2), 9, 6, False),
    ],
)
def test_what_the_log_does_not_have_comes_as_the_latest_snapshot(
    start: tuple[int, int] | None, offset: int, last_epoch: int, snapshot: bool
) -> None:
    solo = with_snapshot((4, 2), (7, 4), start=start)
    response = solo.ask(fetch(2, EPOCH, offset, last_epoch, 0))
    assert response.error == NONE and response.diverging is None
    assert response.snapshot_id == (OffsetAndEpoch(7, 4) if snapshot else None)
    assert not (snapshot and response.records)


def test_the_bootstrap_snapshot_is_not_offered() -> None:
    response = with_snapshot((0, 0)).ask(fetch(2, EPOCH, 0, 0, 0))
    assert response.snapshot_id is None and response.records


def test_only_valid_fetches_count_for_progress_and_check_quorum() -> None:
    solo = leader()
    solo.ask(fetch(2, EPOCH, 9, 2, 0))
    progress = solo.node.role.voters[2]
    assert (progress.end_offset, progress.last_fetch_ms, progress.last_caught_up_ms) == (-1, -1, -1)
    deadline = solo.node.role.check_deadline_ms
    solo.now_ms += 10
    solo.ask(fetch(2, EPOCH, 4, 2, 0))
    assert (progress.end_offset, progress.last_fetch_ms, progress.last_caught_up_ms) == (4, solo.now_ms, -1)
    assert solo.node.role.check_deadline_ms > deadline


def test_a_fetch_of_another_directory_id_is_an_observers() -> None:
    solo = leader()
    solo.ask(fetch(7, EPOCH, 9, EPOCH, 0))
    assert set(solo.node.role.observers) == {(7, directory(7))} and solo.node.high_watermark is None
    solo.ask(fetch(-1, EPOCH, 9, EPOCH, 0))
    assert len(solo.node.role.observers) == 1


def test_caught_up_is_who_has_what_was_there_at_its_fetch_before() -> None:
    solo = leader()
    solo.ask(fetch(2, EPOCH, 8, 4, 0))
    first = solo.now_ms
    progress = solo.node.role.voters[2]
    assert progress.last_caught_up_ms == -1
    solo.node.prepare_append(EPOCH, [b"more"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    solo.now_ms += 5
    solo.ask(fetch(2, EPOCH, 9, EPOCH, 0))
    assert progress.last_caught_up_ms == first
    solo.now_ms += 5
    solo.ask(fetch(2, EPOCH, 10, EPOCH, 0))
    assert progress.last_caught_up_ms == solo.now_ms
    solo.ask(fetch(2, EPOCH, 5, 2, 0))
    assert progress.end_offset == 5  # a restarted follower may go back


def test_caught_up_counts_from_the_first_record_on() -> None:
    solo = Solo(ElectionState(EPOCH - 1)).lead()
    solo.ask(fetch(2, EPOCH, 0, 0, 0))
    first = solo.now_ms
    assert solo.node.log_end_offset == 1 and solo.node.role.voters[2].last_caught_up_ms == -1
    solo.node.prepare_append(EPOCH, [b"more"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    solo.now_ms += 5
    solo.ask(fetch(2, EPOCH, 1, EPOCH, 0))
    assert solo.node.role.voters[2].last_caught_up_ms == first


def test_a_leader_commits_only_along_with_a_record_of_its_own_epoch() -> None:
    solo = leader()
    assert solo.ask(fetch(2, EPOCH, 8, 4)).high_watermark == -1
    assert solo.node.high_watermark is None
    assert solo.ask(fetch(2, EPOCH, 9, EPOCH)).high_watermark == 9
    assert solo.node.high_watermark == 9


def test_a_leader_counts_itself_only_as_far_as_its_log_is_durable() -> None:
    solo = leader()
    solo.node.prepare_append(EPOCH, [b"more"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    assert solo.flush_to == 10
    assert solo.ask(fetch(2, EPOCH, 10, EPOCH)).high_watermark == 9
    solo.flush()
    assert solo.node.high_watermark == 10


def test_a_fetch_waits_for_an_append_or_for_more_committed_or_for_its_time() -> None:
    solo = leader()
    solo.ask(fetch(2, EPOCH, 9, EPOCH, 0))
    assert solo.ask(fetch(3, EPOCH, 9, EPOCH, high_watermark=9), "append") is None
    solo.node.prepare_append(EPOCH, [b"more"])
    solo.work(solo.node.schedule_append(solo.now_ms))
    assert [(reply.token, reply.message.records != b"") for reply in solo.replies[-1:]] == [("append", True)]
    solo.flush()
    assert solo.ask(fetch(3, EPOCH, 10, EPOCH, high_watermark=9), "commit").high_watermark == 10
    assert solo.ask(fetch(3, EPOCH, 10, EPOCH, high_watermark=10), "time") is None
    solo.wait(499)
    assert solo.replies[-1].token == "commit"
    solo.wait(1)
    assert solo.replies[-1].token == "time" and solo.replies[-1].message.records == b""


def test_all_waiting_fetches_hear_of_a_higher_high_watermark_also_those_that_cannot_say_theirs() -> None:
    solo = leader()
    assert solo.ask(fetch(7, EPOCH, 9, EPOCH), "old observer") is None
    assert solo.ask(fetch(8, EPOCH, 9, EPOCH, high_watermark=-1), "observer") is None
    solo.ask(fetch(2, EPOCH, 9, EPOCH, 0), "voter")
    answers = {reply.token: reply.message.high_watermark for reply in solo.replies}
    assert answers == {"voter": 9, "old observer": 9, "observer": 9}


def test_waiting_fetches_hear_that_leadership_is_over() -> None:
    solo = leader()
    assert solo.ask(fetch(2, EPOCH, 9, EPOCH), "two") is not None
    assert solo.ask(fetch(2, EPOCH, 9, EPOCH, high_watermark=9), "waits") is None
    solo.ask(vote(3, EPOCH + 1, EPOCH, 9))
    answers = {reply.token: reply.message for reply in solo.replies}
    assert answers["waits"].error == NOT_LEADER_OR_FOLLOWER and answers["waits"].epoch == EPOCH + 1


def test_an_answer_that_nobody_waits_for_is_forgotten() -> None:
    solo = leader()
    assert solo.ask(fetch(7, EPOCH, 9, EPOCH), "gone") is None
    solo.node.forget("gone")
    solo.wait(600)
    assert all(reply.token != "gone" for reply in solo.replies)


def test_at_least_one_batch_and_no_more_than_asked_for() -> None:
    solo = leader()
    one = len(solo.ask(fetch(2, EPOCH, 0, 0, 0, max_size=1)).records)
    assert 0 < one < 100
    assert len(solo.ask(fetch(2, EPOCH, 0, 0, 0, max_size=2 * one)).records) == 2 * one
    assert len(solo.ask(fetch(2, EPOCH, 0, 0, 0, max_size=-5)).records) == one


def test_a_leader_that_no_majority_fetches_from_resigns() -> None:
    solo = leader()
    solo.wait(2_900)
    solo.ask(fetch(3, EPOCH, 9, EPOCH, 0))
    solo.wait(2_900)
    solo.ask(fetch(7, EPOCH, 9, EPOCH, 0))
    assert solo.node.state_name == "leader"
    solo.wait(101)
    assert solo.node.state_name == "resigned" and solo.node.high_watermark is None


def test_a_sole_voter_needs_nobody() -> None:
    solo = Solo(voters=(1,))
    solo.wait(60_000)
    assert solo.node.state_name == "leader"


@pytest.mark.parametrize(
    ("changes", "top_error", "error"),
    [
        ({"cluster_id": "another", "shape_ok": False}, INCONSISTENT_CLUSTER_ID, None),
        ({"shape_ok": False}, INVALID_REQUEST, None),
        ({"is_known_partition": False, "epoch": 1}, NONE, UNKNOWN_TOPIC_OR_PARTITION),
        ({"epoch": EPOCH - 1}, NONE, FENCED_LEADER_EPOCH),
        ({"epoch": EPOCH + 1}, NONE, UNKNOWN_LEADER_EPOCH),
        ({"snapshot_id": OffsetAndEpoch(0, 0)}, NONE, SNAPSHOT_NOT_FOUND),
        ({"snapshot_id": OffsetAndEpoch(4, 1)}, NONE, SNAPSHOT_NOT_FOUND),
        ({"position": -1}, NONE, POSITION_OUT_OF_RANGE),
        ({"position": len(_SNAPSHOT)}, NONE, POSITION_OUT_OF_RANGE),
    ],
)
def test_a_fetch_of_a_snapshot_is_checked_in_kafkas_order(changes: dict[str, Any], top_error: int, error: int | None) -> None:
    solo = with_snapshot((0, 0), (4, 2))
    response = solo.ask(changed(page(2, EPOCH, OffsetAndEpoch(4, 2), 0), changes))
    assert response.top_error == top_error and response.records == b""
    assert error is None or (response.error == error and response.epoch == EPOCH)


def test_pages_of_a_snapshot_are_served_and_count_for_check_quorum_only() -> None:
    solo = with_snapshot((4, 2))
    solo.wait(2_900)
    data = b""
    while len(data) < len(_SNAPSHOT):
        response = solo.ask(page(2, EPOCH, OffsetAndEpoch(4, 2), len(data), 50))
        assert (response.error, response.size, response.position) == (NONE, len(_SNAPSHOT), len(data))
        data += response.records
    assert data == _SNAPSHOT
    solo.wait(2_900)
    assert solo.node.state_name == "leader"
    assert solo.node.role.voters[2].end_offset == -1 and solo.node.role.voters[2].last_fetch_ms == -1


def test_observers_are_remembered_up_to_a_number() -> None:
    solo = leader()
    for id in range(10, 1_200):
        solo.now_ms += 1
        solo.ask(fetch(7, EPOCH, 9, EPOCH, 0, replica_id=id))
    found = solo.node.role.observers
    assert len(found) == 1_000 and (1_199, directory(7)) in found
