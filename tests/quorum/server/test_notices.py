"""Each notice of a replica, once: peers that are not reached, complaints, changes of state, registrations that fail."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metashell.codec.error_codes import NONE
from metashell.codec.messages import FeatureLevelRecord, RegisterControllerRecord
from metashell.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from metashell.net.transport import ConnectionFailedError
from metashell.quorum.server import registration as module
from metashell.quorum.server.config import PeerSecurity
from metashell.quorum.server.event_queue import ServerEvent
from metashell.quorum.server.links import LINKS_MAX
from metashell.quorum.server.registration import Registration
from metashell.quorum.server.replica_server import ReplicaServer
from tests.coroutines import eventually
from tests.quorum.server.quorum import Quorum

HERE, THERE = ("a", 1), ("b", 2)
OWN, OTHER = b"own" + bytes(13), b"other" + bytes(11)


def reach(event: Any) -> tuple[str, bool]:
    assert isinstance(event, ServerEvent) and event.kind == "peer"
    return str(event), event.fields["reached"]


def test_a_peer_that_is_not_reached_is_told_once_for_each_reason_and_again_after_it_was_reached() -> None:
    told: list[str] = []
    server = ReplicaServer(SimpleNamespace(on_event=told.append, application=None))  # type: ignore[arg-type]
    for endpoint, reason in ((HERE, "refused"), (HERE, "refused"), (THERE, "refused"), (HERE, "no route"), (HERE, "no route")):
        server._on_trouble(endpoint, reason)
    for endpoint in (HERE, HERE, ("c", 3)):
        server._on_reached(endpoint)
    server._on_trouble(HERE, "no route")
    assert [reach(event) for event in told] == [
        ("a:1: refused", False),
        ("b:2: refused", False),
        ("a:1: no route", False),
        ("a:1: reached again", True),
        ("a:1: no route", False),
    ]


def test_what_is_remembered_of_peers_is_bounded() -> None:
    told: list[str] = []
    server = ReplicaServer(SimpleNamespace(on_event=told.append, application=None))  # type: ignore[arg-type]
    for number in range(3 * LINKS_MAX):
        server._on_trouble(("h", number), "refused")
        assert len(server._troubles) <= LINKS_MAX
    assert len(told) == 3 * LINKS_MAX


async def test_a_state_and_a_complaint_are_told_when_they_change(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        server, node = leader.running, leader.running.node
        states = [event for event in leader.events if isinstance(event, ServerEvent) and event.kind == "state"]
        assert [event.fields["state"] for event in states][-1] == "leader" and len({str(event) for event in states}) == len(states)
        count = len(leader.events)
        server._look()
        assert len(leader.events) == count
        node.complaints, node.last_complaint = 1, "it lies"
        server._look()
        server._look()
        (event,) = leader.events[count:]
        assert event == "complaint 1: it lies" and event.fields == {"number": 1, "what": "it lies"}  # type: ignore[attr-defined]
        await server.kill()
        node.complaints = 2
        server._look()
        assert len(leader.events) == count + 1


async def test_a_flood_of_complaints_is_told_in_one_line_in_a_while(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        server, node = leader.running, leader.running.node
        count = len(leader.events)
        for _ in range(6_300):
            node.complain("it lies")
            server._look()
        assert leader.events[count:] == ["complaint 1: it lies"]
        assert server._late_complaint is not None and server._late_complaint.when() == server._next_complaint_s
        server._next_complaint_s = 0.0
        server._look()
        assert leader.events[count + 1 :] == ["complaint 6300: it lies (the last of 6299 since the line before)"]


def image_of(level: int = 33, incarnation: bytes | None = None) -> MetadataImage:
    delta = MetadataDelta(EMPTY_IMAGE)
    delta.replay(FeatureLevelRecord(name="metadata.version", feature_level=level))
    if incarnation is not None:
        delta.replay(RegisterControllerRecord(controller_id=1, incarnation_id=incarnation))
    return delta.apply()


class Registering:
    """A registration whose tries come out as `outcomes` says, the last one for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *outcomes: Any, image: MetadataImage | None = None) -> None:
        self.image = image_of() if image is None else image
        self.leader: tuple[str, int] | None = THERE
        self.told: list[Any] = []
        self.closed: list[str] = []
        self.pauses: list[float] = []
        self.requests: list[Any] = []
        self._outcomes = list(outcomes)

        async def connect(address: Any, **options: Any) -> Any:
            outcome = self._outcomes[0] if len(self._outcomes) == 1 else self._outcomes.pop(0)
            if isinstance(outcome, BaseException):
                raise outcome

            async def request(message: Any, **options: Any) -> Any:
                self.requests.append(message)
                code, text = outcome
                if code == NONE:
                    self.image = image_of(incarnation=OWN)
                return SimpleNamespace(error_code=code, error_message=text)

            return SimpleNamespace(request=request, close=self.closed.append)

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        monkeypatch.setattr(module, "connect", connect)
        monkeypatch.setattr(module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        self.made = Registration(
            1, OWN, {"CONTROLLER": HERE}, {"CONTROLLER": "SASL_SSL"}, lambda: self.image, lambda: self.leader, PeerSecurity(),
            random.Random(1), self.told.append,
        )  # fmt: skip

    async def until_it_is_over(self) -> None:
        self.made.look()
        await eventually(lambda: self.made._task is None)


REFUSED = ConnectionFailedError("connection refused")


@pytest.mark.parametrize(
    ("level", "incarnation", "is_due"), [(14, None, False), (15, None, True), (33, OTHER, True), (33, OWN, False), (14, OTHER, False)]
)
def test_a_registration_is_due_where_the_cluster_takes_it_and_has_not_this_process(
    monkeypatch: pytest.MonkeyPatch, level: int, incarnation: bytes | None, is_due: bool
) -> None:
    assert Registering(monkeypatch, (NONE, None), image=image_of(level, incarnation)).made.is_due is is_due


async def test_one_failure_is_usual_and_the_second_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Registering(monkeypatch, REFUSED, (NONE, None))
    await one.until_it_is_over()
    assert one.told == [] and one.made.failed == 1
    one = Registering(monkeypatch, REFUSED, REFUSED, REFUSED, (41, None), (41, "not me"), (NONE, None))
    await one.until_it_is_over()
    start = "controller 1 cannot register with the active controller at b:2: "
    assert [reach(event) for event in one.told] == [
        (f"{start}connection refused", False),
        (f"{start}error 41", True),
        (f"{start}error 41 not me", True),
    ]
    assert (one.made.sent, one.made.failed, one.made.last_failure) == (6, 5, "error 41 not me")
    assert one.closed == ["done"] * 3
    assert [round(pause / 0.1) for pause in one.pauses] == [1, 2, 4, 8, 16] and len({pause / 0.1 % 1 for pause in one.pauses}) == 5


async def test_after_a_success_a_failure_is_the_first_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Registering(monkeypatch, REFUSED, REFUSED, (NONE, None), REFUSED, REFUSED, (NONE, None))
    for count in (1, 2):
        one.image = image_of()
        await one.until_it_is_over()
        assert len(one.told) == count, "the same words count again"
    assert one.requests[0].listeners[0].security_protocol == 3
    assert {feature.name for feature in one.requests[0].features} >= {"metadata.version", "kraft.version"}


async def test_pauses_grow_to_two_minutes_and_nobody_is_asked_while_nobody_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Registering(monkeypatch, *[REFUSED] * 15, (NONE, None))
    await one.until_it_is_over()
    assert all(abs(pause - 120) <= 2.4 for pause in one.pauses[11:]) and max(one.pauses[:11]) < 105
    one = Registering(monkeypatch, (NONE, None))
    one.leader = None
    one.made.look()
    assert one.made._task is None and one.made.sent == 0


async def test_what_is_closed_sends_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Registering(monkeypatch, REFUSED)
    one.made.look()
    first = one.made._task
    one.made.look()
    assert one.made._task is first, "one at a time"
    await one.made.close()
    one.made.look()
    assert one.made._task is first and one.made.sent == 0
    one = Registering(monkeypatch, REFUSED)
    await one.made.close()
    one.made.look()
    assert one.made._task is None and one.made.is_due
