"""What a replica says of its own log is on disk: votes are won and batches committed by it."""

from __future__ import annotations

import ast
from pathlib import Path

import metashell.quorum.raft
from metashell.quorum.raft.messages import FetchRequest, VoteRequest
from metashell.quorum.raft.ready import ElectionState
from tests.quorum.raft.pump import key
from tests.quorum.raft.solo import Solo, batches, fetched, log_of, vote

EPOCH = 5


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
