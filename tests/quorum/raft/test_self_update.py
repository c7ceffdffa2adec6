"""What an answer to its own update does to the follower that sent it."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import INVALID_UPDATE_VERSION, NONE, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION
from metashell.quorum.raft.messages import AddRaftVoterRequest, FetchRequest, UpdateRaftVoterRequest, UpdateRaftVoterResponse
from metashell.quorum.raft.ready import ElectionState, Send
from tests.quorum.raft.pump import endpoint
from tests.quorum.raft.quorum import Quorum
from tests.quorum.raft.solo import Solo, fetched, log_of


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
    solo.answer(send, UpdateRaftVoterResponse(error, 3, 6, endpoint(3)))
    assert solo.node.connections.is_backing_off(3, solo.now_ms) is not is_fine
    solo.sent.clear()
    solo.node.connections.reset()
    solo.wait(1_950)
    assert (solo.node.state_name == "follower") is is_fine
    # A leader that was told at level 0 is not told again.
    assert not (is_fine and solo.take(UpdateRaftVoterRequest))


def test_an_answer_to_an_update_that_comes_when_another_leader_is_looked_for_changes_nothing():
    solo, send = asked_update(request_timeout_ms=60_000)
    solo.wait_for("prospective")
    solo.answer(send, UpdateRaftVoterResponse(NONE, 3, 6, endpoint(3)))
    assert solo.node.state_name == "prospective" and not solo.node.complaints


def test_an_observer_does_not_ask_to_join_while_voters_cannot_change() -> None:
    quorum = Quorum.static([1, 2, 3], [4], auto_join=True)
    quorum.elect()
    quorum.run(10_000)
    assert quorum.nodes[4].state_name == "follower"
    assert not [message for _, _, message in quorum.sent if isinstance(message, AddRaftVoterRequest)]
