"""What a replica is when it starts."""

from __future__ import annotations

from random import Random

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.messages import FetchRequest, RaftConfig, VoteRequest
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import ElectionState, Send
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.voters import SnapshotFooter, SnapshotHeader, write_control_batch
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, batches, fetched, log_of, vote

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
