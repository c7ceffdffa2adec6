"""Voters added and removed: every refusal with its error, and what the whole quorum makes of each change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    DUPLICATE_VOTER,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from tests.quorum.raft.quorum import CLUSTER, Quorum, endpoint, key

VOTER_4 = "ReplicaKey(id=4, directoryId=AQEBAQEBAQEBAQEBAQEBBA)"
NOT_ADDED = f"Aborted add voter operation for {VOTER_4} since the kraft.version range"


def add(id: int, disk: int = 1, **changes: Any) -> AddRaftVoterRequest:
    request = AddRaftVoterRequest(CLUSTER, id, key(id, disk).directory_id, {"CONTROLLER": endpoint(id)}, 1)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def remove(id: int, disk: int = 1, **changes: Any) -> RemoveRaftVoterRequest:
    request = RemoveRaftVoterRequest(CLUSTER, id, key(id, disk).directory_id)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def settled(voters: list[int], others: list[int], **settings: Any) -> tuple[Quorum, int]:
    """A quorum whose leader committed something everywhere, and that leader's id."""
    quorum = Quorum.dynamic(voters, others, **settings)
    leader = quorum.elect().local_id
    quorum.commit(b"first")
    quorum.run(1_500)
    return quorum, leader


def follower_of(quorum: Quorum, leader: int) -> int:
    return next(id for id in quorum.nodes[leader].voters.ids if id != leader)


def agreed(quorum: Quorum) -> tuple[int, ...]:
    """The voters, which all nodes that are connected have to agree on."""
    quorum.commit(b"agreed")
    sets = {node.voters for id, node in quorum.nodes.items() if id not in quorum.cut}
    assert len(sets) == 1
    return sets.pop().ids


def answer(quorum: Quorum, leader: int, request: Any) -> tuple[int, str | None]:
    """The answer to a request, waited for."""
    quorum.ask(leader, request)
    assert quorum.run(30_000, lambda: "client" in quorum.answers)
    response = quorum.answers["client"]
    assert isinstance(response, AddRaftVoterResponse | RemoveRaftVoterResponse)
    return response.error, response.message


# Whole changes


def test_an_observer_that_is_caught_up_becomes_a_voter_everywhere():
    quorum, leader = settled([1, 2, 3], [4])
    assert answer(quorum, leader, add(4)) == (NONE, None)
    assert agreed(quorum) == (1, 2, 3, 4)
    entry = quorum.nodes[leader].voters.voters[4]
    assert (entry.key, entry.endpoints, entry.min_version, entry.max_version) == (key(4), {"CONTROLLER": endpoint(4)}, 0, 1)
    assert quorum.nodes[4].is_voter and key(4) not in [progress.key for progress in quorum.nodes[leader].role.observers.values()]


def test_a_quorum_grows_from_one_to_five_and_shrinks_back():
    quorum, leader = settled([1], [2, 3, 4, 5])
    for id in (2, 3, 4, 5):
        assert answer(quorum, leader, add(id)) == (NONE, None)
        quorum.commit(b"more")
    assert agreed(quorum) == (1, 2, 3, 4, 5)
    for id in (5, 4, 3, 2):
        assert answer(quorum, leader, remove(id)) == (NONE, None)
        quorum.commit(b"less")
    assert agreed(quorum) == (1,)


def test_a_removed_follower_observes_and_can_be_added_again():
    quorum, leader = settled([1, 2, 3], [])
    follower = follower_of(quorum, leader)
    assert answer(quorum, leader, remove(follower)) == (NONE, None)
    assert follower not in agreed(quorum)
    quorum.run(5_000)
    node = quorum.nodes[follower]
    assert not node.is_voter and node.state_name == "follower" and node.high_watermark == quorum.nodes[leader].high_watermark
    assert quorum.nodes[leader].state_name == "leader"
    assert answer(quorum, leader, add(follower)) == (NONE, None)
    assert agreed(quorum) == (1, 2, 3)


def test_a_leader_that_is_removed_answers_and_resigns_when_that_is_committed_and_another_leads():
    quorum, old = settled([1, 2, 3], [])
    quorum.sent.clear()
    assert answer(quorum, old, remove(old)) == (NONE, None)
    assert quorum.run(10_000, lambda: (leader := quorum.leader()) is not None and leader.local_id != old)
    ended = [(target, message) for source, target, message in quorum.sent if isinstance(message, EndQuorumEpochRequest)]
    # Those who lead next are of the new set, in which it is no more.
    assert ended and all(old not in [candidate.id for candidate in message.candidates] for _, message in ended)
    assert old not in agreed(quorum)
    quorum.run(10_000)
    assert quorum.nodes[old].state_name == "follower" and not quorum.nodes[old].is_voter


