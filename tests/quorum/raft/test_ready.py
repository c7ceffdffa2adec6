"""What a replica says of its own log is on disk: votes are won and batches committed by it.
What is outstanding at each destination."""

from __future__ import annotations

import ast
from pathlib import Path

import metashell.quorum.raft
from metashell.quorum.raft.messages import ApiVersionsRequest, FetchRequest, VoteRequest
from metashell.quorum.raft.ready import NEVER, PAUSES_MAX, Connections, ElectionState
from tests.quorum.raft.pump import key
from tests.quorum.raft.solo import Solo, batches, fetched, log_of, vote

EPOCH = 5
AT = ("five", 5)


def unsynced() -> Solo:
    """A follower of node 9 in epoch 5 whose disk has two of its four batches."""
    solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4))
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, batches(2, 4, 5), 3))
    assert (solo.log.end_offset, solo.log.flushed_offset, solo.flush_to) == (4, 2, 4)
    return solo


def test_nobody_is_asked_for_a_vote_before_the_log_is_durable() -> None:
    solo = unsynced().stand()
    solo.wait(500)
    assert not solo.take(VoteRequest) and not solo.take(FetchRequest)
    solo.flush()
    asked = solo.take(VoteRequest)
    assert [(message.pre_vote, message.last_offset, message.last_epoch) for _, message in asked] == [(True, 4, 5)] * 2


def test_a_log_whose_sync_hangs_asks_for_nothing_however_long_it_takes() -> None:
    solo = unsynced()
    solo.wait(60_000)
    assert solo.node.epoch == EPOCH and not solo.take(VoteRequest)
    assert solo.take(FetchRequest) == []


def test_what_a_power_cut_took_is_not_voted_for_again() -> None:
    """Offsets 2 and 3 are committed by nodes 2 and 3; node 1 had them in its cache only, and then has them no more."""
    solo = unsynced().stand()
    solo.log.lose_unflushed()
    again = Solo(solo.election, solo.log)
    assert again.node.state_name in ("follower", "unattached") and not again.take(VoteRequest)
    other = Solo(ElectionState(EPOCH, -1, key(2)), log_of(3, 4, 4, 5))
    assert not other.ask(vote(2, EPOCH, last_epoch=4, last_offset=2)).granted, "it voted for that key when its log was longer"


def test_a_proof_is_made_in_one_place_and_claims_leave_by_one_door() -> None:
    """mypy refuses a claim without a proof; this finds who would make a proof up."""
    calls: dict[str, set[str]] = {}
    for path in Path(metashell.quorum.raft.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                calls.setdefault(name, set()).add(path.name)
    assert calls["DurableEnd"] == calls["UncountedEnd"] == calls["Send"] == {"replica.py"}
    assert calls["_send"] == {"replica.py"}
    assert calls["send_claim"] == {"elections.py", "fetch.py"}


SERVERS = ((-2, ("a", 1)), (-3, ("b", 2)), (-4, ("c", 3)))


def connections(first: int = 0) -> Connections:
    return Connections(2_000, 20, SERVERS, first)


def test_one_request_is_in_flight_at_a_destination() -> None:
    found = connections()
    assert found.is_ready(5, 100)
    correlation_id = found.sent(5, AT, ApiVersionsRequest(), 100)
    assert not found.is_ready(5, 2_099) and found.ready_at(5, 101) == 2_100 and found.has_in_flight(2_099)
    awaited = found.find_awaited(5, correlation_id)
    assert awaited is not None and (awaited.request, awaited.endpoint) == (ApiVersionsRequest(), AT)
    assert found.find_awaited(5, correlation_id + 1) is None and found.find_awaited(6, correlation_id) is None
    found.succeeded(5)
    assert found.is_ready(5, 101) and found.find_awaited(5, correlation_id) is None


def test_what_is_awaited_for_too_long_is_ready_again() -> None:
    found = connections()
    found.sent(5, AT, ApiVersionsRequest(), 100)
    assert found.has_timed_out(5, 2_100) and found.is_ready(5, 2_100) and not found.has_in_flight(2_100)
    assert found.in_flight_until(100) == 2_100 and found.in_flight_until(2_100) == NEVER


def test_a_failure_is_followed_by_a_pause() -> None:
    found = connections()
    correlation_id = found.sent(5, AT, ApiVersionsRequest(), 100)
    found.failed(5, 150)
    assert found.is_backing_off(5, 169) and not found.is_ready(5, 169) and not found.has_in_flight(169)
    assert found.find_awaited(5, correlation_id) is None
    assert found.is_ready(5, 170) and not found.is_backing_off(5, 170)


def test_correlation_ids_are_never_used_twice_by_two_that_are_awaited() -> None:
    found = connections()
    ids = [found.sent(destination, AT, ApiVersionsRequest(), 0) for destination in range(50)]
    found.reset()
    ids += [found.sent(destination, AT, ApiVersionsRequest(), 0) for destination in range(50)]
    assert len(set(ids)) == 100 and min(ids) >= 0


def test_bootstrap_servers_take_turns_and_rest_after_a_failure() -> None:
    found = connections(first=1)
    asked = []
    for now_ms in (0, 1, 2):
        server = found.ready_bootstrap(now_ms)
        assert server is not None
        asked.append(server[0])
        found.sent(server[0], AT, ApiVersionsRequest(), now_ms)
        assert found.ready_bootstrap(now_ms) is None  # something is in flight
        found.failed(server[0], now_ms)
    assert asked == [-3, -4, -2]
    assert found.ready_bootstrap(3) is None and found.bootstrap_ready_at(3) == 20
    assert found.ready_bootstrap(20) == SERVERS[1]


def test_without_bootstrap_servers_there_is_nobody_to_ask() -> None:
    found = Connections(2_000, 20, (), 0)
    assert found.ready_bootstrap(0) is None and found.bootstrap_ready_at(0) == NEVER and not found.has_bootstrap


def test_the_first_of_several_requests_to_time_out_is_waited_for() -> None:
    found = connections()
    for now_ms in (100, 200, 300):
        found.sent(now_ms, AT, ApiVersionsRequest(), now_ms)
    assert found.in_flight_until(300) == 2_100 and found.in_flight_until(2_100) == 2_200


def test_of_very_many_that_failed_those_whose_pause_is_over_are_forgotten() -> None:
    found = connections()
    for destination in range(PAUSES_MAX):
        found.sent(destination, AT, ApiVersionsRequest(), 100)
        found.failed(destination, 100)
    for destination, now_ms in ((10_000, 115), (10_001, 130)):
        found.sent(destination, AT, ApiVersionsRequest(), now_ms)
        found.failed(destination, now_ms)
    assert set(found.entries) == {10_000, 10_001}
    assert found.is_backing_off(10_000, 131) and found.is_backing_off(10_001, 131)
