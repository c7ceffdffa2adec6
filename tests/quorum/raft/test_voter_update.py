"""UpdateRaftVoter, the upgrade of kraft.version, and auto-join: what a replica tells of itself and what comes of it.
What an answer to its own update does to the follower that sent it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    DUPLICATE_VOTER,
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNKNOWN_LEADER_EPOCH,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.quorum.raft.appending import check_fetched
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    FetchRequest,
    InvalidUpdateVersionError,
    NotLeaderError,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from metashell.quorum.raft.ready import ElectionState, Send
from metashell.quorum.raft.voters import KRaftVersion, Voter, VoterSet
from tests.quorum.raft import pump
from tests.quorum.raft.quorum import CLUSTER, Quorum, endpoint, key, voter
from tests.quorum.raft.solo import Solo, fetched, log_of

MOVED = {"CONTROLLER": ("node-2", 1234)}


def settled(make: Callable[..., Quorum] = Quorum.dynamic, others: list[int] | None = None, **settings: Any) -> tuple[Quorum, int]:
    quorum = make([1, 2, 3], others or [], **settings)
    leader = quorum.elect().local_id
    quorum.commit(b"first")
    return quorum, leader


def follower_of(quorum: Quorum, leader: int) -> int:
    return next(id for id in (1, 2, 3) if id != leader)


def update(quorum: Quorum, id: int, **changes: Any) -> UpdateRaftVoterRequest:
    leader = quorum.leader()
    assert leader is not None
    request = UpdateRaftVoterRequest(CLUSTER, leader.epoch, id, key(id).directory_id, {"CONTROLLER": ("node-9", 99)}, 0, 1)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def sent(quorum: Quorum, kind: type) -> list[Any]:
    return [message for _, _, message in quorum.sent if isinstance(message, kind)]


# Level 1


def test_a_follower_that_listens_elsewhere_tells_the_leader_and_all_learn_it():
    quorum, leader = settled()
    moved = follower_of(quorum, leader)
    quorum.stop(moved)
    settings = quorum.configs[moved]
    quorum.configs[moved] = replace(settings, listeners={"CONTROLLER": (f"node-{moved}", 1234)})
    quorum.start(moved)
    assert quorum.run(
        20_000, lambda: all(node.voters.endpoint(moved, "CONTROLLER") == (f"node-{moved}", 1234) for node in quorum.nodes.values())
    )
    quorum.sent.clear()
    quorum.run(10_000)
    assert not sent(quorum, UpdateRaftVoterRequest)


def test_a_leader_that_listens_elsewhere_says_so_in_the_first_batch_of_its_epoch():
    quorum = Quorum.dynamic([1])
    quorum.elect()
    quorum.stop(1)
    quorum.configs[1] = replace(quorum.configs[1], listeners={"CONTROLLER": ("node-1", 77)})
    node = quorum.start(1)
    quorum.elect()
    assert node.voters.endpoint(1, "CONTROLLER") == ("node-1", 77)


def test_voters_whose_entries_are_right_say_nothing():
    quorum, _ = settled()
    quorum.run(20_000)
    assert not sent(quorum, UpdateRaftVoterRequest)


def test_an_update_is_answered_at_once_and_one_that_changes_nothing_writes_nothing():
    quorum, leader = settled()
    quorum.run(3_000)
    end = quorum.nodes[leader].log_end
    response = quorum.ask(leader, update(quorum, 2, endpoints={"CONTROLLER": endpoint(2)}))
    quorum.run(100)
    assert isinstance(response, UpdateRaftVoterResponse)
    assert (response.error, response.leader_id, response.leader_endpoint) == (NONE, leader, endpoint(leader))
    assert quorum.nodes[leader].log_end == end
    response = quorum.ask(leader, update(quorum, 2))
    assert isinstance(response, UpdateRaftVoterResponse) and response.error == NONE
    quorum.run(100)
    assert quorum.nodes[leader].log_end == end + 1


# Refusals, in the order of the checks


def nothing(quorum: Quorum, leader: int) -> int:
    return leader


def a_follower(quorum: Quorum, leader: int) -> int:
    return follower_of(quorum, leader)


def shutting_down(quorum: Quorum, leader: int) -> int:
    quorum.nodes[leader].shutdown_deadline_ms = quorum.now + 5_000
    return leader


def busy(quorum: Quorum, leader: int) -> int:
    follower = follower_of(quorum, leader)
    quorum.cut = set(quorum.nodes) - {leader}
    quorum.ask(leader, RemoveRaftVoterRequest(CLUSTER, follower, key(follower).directory_id), "other")
    return leader


def new_leader(quorum: Quorum, leader: int) -> int:
    quorum.nodes[leader].high_watermark = None
    return leader


def uncommitted(quorum: Quorum, leader: int) -> int:
    node = quorum.nodes[leader]
    assert node.partition.voters_offset is not None
    node.high_watermark = node.partition.voters_offset
    return leader


def waiting_to_be_written(quorum: Quorum, leader: int) -> int:
    node = quorum.nodes[leader]
    node.role.accumulator.append_control([VoterSet([voter(1), voter(2)])], quorum.now, quorum.now)
    return leader


@pytest.mark.parametrize(
    ("prepare", "changes", "error"),
    [
        (a_follower, {"cluster_id": "other", "epoch": 99}, INCONSISTENT_CLUSTER_ID),
        (a_follower, {"epoch": 0, "voter_id": -1}, FENCED_LEADER_EPOCH),
        (a_follower, {"epoch": 99, "voter_id": -1}, UNKNOWN_LEADER_EPOCH),
        (a_follower, {"voter_id": -1}, NOT_LEADER_OR_FOLLOWER),
        (shutting_down, {"voter_id": -1}, BROKER_NOT_AVAILABLE),
        (busy, {"voter_id": -1}, INVALID_REQUEST),
        (busy, {"directory_id": ZERO_UUID}, INVALID_REQUEST),
        (busy, {"endpoints": {"OTHER": ("h", 1)}}, INVALID_REQUEST),
        (busy, {"endpoints": {"CONTROLLER": ("h" * 256, 1)}}, INVALID_REQUEST),
        (busy, {"min_version": -1}, INVALID_REQUEST),
        (busy, {"min_version": 1, "max_version": 0}, INVALID_REQUEST),
        (busy, {"min_version": -2, "max_version": -1}, INVALID_REQUEST),
        (busy, {"max_version": 0}, REQUEST_TIMED_OUT),
        (new_leader, {"max_version": 0}, REQUEST_TIMED_OUT),
        (uncommitted, {"max_version": 0}, REQUEST_TIMED_OUT),
        (waiting_to_be_written, {"max_version": 0}, REQUEST_TIMED_OUT),
        (nothing, {"voter_id": 9, "max_version": 0}, INVALID_REQUEST),
        (nothing, {"voter_id": 9}, VOTER_NOT_FOUND),
        (nothing, {"directory_id": key(2, 2).directory_id}, VOTER_NOT_FOUND),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_an_update_is_refused_and_the_leader_named(prepare: Callable[[Quorum, int], int], changes: dict[str, Any], error: int):
    quorum, leader = settled()
    quorum.run(3_000)
    request = update(quorum, 2, **changes)
    response = quorum.ask(prepare(quorum, leader), request)
    assert isinstance(response, UpdateRaftVoterResponse) and response.error == error
    assert (response.leader_id, response.epoch) == (leader, quorum.nodes[leader].epoch)
    assert response.leader_endpoint == endpoint(leader)


# From level 0 to level 1


def upgraded(quorum: Quorum, validate_only: bool = False) -> int | None:
    leader = quorum.leader()
    assert leader is not None
    return leader.upgrade_kraft_version(leader.epoch, 1, validate_only)


def test_a_static_quorum_becomes_a_dynamic_one_with_every_voters_own_words():
    quorum, leader = settled(Quorum.static, [4])
    quorum.run(5_000)
    assert len({request.voter_id for request in sent(quorum, UpdateRaftVoterRequest)}) == 2
    assert upgraded(quorum, validate_only=True) is None and quorum.nodes[leader].kraft_version == 0
    end = quorum.nodes[leader].log_end
    assert upgraded(quorum) == end + 1
    quorum.commit(b"after")
    expected = VoterSet([voter(1), voter(2), voter(3)])
    assert {node.voters for node in quorum.nodes.values()} == {expected}
    assert {node.kraft_version for node in quorum.nodes.values()} == {1}
    node = quorum.nodes[leader]
    assert node.partition.voters_at(end) is None and node.partition.voters_at(end + 1) == expected
    # It is a dynamic quorum: voters come and go, and elections need directory ids.
    quorum.ask(leader, AddRaftVoterRequest(CLUSTER, 4, key(4).directory_id, {"CONTROLLER": endpoint(4)}, 1))
    quorum.run(5_000)
    assert quorum.answers["client"] == AddRaftVoterResponse(NONE, None)
    quorum.stop(leader)
    assert quorum.elect().local_id != leader
    quorum.start(leader)
    quorum.commit(b"again")
    assert {node.voters.ids for node in quorum.nodes.values()} == {(1, 2, 3, 4)}


def test_each_new_leader_is_told_anew_at_level_0():
    quorum, leader = settled(Quorum.static)
    quorum.run(5_000)
    quorum.cut = {leader}
    assert quorum.run(20_000, lambda: (new := quorum.leader()) is not None and new.local_id != leader)
    quorum.cut = set()
    quorum.sent.clear()
    quorum.run(10_000)
    assert len(sent(quorum, UpdateRaftVoterRequest)) == 2
    assert upgraded(quorum) is not None


def test_an_upgrade_waits_for_every_voters_directory_id():
    quorum, leader = settled(Quorum.static)
    follower = follower_of(quorum, leader)
    quorum.nodes[leader].role.volatile_voters = None
    with pytest.raises(InvalidUpdateVersionError, match=rf"voter {follower} does not support kraft\.version 1"):
        upgraded(quorum)
    node = quorum.nodes[leader]
    own, rest = voter(leader), [id for id in (1, 2, 3) if id != leader]
    node.role.volatile_voters = VoterSet([own, *(Voter(ReplicaKey(id), {"CONTROLLER": endpoint(id)}, 0, 1) for id in rest)])
    with pytest.raises(InvalidUpdateVersionError, match="has not told its directory id yet"):
        upgraded(quorum)


def test_an_upgrade_that_is_done_or_under_way_is_none_and_a_lower_level_or_another_epoch_is_refused():
    quorum, leader = settled(Quorum.static)
    quorum.run(5_000)
    node = quorum.nodes[leader]
    with pytest.raises(NotLeaderError):
        node.upgrade_kraft_version(node.epoch - 1, 1, False)
    with pytest.raises(NotLeaderError):
        quorum.nodes[follower_of(quorum, leader)].upgrade_kraft_version(node.epoch, 1, False)
    with pytest.raises(InvalidUpdateVersionError, match=r"does not support kraft\.version 2"):
        node.upgrade_kraft_version(node.epoch, 2, False)
    assert node.upgrade_kraft_version(node.epoch, 0, False) is None
    assert upgraded(quorum) is not None and upgraded(quorum) is None
    quorum.commit(b"x")
    assert upgraded(quorum) is None
    with pytest.raises(InvalidUpdateVersionError, match="cannot become 0"):
        node.upgrade_kraft_version(node.epoch, 0, False)
    assert [value for _, value in controls(quorum, leader) if isinstance(value, KRaftVersion)] == [KRaftVersion(1)]


def controls(quorum: Quorum, id: int) -> list[tuple[int, Any]]:
    log = quorum.disks[id].log
    return check_fetched(log.read(0, log.end_offset, 1 << 30), 0, 0, 1 << 30).controls


def test_a_leader_from_before_updates_at_level_0_is_not_asked_again():
    quorum, leader = settled(Quorum.static)
    quorum.run(100)
    quorum.sent.clear()
    refused: list[int] = []

    def handle_update(source: int, target: int, message: Any) -> bool:
        if isinstance(message, UpdateRaftVoterRequest):
            refused.append(source)
        return False

    quorum.lost = handle_update
    node = quorum.nodes[follower_of(quorum, leader)]
    node.role.has_updated_leader = False
    quorum.run(2_100)
    # What an old leader's connection says: no version fits.
    awaited = node.connections.sent(leader, pump.endpoint(leader), update(quorum, node.local_id), quorum.now)
    node.role.has_updated_leader = False
    quorum.take(node.local_id, node.handle_failure(leader, awaited, UNSUPPORTED_VERSION, quorum.now))
    assert node.role.has_updated_leader
    refused.clear()
    quorum.run(10_000)
    assert node.local_id not in refused


# Auto-join


def test_a_controller_joins_by_itself_and_then_keeps_quiet():
    quorum, leader = settled(others=[])
    quorum.start(4, bootstrap_servers=(endpoint(1), endpoint(2)), auto_join=True)
    assert quorum.run(20_000, lambda: all(4 in node.voters for node in quorum.nodes.values()))
    [request] = sent(quorum, AddRaftVoterRequest)
    assert not request.ack_when_committed and request.timeout_ms == quorum.configs[4].request_timeout_ms
    quorum.sent.clear()
    quorum.run(20_000)
    assert not sent(quorum, AddRaftVoterRequest) and not sent(quorum, RemoveRaftVoterRequest)
    assert quorum.nodes[leader].state_name == "leader"


def test_a_controller_joins_when_its_application_has_all_that_is_committed(monkeypatch: pytest.MonkeyPatch):
    quorum, leader = settled(others=[])
    consume = quorum._consume
    handed: list[tuple[int, int, int]] = []
    monkeypatch.setattr(quorum, "_consume", lambda *given: handed.append(given) if given[0] == 4 else consume(*given))
    quorum.start(4, bootstrap_servers=(endpoint(1), endpoint(2)), auto_join=True)
    quorum.run(20_000)
    node = quorum.nodes[4]
    assert node.log_end == quorum.nodes[leader].log_end and not node.has_applied_all()
    assert not sent(quorum, AddRaftVoterRequest)
    monkeypatch.setattr(quorum, "_consume", consume)
    consume(*handed[-1])
    assert quorum.run(20_000, lambda: all(4 in node.voters for node in quorum.nodes.values()))


def test_a_controller_with_a_new_disk_removes_its_old_self_first():
    quorum, leader = settled()
    replaced = follower_of(quorum, leader)
    quorum.stop(replaced)
    del quorum.disks[replaced]
    quorum.start(replaced, disk=2, bootstrap_servers=(endpoint(leader),), auto_join=True)
    assert quorum.run(30_000, lambda: all(node.voters.is_voter(key(replaced, 2)) for node in quorum.nodes.values()))
    assert [request.directory_id for request in sent(quorum, RemoveRaftVoterRequest)] == [key(replaced).directory_id]
    assert sent(quorum, AddRaftVoterRequest)[-1].directory_id == key(replaced, 2).directory_id


def test_an_observer_without_the_setting_never_joins():
    quorum, leader = settled(others=[4])
    quorum.run(20_000)
    assert not sent(quorum, AddRaftVoterRequest) and 4 not in quorum.nodes[leader].voters


def test_a_voter_that_was_removed_while_it_runs_joins_again():
    quorum, leader = settled(auto_join=True)
    follower = follower_of(quorum, leader)
    quorum.ask(leader, RemoveRaftVoterRequest(CLUSTER, follower, key(follower).directory_id))
    quorum.run(1_000)
    assert quorum.answers["client"] == RemoveRaftVoterResponse(NONE, None)
    assert quorum.run(20_000, lambda: follower in quorum.nodes[leader].voters)


def test_a_controller_that_is_refused_goes_on_fetching_and_asks_once_a_period():
    quorum, leader = settled(fetch_timeout_ms=1_000)

    def refuse(source: int, target: int, message: Any) -> bool:
        if isinstance(message, AddRaftVoterRequest):
            quorum.nodes[target].config = replace(quorum.configs[target], cluster_id="another")
        elif isinstance(message, AddRaftVoterResponse):
            quorum.nodes[source].config = quorum.configs[source]
            assert message.error == INCONSISTENT_CLUSTER_ID
        return False

    quorum.lost = refuse
    quorum.start(4, bootstrap_servers=(endpoint(1), endpoint(2), endpoint(3)), auto_join=True, fetch_timeout_ms=1_000)
    quorum.run(10_000)
    quorum.sent.clear()
    for number in range(10):
        quorum.run(1_000)
        quorum.commit(b"%d" % number)
    assert 5 <= len(sent(quorum, AddRaftVoterRequest)) <= 11
    assert quorum.nodes[4].log_end == quorum.nodes[leader].log_end


@pytest.mark.parametrize(
    ("response", "restarts"),
    [
        (AddRaftVoterResponse(NONE), True),
        (AddRaftVoterResponse(REQUEST_TIMED_OUT), True),
        (AddRaftVoterResponse(DUPLICATE_VOTER), True),
        (AddRaftVoterResponse(VOTER_NOT_FOUND), False),
        (AddRaftVoterResponse(INVALID_REQUEST), False),
        (RemoveRaftVoterResponse(NONE), True),
        (RemoveRaftVoterResponse(REQUEST_TIMED_OUT), True),
        (RemoveRaftVoterResponse(VOTER_NOT_FOUND), True),
        (RemoveRaftVoterResponse(DUPLICATE_VOTER), False),
        (RemoveRaftVoterResponse(UNSUPPORTED_VERSION), False),
    ],
)
def test_an_answer_to_an_auto_join_restarts_the_period_or_backs_off(response: Any, restarts: bool):
    quorum, leader = settled(others=[4])
    node = quorum.nodes[4]
    request: Any = AddRaftVoterRequest if isinstance(response, AddRaftVoterResponse) else RemoveRaftVoterRequest
    asked = request(CLUSTER, 4, key(4).directory_id, *(({}, 1) if request is AddRaftVoterRequest else ()))
    quorum.lost = lambda source, target, message: isinstance(message, FetchRequest)
    quorum.run(600)
    awaited = node.connections.sent(leader, pump.endpoint(leader), asked, quorum.now)
    node.role.update_deadline_ms = quorum.now
    quorum.take(4, node.handle_response(leader, awaited, response, quorum.now))
    if restarts:
        assert node.role.update_deadline_ms == quorum.now + node.config.fetch_timeout_ms
    assert node.connections.is_backing_off(leader, quorum.now) == (not restarts)


def asked_update(**others: Any) -> tuple[Solo, Send]:
    """A follower of voter 3 whose update is in flight."""
    solo = Solo(ElectionState(6, 3), log_of(1, 4), **others)
    for _ in range(40):
        solo.wait(100)
        if found := solo.take(UpdateRaftVoterRequest):
            return solo, found[-1][0]
        for send, _ in solo.take(FetchRequest):
            solo.answer(send, fetched(3, 6, high_watermark=2))
    raise AssertionError("no update was sent")


@pytest.mark.parametrize(
    ("error", "is_fine"), [(NONE, True), (UNSUPPORTED_VERSION, True), (REQUEST_TIMED_OUT, False), (INVALID_UPDATE_VERSION, False)]
)
def test_an_answer_to_an_update_counts_as_hearing_from_the_leader_unless_it_refuses(error: int, is_fine: bool):
    solo, send = asked_update()
    solo.wait(100)
    solo.answer(send, UpdateRaftVoterResponse(error, 3, 6, pump.endpoint(3)))
    assert solo.node.connections.is_backing_off(3, solo.now_ms) is not is_fine
    solo.sent.clear()
    solo.node.connections.reset()
    patience_ms = solo.node.role.fetch_timeout_ms  # type: ignore[union-attr]
    solo.wait(patience_ms - 50)
    assert (solo.node.state_name == "follower") is is_fine
    # A leader that was told at level 0 is not told again.
    assert not (is_fine and solo.take(UpdateRaftVoterRequest))


def test_an_answer_to_an_update_that_comes_when_another_leader_is_looked_for_changes_nothing():
    solo, send = asked_update(request_timeout_ms=60_000)
    solo.wait_for("prospective")
    solo.answer(send, UpdateRaftVoterResponse(NONE, 3, 6, pump.endpoint(3)))
    assert solo.node.state_name == "prospective" and not solo.node.complaints


def test_an_observer_does_not_ask_to_join_while_voters_cannot_change() -> None:
    quorum = Quorum.static([1, 2, 3], [4], auto_join=True)
    quorum.elect()
    quorum.run(10_000)
    assert quorum.nodes[4].state_name == "follower"
    assert not [message for _, _, message in quorum.sent if isinstance(message, AddRaftVoterRequest)]