def test_a_leader_whose_removal_timed_out_resigns_when_it_is_committed_after_all():
    quorum, old = settled([1, 2, 3], [], request_timeout_ms=300)
    quorum.lost = lambda source, target, message: isinstance(message, FetchResponse)
    quorum.ask(old, remove(old))
    quorum.run(301)
    response = quorum.answers["client"]
    assert isinstance(response, RemoveRaftVoterResponse) and response.error == REQUEST_TIMED_OUT
    assert quorum.nodes[old].state_name == "leader" and old not in quorum.nodes[old].voters
    quorum.lost = lambda source, target, message: False
    assert quorum.run(10_000, lambda: quorum.nodes[old].state_name != "leader")
    quorum.elect()
    assert old not in agreed(quorum)


def fetch_from(quorum: Quorum, leader: int, id: int, offset: int) -> None:
    """Replica `id` fetches with all before `offset` on its disk, and waits for nothing."""
    node = quorum.nodes[leader]
    quorum.ask(leader, FetchRequest(CLUSTER, id, key(id).directory_id, node.epoch, offset, node.epoch, 0, 1 << 20), "fetch")


def behind_data(voters: list[int], others: list[int], request: Callable[[int], Any]) -> tuple[Quorum, int, int]:
    """A leader with two records that no other replica has: one of data, and, at the offset given, the voter set that was asked for."""
    quorum, leader = settled(voters, others)
    quorum.lost = lambda source, target, message: isinstance(message, FetchRequest | FetchResponse)
    quorum.append(b"data")
    node = quorum.nodes[leader]
    end = node.log_end_offset
    quorum.ask(leader, request(leader))
    assert quorum.run(1_000, lambda: node.log_end_offset == end + 1)
    quorum.run(5)
    assert "client" not in quorum.answers and node.high_watermark is not None and node.high_watermark < end
    return quorum, leader, end


def test_an_addition_is_answered_when_its_own_record_is_committed_and_not_the_one_before():
    quorum, leader, offset = behind_data([1, 2, 3], [4], lambda leader: add(4))
    for id in (1, 2, 3, 4):
        if id != leader:
            fetch_from(quorum, leader, id, offset)
    assert quorum.nodes[leader].high_watermark == offset and "client" not in quorum.answers
    for id in (1, 2, 3, 4):
        if id != leader:
            fetch_from(quorum, leader, id, offset + 1)
    assert quorum.nodes[leader].high_watermark == offset + 1
    assert quorum.answers["client"] == AddRaftVoterResponse(NONE, None)


def test_a_removed_leader_leads_until_its_removal_itself_is_committed():
    quorum, leader, offset = behind_data([1, 2, 3], [], remove)
    node = quorum.nodes[leader]
    others = [id for id in (1, 2, 3) if id != leader]
    for id in others:
        fetch_from(quorum, leader, id, offset)
    quorum.run(5)
    assert node.high_watermark == offset and node.state_name == "leader" and "client" not in quorum.answers
    for id in others:
        fetch_from(quorum, leader, id, offset + 1)
    quorum.run(5)
    assert node.state_name != "leader" and quorum.answers["client"] == RemoveRaftVoterResponse(NONE, None)


def test_a_change_that_is_not_committed_in_time_says_so_and_the_next_one_waits_for_it():
    quorum, leader = settled([1, 2, 3], [4])
    quorum.cut = set(quorum.nodes) - {leader}
    quorum.ask(leader, remove(follower_of(quorum, leader)))
    quorum.run(1_900)
    assert quorum.answers == {}
    quorum.run(200)
    response = quorum.answers["client"]
    assert isinstance(response, RemoveRaftVoterResponse) and response.error == REQUEST_TIMED_OUT
    refused = quorum.ask(leader, add(4))
    assert isinstance(refused, AddRaftVoterResponse)
    assert refused.error == REQUEST_TIMED_OUT and refused.message == "the last voter set is not committed yet"


