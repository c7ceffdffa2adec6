"""Messages that make a Kafka replica die: ours survives each of them, and sends none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST, NONE, UNKNOWN_LEADER_EPOCH
from metashell.codec.messages import KRaftVersionRecord
from metashell.common.errors import UnknownRecordError
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.ready import ElectionState, Send
from tests.quorum.raft.pump import Pump, endpoint, settings
from tests.quorum.raft.solo import Solo, batches, begin, end, fetch, fetched, log_of, page, vote

EPOCH = 6
LEADER = 3


def follower() -> Solo:
    """A follower whose log has 3 batches, of which 2 are committed."""
    solo = Solo(ElectionState(EPOCH, LEADER), log_of(1, 4, 4))
    solo.answer(solo.next_fetch(), fetched(LEADER, EPOCH, high_watermark=2))
    return solo


def survives(solo: Solo, response: Any) -> None:
    """The answer to the fetch in flight is refused: nothing changes, and the connection pauses."""
    before = (solo.election, solo.node.log_end_offset, solo.node.high_watermark, solo.node.complaints)
    send = solo.take(FetchRequest)[-1][0]
    solo.answer(send, response)
    assert (solo.election, solo.node.log_end_offset, solo.node.high_watermark) == before[:3]
    assert solo.node.complaints == before[3] + 1 and solo.node.last_complaint
    assert solo.node.connections.is_backing_off(send.destination, solo.now_ms)
    assert solo.node.state_name == "follower"


# 1


def test_an_answer_that_a_request_was_malformed_is_survived() -> None:
    survives(follower(), FetchResponse(0, INVALID_REQUEST, LEADER, EPOCH, endpoint(LEADER)))


# 2


@pytest.mark.parametrize("leader_id", [1, 2])
@pytest.mark.parametrize("error", [NONE, 6, 74])
def test_a_response_that_names_another_leader_is_survived(leader_id: int, error: int) -> None:
    survives(follower(), FetchResponse(0, error, leader_id, EPOCH, endpoint(leader_id)))


def test_a_response_that_names_this_replica_leader_of_a_later_epoch_is_survived() -> None:
    survives(follower(), FetchResponse(0, 6, 1, EPOCH + 1, endpoint(1)))


@pytest.mark.parametrize("leader_id", [1, 2])
@pytest.mark.parametrize("request_of", [begin, end])
def test_a_request_that_names_another_leader_is_survived(request_of: Any, leader_id: int) -> None:
    solo = follower()
    response = solo.ask(request_of(leader_id, EPOCH))
    assert response.error not in (NONE, INVALID_REQUEST) and response.leader_id == -1 and solo.node.leader_id == LEADER


def test_nobody_is_told_that_it_leads_when_it_asks() -> None:
    solo = follower()
    assert solo.ask(vote(LEADER, EPOCH, 4, 9, pre_vote=True)).leader_id == -1
    assert solo.ask(fetch(LEADER, EPOCH, 3, 4)).leader_id == -1
    assert solo.ask(page(LEADER, EPOCH, OffsetAndEpoch(1, 1), 0)).leader_id == -1
    assert solo.ask(vote(2, EPOCH, 4, 9, pre_vote=True)).leader_id == LEADER


# 3


def test_a_leader_without_endpoints_is_survived_in_a_response_and_in_a_request() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    solo.answer(solo.next_fetch(), FetchResponse(0, 6, 9, EPOCH + 1))
    assert solo.election == ElectionState(EPOCH + 1, 9) and solo.node.state_name == "unattached"
    # By a request, only a voter is taken for a leader, and where a voter is, is known.
    for request in (begin(8, EPOCH + 2, endpoints={}), end(7, EPOCH + 3)):
        assert solo.ask(request).error == UNKNOWN_LEADER_EPOCH
        assert solo.election == ElectionState(EPOCH + 1, 9) and solo.node.state_name == "unattached"
    solo.ask(begin(2, EPOCH + 2, endpoints={}))
    assert solo.election == ElectionState(EPOCH + 2, 2) and solo.node.state_name == "follower"


def test_endpoints_without_the_own_listener_are_survived() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4))
    assert solo.ask(begin(3, EPOCH + 1, endpoints={"OTHER": ("three", 3)})).error == NONE
    solo.poll()
    # The voter set has the listener.
    assert [(send.destination, send.endpoint) for send, _ in solo.take(FetchRequest)][-1] == (3, endpoint(3))


def test_no_leader_is_named_whose_endpoint_is_not_known() -> None:
    solo = Solo(ElectionState(EPOCH, 9), log_of(1, 4))
    for request in (vote(2, EPOCH, 4, 9), fetch(2, EPOCH, 2, 4), page(2, EPOCH, OffsetAndEpoch(1, 1), 0)):
        response = solo.ask(request)
        assert (response.leader_id, response.leader_endpoint, response.epoch) == (-1, None, EPOCH)
    # One on a listener that the leader did not tell of is as good as none.
    known = follower()
    ready = known.node.handle_request("token", vote(2, EPOCH, 4, 9), "OTHER", known.now_ms)
    known.work(ready)
    answer = known.replies[-1].message
    assert isinstance(answer, VoteResponse) and answer.leader_id == -1


# 4


def test_a_divergence_below_what_is_committed_is_survived() -> None:
    survives(follower(), fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(1, 1)))
    survives(follower(), fetched(LEADER, EPOCH, diverging=OffsetAndEpoch(0, 0)))


def test_a_high_watermark_that_went_back_is_survived() -> None:
    survives(follower(), fetched(LEADER, EPOCH, high_watermark=1))


def test_a_snapshot_of_less_than_what_is_committed_is_survived() -> None:
    survives(follower(), fetched(LEADER, EPOCH, snapshot_id=OffsetAndEpoch(1, 1)))
    survives(follower(), fetched(LEADER, EPOCH, snapshot_id=OffsetAndEpoch(9, -1)))
    survives(follower(), fetched(LEADER, EPOCH, snapshot_id=OffsetAndEpoch(-1, 9)))


# 5


def bad_batches() -> Iterator[Any]:
    good = batches(3, 4)
    yield pytest.param(batches(4, 4), id="a gap")
    yield pytest.param(batches(2, 4), id="an overlap")
    yield pytest.param(batches(3, 4) + batches(3, 4), id="the same offset twice")
    yield pytest.param(batches(3, 3), id="an epoch that went back")
    yield pytest.param(good[:-1], id="a batch that is cut off")
    yield pytest.param(good[:-1] + b"x", id="a wrong sum")
    yield pytest.param(b"nonsense", id="no batch")
    yield pytest.param(b"\xff" * 200, id="a negative length")
    yield pytest.param(good[:16] + b"\x01" + good[17:], id="an old magic")
    for type in (0, 1, 3, 4, 99):
        record = Record(3, 1, bytes((0, 0, 0, type)), b"\0\0\0\0\0\0\0\0\0\0\0\0")
        yield pytest.param(write_batch(3, [record], leader_epoch=4, is_control=True), id=f"control records of type {type}")
    headers = Record(3, 1, b"\0\0\0\5", b"\0\0\0\1\0", ((("name"), b"value"),))
    yield pytest.param(write_batch(3, [headers], leader_epoch=4, is_control=True), id="headers")
    late = Record(3, 5, b"\0\0\0\5", b"\0\0\0\1\0")
    yield pytest.param(write_batch(3, [late], leader_epoch=4, is_control=True, base_timestamp=1), id="a timestamp delta")
    yield pytest.param(write_batch(3, [Record(3, 1, None, b"x")], leader_epoch=4, is_transactional=True), id="a transaction")


@pytest.mark.parametrize("records", list(bad_batches()))
def test_batches_that_do_not_belong_there_are_survived(records: bytes) -> None:
    solo = follower()
    before = solo.log.read(0, 3, 1 << 20)
    survives(solo, fetched(LEADER, EPOCH, records, 3))
    assert solo.log.read(0, 99, 1 << 20) == before


def test_a_level_of_kraft_version_that_is_not_supported_ends_a_replica_once_it_is_committed() -> None:
    key, value = write_control_record(5, KRaftVersionRecord(k_raft_version=2))
    records = write_batch(3, [Record(3, 1, key, value)], leader_epoch=4, is_control=True)
    survives(follower(), fetched(LEADER, EPOCH, records, 3))
    solo = follower()
    with pytest.raises(UnknownRecordError, match=r"offset 3: kraft\.version 2 is not supported: 0 to 1 are; no release up to"):
        solo.answer(solo.take(FetchRequest)[-1][0], fetched(LEADER, EPOCH, records, 4))
    assert solo.node.log_end_offset == 3


def test_an_unknown_type_of_control_record_ends_a_replica_once_it_is_committed() -> None:
    records = write_batch(3, [Record(3, 1, b"\0\0\0\x09", b"\0\0")], leader_epoch=4, is_control=True)
    survives(follower(), fetched(LEADER, EPOCH, records, 3))
    solo = follower()
    with pytest.raises(UnknownRecordError, match="offset 3: control record type 9 is not known"):
        solo.answer(solo.take(FetchRequest)[-1][0], fetched(LEADER, EPOCH, records, 4))
    assert solo.node.log_end_offset == 3


# 6: other pages than asked for are in test_fetch_client


def test_a_page_when_none_is_pending_is_survived() -> None:
    solo = follower()
    send = solo.take(FetchRequest)[-1][0]
    response = FetchSnapshotResponse(0, NONE, LEADER, EPOCH, endpoint(LEADER), OffsetAndEpoch(9, 4), 5, 0, b"12345")
    solo.answer(send, response)
    assert solo.node.complaints == 1 and solo.node.state_name == "follower" and not solo.log.snapshots()


# 7


def test_a_denied_authorization_is_survived() -> None:
    survives(follower(), FetchResponse(CLUSTER_AUTHORIZATION_FAILED))


# 8


def test_contradictory_votes_and_votes_of_strangers_are_survived() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4)).run_for_office()
    asked = solo.take(VoteRequest)[-2:]
    solo.answer(asked[0][0], VoteResponse(0, NONE, -1, EPOCH + 1, granted=False))
    correlation_id = solo.node.connections.sent(2, endpoint(2), asked[0][1], solo.now_ms)
    solo.answer(Send(2, endpoint(2), correlation_id, asked[0][1]), VoteResponse(0, NONE, -1, EPOCH + 1, granted=True))
    assert solo.node.state_name == "candidate" and solo.node.complaints == 1
    correlation_id = solo.node.connections.sent(9, endpoint(9), asked[0][1], solo.now_ms)
    solo.answer(Send(9, endpoint(9), correlation_id, asked[0][1]), VoteResponse(0, NONE, -1, EPOCH + 1, granted=True))
    assert solo.node.state_name == "candidate" and solo.node.complaints == 2


def test_an_acknowledgement_of_a_stranger_is_survived() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(1, 4)).lead()
    message = solo.take(BeginQuorumEpochRequest)[0][1]
    correlation_id = solo.node.connections.sent(9, endpoint(9), message, solo.now_ms)
    solo.answer(Send(9, endpoint(9), correlation_id, message), BeginQuorumEpochResponse(0, NONE, 1, EPOCH + 1, endpoint(1)))
    assert solo.node.state_name == "leader"


# 9


def test_a_leader_that_was_remembered_without_endpoints_is_followed_by_its_answer_to_a_fetch() -> None:
    solo = Solo(ElectionState(EPOCH, 9), log_of(1, 4))
    assert solo.node.state_name == "unattached" and solo.node.leader_id == 9
    solo.answer(solo.next_fetch(), fetched(9, EPOCH, batches(2, 4), 3))
    assert solo.node.state_name == "follower" and solo.election == ElectionState(EPOCH, 9)
    solo.answer(solo.next_fetch(), fetched(9, EPOCH, batches(2, 4), 3))
    assert (solo.node.log_end_offset, solo.node.high_watermark) == (3, 3)


def test_such_a_leader_without_endpoints_in_its_answer_is_survived() -> None:
    solo = Solo(ElectionState(EPOCH, 9), log_of(1, 4))
    solo.answer(solo.next_fetch(), fetched(9, EPOCH, batches(2, 4), 3, leader_endpoint=None))
    assert solo.node.state_name == "unattached" and solo.node.log_end_offset == 2


# What ours sends


class Auditor(Pump):
    """Looks at each message as it leaves for what would kill a Kafka replica that gets it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.checked = 0

    def post(self, source: Any, message: Any) -> None:
        target = self.host_at(message.endpoint) if isinstance(message, Send) else message.token[0]
        if target is None or not target.is_up:
            pass
        elif isinstance(message, Send):
            self.check_request(source, message.message, target)
        else:
            self.check_response(source, message.message, target)
        super().post(source, message)

    def check_request(self, source: Any, request: Request, target: Any) -> None:
        self.checked += 1
        role = target.node.role
        match request:
            case VoteRequest():
                is_before = request.last_epoch <= request.epoch if request.pre_vote else request.last_epoch < request.epoch
                assert is_before and request.last_offset >= 0 <= request.last_epoch and request.candidate_id == source.id
            case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
                assert request.leader_id == source.id != target.id and (request.endpoints or source.id in target.node.voters)
                assert request.epoch != role.epoch or role.leader_id in (-1, source.id)
            case FetchRequest():
                assert 0 <= request.last_epoch <= request.epoch and request.fetch_offset >= 0
            case FetchSnapshotRequest():
                assert request.position >= 0

    def check_response(self, source: Any, response: Any, target: Any) -> None:
        self.checked += 1
        if isinstance(response, VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse):
            assert not response.top_error and response.error != INVALID_REQUEST
        elif not isinstance(response, UpdateRaftVoterResponse):
            return
        role = target.node.role
        if response.leader_id >= 0 and response.epoch >= role.epoch:
            assert response.leader_endpoint is not None
            if response.leader_id == target.id:
                assert response.epoch == role.epoch and role.name in ("leader", "resigned")
            assert response.epoch > role.epoch or role.leader_id in (-1, response.leader_id)
        if isinstance(response, FetchResponse) and response.epoch == role.epoch and target.node.high_watermark is not None:
            assert response.diverging is None or response.diverging.offset >= target.node.high_watermark
            assert response.high_watermark == -1 or response.high_watermark >= min(target.node.high_watermark, target.node.log_end)


@pytest.mark.parametrize("seed", range(6))
def test_none_of_these_is_sent_while_leaders_come_and_go(seed: int) -> None:
    pump = Auditor(seed)
    pump.start(*(settings(id) for id in (1, 2, 3)))
    for round in range(8):
        assert pump.run(30_000, pump.has_leader)
        leader = pump.leader()
        assert leader is not None
        leader.append(b"%d" % round)
        pump.run(100)
        if round % 3 == 0:
            pump.cut.add(leader.id)
            leader.append(b"lost")
            pump.run(4_000)
            pump.cut.clear()
        elif round % 3 == 1:
            pump.restart(leader.id)
        else:
            leader.node.resign(leader.node.epoch)
            pump.run(10)
    assert pump.run(30_000, pump.has_leader)
    assert pump.checked > 200 and not any(host.node.complaints for host in pump.hosts.values())
