"""A replica whose log lost what it may have acknowledged has no vote until a leader's log is here again."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random

import pytest

from metashell.codec.error_codes import NONE
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, Recovering, ReplicaKey
from metashell.quorum.raft.messages import FetchSnapshotRequest, FetchSnapshotResponse, RaftConfig, VoteRequest
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft import quorum
from tests.quorum.raft.pump import endpoint, key
from tests.quorum.raft.solo import Solo, batches, begin, fetched, log_of, vote

EPOCH = 5


def damaged(election: ElectionState, until: int | None = 4, *epochs: int, **others) -> Solo:
    """Node 1, whose log of four batches was cut after `epochs`."""
    log = log_of(*epochs or (3, 4))
    log.recovering = Recovering(until, max(election.epoch, 4), "0.log: byte 130: its CRC is wrong")
    return Solo(election, log, **others)


def test_it_grants_no_vote_and_no_pre_vote_however_long_the_log_of_who_asks() -> None:
    solo = damaged(ElectionState(EPOCH))
    for pre_vote in (True, False):
        assert not solo.ask(vote(2, EPOCH + 1, last_epoch=EPOCH, last_offset=99, pre_vote=pre_vote)).granted
    assert solo.node.epoch == EPOCH + 1 and solo.election.voted is None


def test_it_does_not_repeat_a_vote_that_it_gave_before() -> None:
    solo = damaged(ElectionState(EPOCH, -1, key(2)))
    assert not solo.ask(vote(2, EPOCH, last_epoch=4, last_offset=99)).granted
    assert solo.election == ElectionState(EPOCH, -1, key(2)), "it stays given"


@pytest.mark.parametrize(("leader_id", "voted"), [(-1, None), (1, None), (2, None), (-1, key(1))])
def test_it_never_stands(leader_id: int, voted: ReplicaKey | None) -> None:
    solo = damaged(ElectionState(EPOCH, leader_id, voted))
    solo.wait(60_000)
    assert not solo.take(VoteRequest) and solo.node.state_name in ("unattached", "follower")
    assert not solo.node.may_stand()


def test_it_votes_again_when_its_log_is_durable_up_to_where_it_ended() -> None:
    solo = damaged(ElectionState(EPOCH, 2))
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(2, 4), 2))
    solo.flush()
    assert solo.node.recovering is not None, "it is at 3, and was at 4"
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(3, 4), 3))
    assert solo.node.recovering is not None, "it is at 4, but not on disk"
    assert not solo.ask(vote(3, EPOCH + 1, last_epoch=4, last_offset=4, pre_vote=True)).granted
    solo.flush()
    assert solo.node.recovering is None and solo.log.recovering is None
    assert solo.ask(vote(3, EPOCH + 2, last_epoch=4, last_offset=4)).granted
    solo.wait(10_000)
    assert solo.take(VoteRequest), "and it stands again"


@pytest.mark.parametrize("until", [None, 1_000])
def test_a_batch_of_a_later_epoch_is_proof_enough(until: int | None) -> None:
    """Its leader was elected without this replica, so it has all that was committed before; how far this log went does not matter."""
    solo = damaged(ElectionState(EPOCH, 2), until)
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(2, 4, EPOCH), 3))
    solo.flush()
    assert solo.node.recovering is not None, "the leader of an epoch in which it may have acknowledged more"
    solo.ask(begin(3, EPOCH + 1))
    assert solo.node.recovering is not None, "a leader alone proves nothing yet"
    solo.answer(solo.next_fetch(), fetched(3, EPOCH + 1, batches(4, EPOCH + 1), 4))
    assert solo.node.recovering is not None
    solo.flush()
    assert solo.node.recovering is None


def test_a_snapshot_of_the_leader_counts_as_the_log_that_it_stands_for() -> None:
    solo = damaged(ElectionState(EPOCH, 2), 40)
    id = OffsetAndEpoch(40, 4)
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, snapshot_id=id))
    ((send, request),) = solo.take(FetchSnapshotRequest)
    data = write_control_batch(0, 4, 1, [SnapshotHeader(0)]) + write_control_batch(1, 4, 1, [SnapshotFooter()])
    solo.answer(send, FetchSnapshotResponse(0, NONE, 2, EPOCH, endpoint(2), id, len(data), request.position, data))
    part = solo.node.downloaded_part()
    assert part is not None and solo.node.recovering is not None
    part.freeze()
    solo.work(solo.node.snapshot_frozen(id, solo.now_ms))
    assert solo.node.log_end_offset == 40 and solo.node.recovering is None


def test_a_restart_meanwhile_changes_nothing() -> None:
    solo = damaged(ElectionState(EPOCH, 2))
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(2, 4), 2))
    solo.flush()
    again = Solo(solo.election, solo.log)
    assert not again.ask(vote(3, EPOCH + 1, last_epoch=EPOCH, last_offset=99)).granted


def test_a_restart_before_the_note_is_removed_ends_it_at_once() -> None:
    """What is there came from a leader, since the log was cut before its note's offset."""
    solo = damaged(ElectionState(EPOCH, 2), 2)
    solo.poll()
    assert solo.node.recovering is None and solo.log.recovering is None


def test_a_sole_voter_is_refused() -> None:
    with pytest.raises(LogCorruptError, match=r"0\.log: byte 130: its CRC is wrong; this is the only voter"):
        damaged(ElectionState(EPOCH, 1), voters=(1,))


def test_who_knows_other_servers_is_no_sole_voter_for_sure() -> None:
    """The record that made others voters may be what was lost."""
    solo = damaged(ElectionState(EPOCH, 1), voters=(1,), bootstrap_servers=(endpoint(2),))
    solo.wait(60_000)
    assert solo.node.recovering is not None and solo.node.state_name == "unattached"


def test_it_starts_without_bootstrap_servers_where_its_log_names_other_voters() -> None:
    for voters, starts in (([1, 2, 3], True), ([1], False)):
        log = MemoryLog()
        log.add_snapshot(OffsetAndEpoch(0, 0), quorum.bootstrap_snapshot(voters))
        log.recovering = Recovering(4, 4, "0.log: byte 130: its CRC is wrong")
        config = RaftConfig(cluster_id=quorum.CLUSTER, local=quorum.key(1), listeners={"CONTROLLER": quorum.endpoint(1)})
        with nullcontext() if starts else pytest.raises(LogCorruptError, match="this is the only voter"):
            node = RaftNode(config, log, ElectionState(EPOCH), random=Random(1), now_ms=0, wall_ms=0)
            assert node.recovering is not None and node.is_voter