def test_who_waits_for_a_change_learns_that_the_leader_is_none_any_more():
    quorum, leader = settled([1, 2, 3], [4])
    quorum.cut = {leader}
    quorum.ask(leader, remove(follower_of(quorum, leader)))
    quorum.nodes[leader].resign(quorum.nodes[leader].epoch)
    quorum.run(100)
    response = quorum.answers["client"]
    assert isinstance(response, RemoveRaftVoterResponse) and response.error == NOT_LEADER_OR_FOLLOWER
    assert quorum.run(10_000, lambda: (new := quorum.leader()) is not None and new.local_id != leader)
    quorum.cut = set()
    quorum.elect()
    # The record was nowhere but at the old leader, which has to drop it.
    assert agreed(quorum) == (1, 2, 3)


def test_a_voter_that_may_be_answered_before_the_commit_is():
    quorum, leader = settled([1, 2, 3], [4])
    quorum.lost = lambda source, target, message: isinstance(message, FetchRequest)
    assert answer(quorum, leader, add(4, ack_when_committed=False)) == (NONE, None)
    node = quorum.nodes[leader]
    assert 4 in node.voters and node.high_watermark is not None and not node.partition.voters_are_committed(node.high_watermark)
    # It is still being changed, so nothing else may be.
    why = "Request timed out waiting for leader to handle previous voter change request"
    assert quorum.ask(leader, add(5)) == AddRaftVoterResponse(REQUEST_TIMED_OUT, why)
    quorum.lost = lambda source, target, message: False
    assert agreed(quorum) == (1, 2, 3, 4)
    assert node.role.change is None


def test_a_node_that_does_not_answer_is_not_added():
    quorum, leader = settled([1, 2, 3], [4])
    quorum.lost = lambda source, target, message: isinstance(message, ApiVersionsRequest)
    assert answer(quorum, leader, add(4)) == (REQUEST_TIMED_OUT, f"{VOTER_4} could not be asked for its versions")
    assert agreed(quorum) == (1, 2, 3)


def test_a_node_that_does_not_support_the_level_is_not_added():
    quorum, leader = settled([1, 2, 3], [])
    quorum.start(4, bootstrap_servers=(endpoint(1),), max_kraft_version=0)
    quorum.run(3_000)
    assert answer(quorum, leader, add(4)) == (INVALID_REQUEST, f"{NOT_ADDED} (min: 0, max: 0 doesn't support the finalized version 1")


def test_a_range_of_levels_that_no_voter_set_can_hold_is_not_written():
    quorum, leader = settled([1, 2, 3], [])
    quorum.start(4, bootstrap_servers=(endpoint(1),), min_kraft_version=-1)
    quorum.run(3_000)
    assert answer(quorum, leader, add(4)) == (INVALID_REQUEST, f"{NOT_ADDED} (min: -1, max: 1 doesn't support the finalized version 1")


def test_additions_that_fail_leave_nothing_behind():
    quorum, leader = settled([1, 2, 3], [])
    for id in range(50, 250):
        assert answer(quorum, leader, add(id, endpoints={"CONTROLLER": endpoint(id)}))[0] == REQUEST_TIMED_OUT
    assert len(quorum.nodes[leader].connections.entries) < 100


def test_a_node_that_never_fetched_is_not_added():
    quorum, leader = settled([1, 2, 3], [4])
    other_disk = "ReplicaKey(id=4, directoryId=AgICAgICAgICAgICAgICBA)"
    assert answer(quorum, leader, add(4, disk=2)) == (
        REQUEST_TIMED_OUT,
        f"Aborted add voter operation for {other_disk} since it is lagging behind",
    )
    assert agreed(quorum) == (1, 2, 3)


def test_an_observer_that_fell_silent_for_an_hour_is_not_added():
    quorum, leader = settled([1, 2, 3], [4])
    quorum.nodes[leader].role.observers[(4, key(4).directory_id)].last_fetch_ms = quorum.now - 3_600_000
    quorum.lost = lambda source, target, message: source == 4 and isinstance(message, FetchRequest)
    quorum.run(1_000)
    quorum.nodes[leader].role.observers[(4, key(4).directory_id)].last_fetch_ms = quorum.now - 3_600_000
    assert answer(quorum, leader, add(4))[0] == REQUEST_TIMED_OUT


def test_every_voter_set_survives_a_restart_of_all():
    quorum, leader = settled([1, 2, 3], [4])
    assert answer(quorum, leader, add(4)) == (NONE, None)
    quorum.commit(b"x")
    for id in list(quorum.nodes):
        quorum.stop(id)
    for id in list(quorum.disks):
        quorum.start(id)
    assert quorum.elect().voters.ids == (1, 2, 3, 4)
    assert agreed(quorum) == (1, 2, 3, 4)


