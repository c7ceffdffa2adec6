"""Whatever a peer says, the node stays a node: nothing raises, and what is committed or durable stays true."""

from __future__ import annotations

import dataclasses
import typing
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.values import ZERO_UUID, OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft import messages
from metashell.quorum.raft.messages import HIGH_WATERMARK_NOT_SENT, Request
from metashell.quorum.raft.ready import ElectionState, Send
from tests.quorum.raft.pump import directory, endpoint
from tests.quorum.raft.solo import Solo, batches, log_of

REQUESTS = typing.get_args(messages.Request)
RESPONSES = typing.get_args(messages.Response)
ANSWERS = {request: getattr(messages, request.__name__.replace("Request", "Response")) for request in REQUESTS}
ERRORS = (-1, 0, 0, 0, 0, 3, 6, 7, 8, 13, 31, 35, 42, 74, 75, 94, 98, 99, 104, 125, 126, 127, 999, -77)
SMALL = (-2, -1, 0, 0, 1, 1, 2, 3, 3, 4, 5, 6, 6, 6, 7, 9)
EDGES = (0x7FFFFFFF, -0x80000000, (1 << 63) - 1, -(1 << 63))
START = ("unattached", "follower", "candidate", "leader", "resigned", "prospective", "observer")


class Speaker:
    """Makes messages up, of values near those of the node it talks to."""

    def __init__(self, seed: int, solo: Solo) -> None:
        self.random = Random(seed)
        self.solo = solo

    def number(self) -> int:
        if self.random.random() < 0.5:
            return self.random.choice((self.solo.node.epoch, self.solo.node.log_end_offset, self.solo.node.epoch + 1))
        return self.random.choice(EDGES if self.random.random() < 0.03 else SMALL)

    def message(self, message_class: type) -> Any:
        return message_class(**{field.name: self.value(field.name) for field in dataclasses.fields(message_class)})

    def value(self, name: str) -> Any:
        random = self.random
        match name:
            case "cluster_id":
                return random.choice(("cluster", "cluster", "cluster", None, "", "another"))
            case "top_error":
                return random.choice(ERRORS) if random.random() < 0.1 else 0
            case "error":
                return random.choice(ERRORS)
            case "shape_ok" | "is_known_partition":
                return random.random() < 0.95
            case "granted" | "pre_vote" | "ack_when_committed":
                return random.random() < 0.5
            case "leader_endpoint":
                return random.choice((None, endpoint(2), endpoint(3), endpoint(9)))
            case "endpoints":
                return random.choice(({}, {"CONTROLLER": endpoint(3)}, {"OTHER": ("x", 1)}, {"CONTROLLER": ("y", 2), "OTHER": ("x", 1)}))
            case "diverging" | "snapshot_id":
                return random.choice((None, OffsetAndEpoch(self.number(), self.number()))) if name == "diverging" else self.snapshot_id()
            case "records":
                return random.choice((b"", b"", self.batches(), random.randbytes(random.randrange(90))))
            case "candidates":
                return tuple(ReplicaKey(self.number(), directory(id)) for id in range(random.randrange(4)))
            case "voters" | "observers" | "nodes" | "unknown":
                return ()
            case "partitions":
                return random.choice((((("__cluster_metadata", 0),)), (("other", 1), ("other", 2)), ()))
            case "kraft_versions":
                return random.choice((None, (0, 1), (0, 0), (1, 0)))
            case "message":
                return None
            case _ if name.endswith("directory_id"):
                return random.choice((ZERO_UUID, directory(1), directory(2), directory(3)))
            case "high_watermark":
                return random.choice((self.number(), HIGH_WATERMARK_NOT_SENT))
            case _:
                return self.number()

    def snapshot_id(self) -> OffsetAndEpoch:
        return OffsetAndEpoch(self.number(), self.number())

    def batches(self) -> bytes:
        epoch = self.random.choice((self.solo.node.epoch, self.solo.node.last_epoch, 1))
        if not 0 < epoch < 0x7FFFFFFF:
            epoch = 1
        return batches(max(0, self.solo.node.log_end_offset - self.random.choice((0, 0, 0, 1))), epoch, epoch)

    def speak(self) -> None:
        """Ask something, answer something, let something fail, or let time pass."""
        solo, random = self.solo, self.random
        kind = random.random()
        if kind < 0.45:
            request: Request = self.message(random.choice(REQUESTS))
            solo.ask(request, random.randrange(10))
        elif kind < 0.8 and solo.sent:
            self.respond(solo.sent.pop(random.randrange(len(solo.sent))))
        elif kind < 0.83 and solo.sent:
            solo.fail(solo.sent.pop(), random.choice((8, 13, 35)))
        elif kind < 0.9 and solo.log.end_offset > solo.node.durable_end:
            solo.flush()
        elif kind < 0.95:
            solo.node.forget(random.randrange(10))
            solo.work(
                solo.node.handle_response(random.choice((-2, 2, 3, 9)), random.randrange(20), self.message(random.choice(RESPONSES)), 0)
            )
        else:
            solo.now_ms += random.choice((1, 20, 500, 1_000, 3_500))
            solo.poll()

    def respond(self, send: Send) -> None:
        of_its_kind = self.random.random() < 0.9
        message_class = ANSWERS[type(send.message)] if of_its_kind else self.random.choice(RESPONSES)
        self.solo.answer(send, self.message(message_class))


def start(state: str) -> Solo:
    log = log_of(1, 1, 3)
    match state:
        case "leader":
            return Solo(ElectionState(5), log).lead()
        case "candidate":
            return Solo(ElectionState(5), log).run_for_office()
        case "prospective":
            return Solo(ElectionState(5), log).stand()
        case "follower" | "resigned":
            return Solo(ElectionState(5, 3 if state == "follower" else 1), log)
        case "observer":
            return Solo(ElectionState(5, 3), log, voters=(2, 3), is_controller=False)
        case _:
            return Solo(ElectionState(5), log)


def talk(state: str, seed: int, count: int) -> tuple[Solo, set[str]]:
    """Say `count` things to a node, and check after each what must hold; the states that it was in."""
    solo = start(state)
    speaker = Speaker(seed, solo)
    node = solo.node
    states = {node.state_name}
    committed, epoch, votes = 0, solo.election.epoch, {}
    for _ in range(count):
        speaker.speak()
        states.add(node.state_name)
        assert node.epoch >= epoch and solo.election.epoch == node.epoch
        assert node.committed >= committed and (node.high_watermark is None or node.high_watermark <= node.log_end)
        assert node.log_end == solo.log.end_offset and node.durable_end <= node.log_end
        epoch, committed = node.epoch, node.committed
        if solo.election.voted is not None:
            assert votes.setdefault(epoch, solo.election.voted) == solo.election.voted
        starts = [entry[1] for entry in node.epochs.entries]
        assert starts == sorted(set(starts)) and solo.log.leader_epochs() == node.epochs.entries
    return solo, states


@pytest.mark.parametrize("state", START)
@given(seed=st.integers(0, 1 << 32))
def test_nothing_that_a_peer_says_raises(state: str, seed: int) -> None:
    talk(state, seed, 150)


def test_the_messages_reach_all_that_there_is_to_reach() -> None:
    """Made-up messages that were all refused at the door would show nothing."""
    seen: set[str] = set()
    complaints = 0
    for seed in range(40):
        # Where a node starts is no news.
        solo, states = talk("unattached", seed, 120)
        seen |= states
        complaints += solo.node.complaints
    assert seen >= {"unattached", "follower", "prospective", "candidate"} and complaints > 20
