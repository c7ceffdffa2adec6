"""25 000 answers to a replica's own requests, many of them spoilt: nothing is raised, and only batches that a leader made reach its log.

`make soak` spoils eight times as many.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE
from metashell.common.errors import DecodeError
from metashell.net.frames import decode_response as read_response
from metashell.net.frames import encode_response
from metashell.quorum.raft.messages import Request, Response
from metashell.quorum.raft.wire import OURS, api_key_of, decode_response
from metashell.quorum.raft.wire import encode_response as response_to
from tests.fuzz.frames import spoilt
from tests.quorum.raft.pump import Host, Pump, settings

ANSWERS = 100_000 if os.environ.get("METASHELL_SOAK") else 12_500
A_WORLD_MS = 20_000
EPOCH_FIELD = slice(12, 16)
"""The leader epoch of a batch: the only field, with the base offset, that its CRC does not cover."""


class HostilePump(Pump):
    """Answers to replica 1 are now and then spoilt on their way, doubled, or another's."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.chance = random.Random(seed)
        self.spoilt = self.undecodable = 0
        self.made: set[bytes] = set()

    def answer(self, source: Host, origin: Host, destination: int, correlation_id: int, response: Response) -> None:
        chance = self.chance
        if origin.id != 1 or chance.random() < 0.4:
            return super().answer(source, origin, destination, correlation_id, response)
        self.spoilt += 1
        for _ in range(chance.choice((1, 1, 1, 2))):
            changed = self.through_the_wire(response)
            if changed is None:
                self.undecodable += 1
                origin.step(lambda: origin.node.handle_failure(destination, correlation_id, BROKER_NOT_AVAILABLE, self.now_ms))
            else:
                super().answer(source, origin, destination, correlation_id, changed)
        return None

    def through_the_wire(self, response: Response) -> Response | None:
        chance = self.chance
        key = api_key_of(response)
        version = chance.randint(*OURS[key])
        data = encode_response(key, version, 7, response_to(response, version))
        while True:
            body = spoilt(chance, data[4:])
            try:
                _, message = read_response(body, key, version)
            except DecodeError:
                if chance.random() < 0.05:
                    return None
                continue
            return decode_response(key, version, message)

    def deliver(self, target: Host, source: Host, token: Any, request: Request) -> None:
        super().deliver(target, source, token, request)
        if self.leads(target) and self.chance.random() < 0.1:
            target.append(self.chance.randbytes(9))
        for host in self.hosts.values():
            if self.leads(host):
                self.made.update(without_epoch(host.log.batches(max(0, host.log.end_offset - 20))))

    def leads(self, host: Host) -> bool:
        return host.node.state_name == "leader"


def without_epoch(batches: list[tuple[int, int, int, bytes]]) -> Iterator[bytes]:
    for *_, data in batches:
        yield data[: EPOCH_FIELD.start] + data[EPOCH_FIELD.stop :]


@pytest.mark.slow
@pytest.mark.parametrize("seed", (1, 2))
def test_spoilt_answers_never_raise_and_bring_nothing_into_the_log_that_no_leader_made(seed: int) -> None:
    spoilt_count = undecodable = world = complaints = 0
    while spoilt_count < ANSWERS:
        world += 1
        pump = HostilePump(seed * 1_000 + world)
        pump.start(settings(1), settings(2), settings(3))
        victim = pump.hosts[1]
        pump.run(A_WORLD_MS)
        assert set(without_epoch(victim.log.batches())) <= pump.made
        assert victim.node.high_watermark is None or victim.node.high_watermark <= victim.log.end_offset
        spoilt_count += pump.spoilt
        undecodable += pump.undecodable
        complaints += victim.node.complaints
    assert undecodable < spoilt_count // 2
    assert complaints > 100
