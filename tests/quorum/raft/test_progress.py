"""The high watermark of a leader: the offset that a majority has."""

from __future__ import annotations

import pytest

from metashell.common.values import ReplicaKey
from metashell.quorum.raft.progress import high_watermark_candidate, may_commit
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.roles import Leader, Progress
from tests.quorum.raft.solo import Solo, fetch, log_of


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
