"""DescribeQuorum: what the leader knows of voters and observers, and what others answer."""

from __future__ import annotations

from metashell.codec.error_codes import NONE, NOT_LEADER_OR_FOLLOWER
from metashell.quorum.raft.messages import DescribeQuorumRequest, DescribeQuorumResponse, RemoveRaftVoterRequest, ReplicaState
from metashell.quorum.raft.progress import OBSERVER_EXPIRY_MS
from tests.quorum.raft.quorum import CLUSTER, WALL_MS, Quorum, endpoint, key


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
