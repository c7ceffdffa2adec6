"""Our core answers as Kafka 4.3.1 did, where the answer is a function of the state and the state can be told from the capture.

All requests of raft's APIs that were captured with their answers are asked again. What is not a function of the state is named where it
is left aside: where Kafka's segments end, the order in which it lists observers and granted votes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from metashell.codec.codes import API_VERSIONS
from metashell.codec.registry import message_type
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import OURS
from metashell.quorum.raft.voters import LeaderChange
from tests.golden_cases import wire_frames
from tests.quorum.raft import captured
from tests.quorum.raft.captured import Exchange, exchanges
from tests.quorum.raft.rebuilt import RebuiltLeader, rebuilt

ELECTIONS = (flat.VoteRequest, flat.BeginQuorumEpochRequest, flat.EndQuorumEpochRequest)
EPOCHS = (1, 2, 4, 5)
"""Nobody was elected in epoch 3."""


def of(*classes: type) -> list[Exchange]:
    return [exchange for exchange in exchanges() if isinstance(exchange.request, classes)]


def asked_for_their_state() -> list[Exchange]:
    """What is answered by what the controller knows, not by what is in its log."""
    return of(*ELECTIONS) + [exchange for exchange in of(flat.FetchRequest) if exchange.response.error]


def led(epoch: int, *classes: type) -> list[Exchange]:
    """What the leader of an epoch answered without an error."""
    return [exchange for exchange in of(*classes) if not exchange.response.error and exchange.response.epoch == epoch]


def assert_answers_as_captured(exchange: Exchange) -> None:
    """In one of the states in which the controller may have been meanwhile: most often there is only one."""
    assert exchange.target is not None
    answers = [rebuilt(exchange.target, view).answer_to(exchange) for view in captured.views(exchange)]
    assert exchange.response in answers, (exchange, answers)


def test_votes_and_begins_and_ends_of_epochs_are_answered_as_captured() -> None:
    asked = of(*ELECTIONS)
    for exchange in asked:
        assert_answers_as_captured(exchange)
    votes = [exchange for exchange in asked if isinstance(exchange.request, flat.VoteRequest)]
    assert {(vote.request.pre_vote, vote.response.granted) for vote in votes} == {
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    }


def test_a_fetch_with_an_error_is_answered_as_captured() -> None:
    asked = [exchange for exchange in of(flat.FetchRequest) if exchange.response.error]
    for exchange in asked:
        assert_answers_as_captured(exchange)
    assert len({(exchange.response.error, exchange.response.leader_id) for exchange in asked}) > 2


def test_most_often_there_is_one_state_that_a_controller_may_have_been_in() -> None:
    counts = [len(captured.views(exchange)) for exchange in asked_for_their_state()]
    assert counts.count(1) / len(counts) > 0.9


@pytest.mark.parametrize("epoch", EPOCHS)
def test_a_leader_answers_fetches_and_changes_of_voters_as_captured_and_writes_the_same_log(epoch: int) -> None:
    leader = RebuiltLeader(epoch)
    changes = list(leader.changes)
    for exchange in led(epoch, flat.FetchRequest, flat.FetchSnapshotRequest):
        if isinstance(exchange.request, flat.FetchSnapshotRequest):
            assert leader.answer_to(exchange) == exchange.response
            continue
        answer = leader.answer_to_fetch(exchange)
        theirs = without_granting(exchange.response.records)
        # Kafka reads from one segment at a time, ours says what there is.
        assert without_granting(answer.records)[: len(theirs)] == theirs and bool(answer.records) == bool(theirs), exchange
        assert replace(answer, records=b"") == replace(exchange.response, records=b""), exchange
    for exchange in changes:
        assert [reply.message for reply in leader.replies if reply.token is exchange] == [exchange.response]
    batches = [batch for batch in captured.log() if batch.epoch == epoch and not batch.is_filler]
    assert len(batches) > 1
    for batch in batches:
        written = leader.log.read(batch.base_offset, batch.end_offset, len(batch.data))
        assert without_granting(written) == without_granting(batch.data), batch


def without_granting(records: bytes) -> list[Any]:
    """Batches, those that begin an epoch without the order of the granted votes, which differs from run to run of Kafka."""
    found: list[Any] = []
    for batch in captured.split(records):
        first = batch.controls[0] if batch.controls else None
        if isinstance(first, LeaderChange):
            values = [replace(first, granting=tuple(sorted(first.granting))), *batch.controls[1:]]
            found.append((batch.base_offset, batch.epoch, batch.timestamp, len(batch.data), values))
        else:
            found.append(batch.data)
    return found


def test_a_leader_describes_the_quorum_as_captured() -> None:
    asked = of(flat.DescribeQuorumRequest)
    for exchange in asked:
        answer = RebuiltLeader(exchange.response.epoch).description(exchange)
        assert with_sorted_observers(answer) == with_sorted_observers(exchange.response)
    assert {exchange.response.epoch for exchange in asked} == set(EPOCHS)


def with_sorted_observers(response: flat.DescribeQuorumResponse) -> flat.DescribeQuorumResponse:
    """Kafka keeps them in a hash map."""
    return replace(response, observers=tuple(sorted(response.observers, key=lambda state: state.id)))


def test_versions_are_those_of_the_captured_controllers() -> None:
    answers = [frame for frame in wire_frames() if frame["api_key"] == API_VERSIONS and frame["dir"] == "response"]
    asked = [frame for frame in answers if captured.controller_of(frame["from"]) is not None]
    for frame in asked:
        message = message_type("response", "ApiVersionsResponse").read(bytes.fromhex(frame["hex"]), frame["api_version"], 4)
        ranges = {api.api_key: (api.min_version, api.max_version) for api in message.api_keys}
        # They are controllers of 4.3.1; 4.4 brought another version of ApiVersions, and nothing else.
        assert {key: ranges[key] for key in OURS} == {**OURS, API_VERSIONS: (0, 4)}
    assert len(asked) > 1


def test_every_captured_answer_is_one_of_those_that_were_compared() -> None:
    compared = asked_for_their_state() + of(flat.DescribeQuorumRequest)
    for epoch in EPOCHS:
        compared += led(epoch, flat.FetchRequest, flat.FetchSnapshotRequest)
    assert len(compared) + len(captured.changes()) == len(exchanges())
