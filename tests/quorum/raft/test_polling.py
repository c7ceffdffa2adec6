"""What a replica is when it starts.
A replica whose log lost what it may have acknowledged has no vote until a leader's log is here again."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.codec.error_codes import FENCED_LEADER_EPOCH, NONE, UNKNOWN_LEADER_EPOCH
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.values import OffsetAndEpoch, Recovering, ReplicaKey
from metashell.quorum.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftConfig,
    VoteRequest,
)
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import ElectionState, Send
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft import quorum
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, batches, begin, fetch, fetched, log_of, vote

EPOCH = 5
EMPTY_SNAPSHOT = write_control_batch(0, 4, 1, [SnapshotHeader(0)]) + write_control_batch(1, 4, 1, [SnapshotFooter()])


@pytest.mark.parametrize(
    ("election", "state", "durable"),
    [
        (ElectionState(0), "unattached", ElectionState(4)),
        (ElectionState(3, 1), "unattached", ElectionState(4)),  # quorum-state was lost or is old
        (ElectionState(3, -1, key(1)), "unattached", ElectionState(4)),
        (ElectionState(4, 1), "resigned", ElectionState(4, 1)),
        (ElectionState(5, 1), "resigned", ElectionState(5, 1)),
        (ElectionState(5, -1, key(1)), "unattached", ElectionState(5, -1, key(1))),
        (ElectionState(5, -1, ReplicaKey(1)), "unattached", ElectionState(5, -1, ReplicaKey(1))),
        (ElectionState(5, -1, ReplicaKey(1, directory(9))), "unattached", ElectionState(5, -1, ReplicaKey(1, directory(9)))),
        (ElectionState(5, 2), "follower", ElectionState(5, 2)),
        (ElectionState(5, 2, key(3)), "follower", ElectionState(5, 2, key(3))),
        (ElectionState(5, 2, key(1)), "follower", ElectionState(5, 2, key(1))),
        (ElectionState(5, 9), "unattached", ElectionState(5, 9)),
        (ElectionState(5, 9, key(3)), "unattached", ElectionState(5, 9, key(3))),
        (ElectionState(5, -1, key(3)), "unattached", ElectionState(5, -1, key(3))),
        (ElectionState(5), "unattached", ElectionState(5)),
        # It lost that election: whose records of the epoch these are, nothing says.
        (ElectionState(4, -1, key(1)), "unattached", ElectionState(4, -1, key(1))),
    ],
)
def test_quorum_state_and_the_end_of_the_log_decide_the_first_state(election: ElectionState, state: str, durable: ElectionState) -> None:
    solo = Solo(election, log_of(3, 4))
    assert solo.node.state_name == state
    assert solo.election == durable and solo.writes == 1
    assert solo.node.high_watermark is None


def test_a_vote_without_a_node_id_is_refused() -> None:
    config = RaftConfig(cluster_id="cluster", local=None, static_voters={2: endpoint(2)})
    with pytest.raises(UsageError, match="no node id"):
        RaftNode(config, MemoryLog(), ElectionState(1, -1, key(2)), random=Random(1), now_ms=0)


def test_an_anonymous_observer_looks_for_the_leader() -> None:
    config = RaftConfig(cluster_id="cluster", local=None, static_voters={2: endpoint(2)}, is_controller=False)
    node = RaftNode(config, MemoryLog(), ElectionState(0), random=Random(1), now_ms=0)
    assert node.take_ready().election == ElectionState(0)
    ready = node.poll(1)
    assert ready.has_messages and node.state_name == "unattached"


@pytest.mark.parametrize(
    ("election", "epoch"),
    [(ElectionState(0), 5), (ElectionState(4, 1), 5), (ElectionState(5, 9), 6), (ElectionState(5, -1, key(1)), 6)],
)
def test_a_sole_voter_leads_at_once_in_a_new_epoch(election: ElectionState, epoch: int) -> None:
    solo = Solo(election, log_of(3, 4), voters=(1,))
    assert solo.node.state_name == "leader" and solo.election == ElectionState(epoch, 1)


def test_a_candidacy_is_not_resumed_after_a_restart() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).run_for_office()
    assert solo.election == ElectionState(EPOCH + 1, -1, key(1))
    again = Solo(solo.election, solo.log)
    assert again.node.state_name == "unattached" and not again.take(VoteRequest)
    assert not again.ask(vote(2, EPOCH + 1, last_epoch=4, last_offset=9)).granted, "its vote of the epoch is its own"
    again.run_for_office()
    assert again.node.epoch == EPOCH + 2


def test_a_candidate_that_lost_to_another_leader_never_takes_its_records_for_its_own() -> None:
    """Killed while quorum-state is written that names the leader: the log must not have anything of that leader yet."""
    solo = Solo(ElectionState(EPOCH, -1, key(1)), log_of(3, 4))
    before = solo.election
    ready = solo.node.handle_response(*_awaited(solo.next_fetch()), fetched(2, EPOCH, batches(2, EPOCH)), solo.now_ms)
    assert ready.election == ElectionState(EPOCH, 2, key(1)) and solo.log.end_offset == 2
    again = Solo(before, solo.log)
    assert again.node.state_name == "unattached" and again.node.leader_id == -1
    solo.work(ready)
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(2, EPOCH)))
    assert solo.log.end_offset == 3


def _awaited(send: Send) -> tuple[int, int]:
    return send.destination, send.correlation_id


def test_a_leaders_first_batch_is_written_after_the_step_that_elected_it() -> None:
    solo = Solo(voters=(1,))
    assert solo.node.state_name == "leader" and solo.node.log_end_offset == 0
    assert solo.log.leader_epochs() == [(1, 0)]
    solo.poll()
    assert solo.node.log_end_offset == 1 and solo.node.high_watermark is None
    solo.flush()
    assert solo.node.high_watermark == 1


def test_an_epoch_that_was_begun_and_never_written_in_is_forgotten() -> None:
    log = log_of(3, 4)
    log.write_leader_epochs([(3, 0), (4, 1), (5, 2)])
    Solo(ElectionState(5, 1), log)
    assert log.leader_epochs() == [(3, 0), (4, 1)]


def test_what_may_not_be_durable_is_flushed_before_anybody_hears_of_it() -> None:
    log = log_of(3)
    log.append(log_of(3, 4).read(1, 2, 1 << 20), 2)
    log.write_leader_epochs([(3, 0), (4, 1)])
    solo = Solo(ElectionState(5, 2), log)
    assert solo.flush_to == 2
    solo.poll()
    assert not solo.take(FetchRequest)
    solo.flush()
    assert [request.fetch_offset for _, request in solo.take(FetchRequest)] == [2]


def test_a_log_or_snapshot_that_cannot_be_read_stops_the_start() -> None:
    log = log_of(3)
    bad = write_batch(1, [Record(1, 1, b"\0\0\0\x63", b"x")], leader_epoch=3, is_control=True)
    log.append(bad, 2)
    with pytest.raises(LogCorruptError, match=r"metadata log: offset 1: .* type 99"):
        Solo(ElectionState(5), log)
    log = log_of(3)
    log.add_snapshot(OffsetAndEpoch(1, 3), b"nonsense")
    with pytest.raises(LogCorruptError, match="has no header"):
        Solo(ElectionState(5), log)


def test_a_log_that_ends_where_its_latest_snapshot_does_is_kept_whole() -> None:
    log = log_of(1, 1, 4)
    log.add_snapshot(OffsetAndEpoch(3, 4), EMPTY_SNAPSHOT)
    solo = Solo(ElectionState(6, 3), log)
    assert (log.start_offset, log.end_offset, solo.node.log_end_offset) == (0, 3, 3)


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


@pytest.mark.parametrize("until", [None, 1_000])
def test_an_answer_that_nothing_follows_is_proof_enough(until: int | None) -> None:
    """The leader of the same epoch has all that this replica acknowledged to it; it need not be elected anew."""
    solo = damaged(ElectionState(EPOCH, 2), until)
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, batches(2, 4, EPOCH), 3))
    solo.flush()
    assert solo.node.recovering is not None
    solo.answer(solo.next_fetch(), fetched(2, EPOCH, b"", 3))
    assert solo.node.recovering is None and solo.log.recovering is None
    assert not solo.ask(vote(3, EPOCH, last_epoch=EPOCH, last_offset=99)).granted, "it may have voted in this epoch, and knows its leader"
    assert solo.ask(vote(3, EPOCH + 1, last_epoch=EPOCH, last_offset=99)).granted


def test_a_leader_of_an_epoch_before_the_last_one_proves_nothing() -> None:
    """It may not have what this replica acknowledged to another one since."""
    solo = Solo(ElectionState(EPOCH - 1, 2), log_of(3, 4))
    solo.node.recovering = solo.log.recovering = Recovering(None, EPOCH, "the metadata log is empty")
    solo.answer(solo.next_fetch(), fetched(2, EPOCH - 1, b"", 2))
    solo.answer(solo.next_fetch(), fetched(2, EPOCH - 1, b"", 2))
    assert solo.node.recovering is not None
    solo.ask(begin(3, EPOCH))
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, b"", 2))
    assert solo.node.recovering is None


def test_a_voter_without_a_vote_that_is_ahead_is_asked_because_it_fetches() -> None:
    leader = Solo(ElectionState(EPOCH), log_of(3, 4)).lead()
    assert leader.ask(fetch(2, leader.node.epoch + 1, 2, 4)).error == UNKNOWN_LEADER_EPOCH
    send = leader.take(FetchRequest)[-1][0]
    leader.answer(send, FetchResponse(0, FENCED_LEADER_EPOCH, -1, leader.node.epoch + 1))
    assert leader.node.state_name == "unattached"


def test_who_lost_its_voters_too_and_knows_no_server_is_refused() -> None:
    log = MemoryLog()
    log.recovering = Recovering(None, 4, "the metadata log is empty")
    config = RaftConfig(cluster_id=quorum.CLUSTER, local=quorum.key(1), listeners={"CONTROLLER": quorum.endpoint(1)})
    with pytest.raises(LogCorruptError, match="its voters are lost too, and no other controller is configured; metashell quorum restore"):
        RaftNode(config, log, ElectionState(4), random=Random(1), now_ms=0, wall_ms=0)


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