# Refusals, in the order of the checks


def nothing(quorum: Quorum, leader: int) -> int:
    return leader


def a_follower(quorum: Quorum, leader: int) -> int:
    return follower_of(quorum, leader)


def an_observer(quorum: Quorum, leader: int) -> int:
    return 4


def shutting_down(quorum: Quorum, leader: int) -> int:
    node = quorum.nodes[leader]
    node.shutdown_deadline_ms = quorum.now + 5_000
    return leader


def busy(quorum: Quorum, leader: int) -> int:
    quorum.cut = set(quorum.nodes) - {leader}
    quorum.ask(leader, remove(follower_of(quorum, leader)), "other")
    return leader


def new_leader(quorum: Quorum, leader: int) -> int:
    quorum.nodes[leader].high_watermark = None
    return leader


def level_0(quorum: Quorum, leader: int) -> int:
    quorum.nodes[leader].partition.kraft_version = 0
    return leader


def uncommitted(quorum: Quorum, leader: int) -> int:
    node = quorum.nodes[leader]
    assert node.partition.voters_offset is not None
    node.high_watermark = node.partition.voters_offset
    return leader


def busy_connection(quorum: Quorum, leader: int) -> int:
    quorum.nodes[leader].connections.sent(4, ("four", 4), ApiVersionsRequest(), quorum.now)
    return leader


COMMON: list[tuple[Callable[[Quorum, int], int], dict[str, Any], int]] = [
    (a_follower, {"cluster_id": "other", "voter_id": -1}, INCONSISTENT_CLUSTER_ID),
    (nothing, {"cluster_id": ""}, INCONSISTENT_CLUSTER_ID),
    (a_follower, {"voter_id": -1}, NOT_LEADER_OR_FOLLOWER),
    (an_observer, {}, NOT_LEADER_OR_FOLLOWER),
    (shutting_down, {"voter_id": -1}, BROKER_NOT_AVAILABLE),
    (busy, {"voter_id": -1}, INVALID_REQUEST),
    (busy, {"directory_id": ZERO_UUID}, INVALID_REQUEST),
    (busy, {}, REQUEST_TIMED_OUT),
    (new_leader, {}, REQUEST_TIMED_OUT),
    (level_0, {}, UNSUPPORTED_VERSION),
    (uncommitted, {}, REQUEST_TIMED_OUT),
]
ADD = [
    *COMMON,
    (busy, {"endpoints": {}}, INVALID_REQUEST),
    (busy, {"endpoints": {"OTHER": ("h", 1)}}, INVALID_REQUEST),
    (busy, {"endpoints": {"CONTROLLER": ("h" * 256, 1)}}, INVALID_REQUEST),
    (busy, {"endpoints": {"CONTROLLER": ("", 1)}}, INVALID_REQUEST),
    (busy, {"endpoints": {"CONTROLLER": ("h", 1), "L" * 256: ("h", 1)}}, INVALID_REQUEST),
    (busy, {"endpoints": {"CONTROLLER": ("h", 1)} | {f"L{number}": ("h", 1) for number in range(64)}}, INVALID_REQUEST),
    (uncommitted, {"voter_id": 1}, REQUEST_TIMED_OUT),
    (nothing, {"voter_id": 1}, DUPLICATE_VOTER),
    (nothing, {"voter_id": 1, "directory_id": key(1, 2).directory_id}, DUPLICATE_VOTER),
    (busy_connection, {"voter_id": 1}, DUPLICATE_VOTER),
    (busy_connection, {}, REQUEST_TIMED_OUT),
]
REMOVE = [
    *COMMON,
    (nothing, {"voter_id": 9}, VOTER_NOT_FOUND),
    (nothing, {"voter_id": 1}, VOTER_NOT_FOUND),
    (nothing, {"voter_id": 1, "directory_id": key(1, 2).directory_id}, VOTER_NOT_FOUND),
]


def case_name(value: object) -> str:
    return value.__name__ if callable(value) else ""


@pytest.mark.parametrize(("prepare", "changes", "error"), ADD, ids=case_name)
def test_an_addition_is_refused(prepare: Callable[[Quorum, int], int], changes: dict[str, Any], error: int):
    quorum, leader = settled([1, 2, 3], [4])
    response = quorum.ask(prepare(quorum, leader), add(4, **changes))
    assert isinstance(response, AddRaftVoterResponse) and response.error == error and response.message


@pytest.mark.parametrize(("prepare", "changes", "error"), REMOVE, ids=case_name)
def test_a_removal_is_refused(prepare: Callable[[Quorum, int], int], changes: dict[str, Any], error: int):
    quorum, leader = settled([1, 2, 3], [4])
    response = quorum.ask(prepare(quorum, leader), remove(4, **changes))
    assert isinstance(response, RemoveRaftVoterResponse) and response.error == error and response.message


def test_the_last_voter_is_not_removed():
    quorum, leader = settled([1], [])
    response = quorum.ask(leader, remove(1))
    assert isinstance(response, RemoveRaftVoterResponse) and response.error == VOTER_NOT_FOUND


def test_no_cluster_id_is_any_cluster():
    quorum, leader = settled([1, 2, 3], [4])
    assert answer(quorum, leader, add(4, cluster_id=None)) == (NONE, None)


def test_an_observer_of_the_same_id_with_another_disk_is_not_the_one_that_is_added():
    quorum, leader = settled([1, 2, 3], [4])
    observers = quorum.nodes[leader].role.observers
    assert (4, key(4).directory_id) in observers
    assert ReplicaKey(4, key(4, 2).directory_id) not in [progress.key for progress in observers.values()]
    assert answer(quorum, leader, add(4, disk=2))[0] == REQUEST_TIMED_OUT


# A leader that is stopped while it is removed


@pytest.mark.parametrize(("voters", "down"), [([1, 2], None), ([1, 2, 3, 4], 4), ([1, 2, 3, 4], 3)])
def test_a_leader_that_was_stopped_before_anybody_had_its_removal_leads_once_more_to_commit_it(voters: list[int], down: int | None):
    quorum, old = settled(voters, [])
    if down == old:
        down = next(id for id in voters if id != old)
    if down is not None:
        quorum.stop(down)
    quorum.lost = lambda source, target, message: isinstance(message, FetchResponse)
    quorum.ask(old, remove(old))
    quorum.run(50)
    quorum.stop(old)
    quorum.lost = lambda source, target, message: False
    node = quorum.start(old)
    assert not node.is_voter and node.is_leaving()
    rest = set(voters) - {old}
    assert quorum.run(
        60_000, lambda: (leader := quorum.leader()) is not None and leader.local_id != old and leader.high_watermark is not None
    )
    assert agreed(quorum) == tuple(sorted(rest))
    quorum.run(10_000)
    assert node.state_name == "follower" and not node.is_leaving() and not node.may_stand()


def test_a_leaving_candidate_needs_a_majority_of_the_voters_without_itself():
    quorum, old = settled([1, 2, 3], [])
    quorum.lost = lambda source, target, message: isinstance(message, FetchResponse)
    quorum.ask(old, remove(old))
    quorum.run(50)
    quorum.stop(old)
    quorum.lost = lambda source, target, message: False
    # Of the two voters that are left one is there: with its own vote that would be two, but it has none.
    quorum.cut = {follower_of_set(quorum, old)}
    node = quorum.start(old)
    assert node.is_leaving()
    assert not quorum.run(30_000, lambda: node.state_name == "leader")
    quorum.cut = set()
    assert quorum.run(60_000, lambda: (leader := quorum.leader()) is not None and leader.high_watermark is not None)


def follower_of_set(quorum: Quorum, stopped: int) -> int:
    return min(id for id in quorum.nodes if id != stopped)


def test_a_leaving_leader_does_not_count_itself_and_resigns_when_nobody_fetches():
    quorum, old = settled([1, 2], [])
    quorum.cut = set(quorum.nodes) - {old}
    quorum.ask(old, remove(old))
    quorum.run(500)
    node = quorum.nodes[old]
    assert node.state_name == "leader" and not node.is_voter and node.high_watermark == node.partition.voters_offset
    quorum.run(3_000)
    assert node.state_name != "leader"
    quorum.cut = set()
    quorum.run(20_000)
    leader = quorum.leader()
    assert leader is not None and leader.local_id != old and leader.voters.ids == (leader.local_id,)


def test_who_was_never_a_voter_and_who_was_removed_and_knows_it_never_stand():
    quorum, leader = settled([1, 2, 3], [4])
    follower = follower_of(quorum, leader)
    assert answer(quorum, leader, remove(follower)) == (NONE, None)
    quorum.commit(b"known")
    for id in list(quorum.nodes):
        if id not in (4, follower):
            quorum.stop(id)
    quorum.run(30_000)
    assert all(node.state_name in ("unattached", "follower") for node in quorum.nodes.values())
