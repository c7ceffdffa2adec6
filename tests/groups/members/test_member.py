"""Whatever happens to members and their coordinator: nobody raises, and once it is over the group settles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec import error_codes
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.decision import Answer, Request, error_body
from metashell.groups.members.member import MemberMachine
from tests.groups.driven import SeededChance
from tests.groups.members.life import BROKER, Life, topics_named

CODES = (
    error_codes.COORDINATOR_LOAD_IN_PROGRESS,
    error_codes.COORDINATOR_NOT_AVAILABLE,
    error_codes.NOT_COORDINATOR,
    error_codes.ILLEGAL_GENERATION,
    error_codes.UNKNOWN_MEMBER_ID,
    error_codes.REBALANCE_IN_PROGRESS,
    error_codes.FENCED_MEMBER_EPOCH,
    error_codes.STALE_MEMBER_EPOCH,
    error_codes.UNKNOWN_SERVER_ERROR,
    error_codes.INCONSISTENT_GROUP_PROTOCOL,
    error_codes.FENCED_INSTANCE_ID,
)
NAMES = st.sampled_from("abcd")
ACTIONS = st.one_of(
    st.tuples(st.just("join"), NAMES, st.booleans()),
    st.tuples(st.just("close"), NAMES),
    st.tuples(st.just("kill"), NAMES),
    st.tuples(st.just("stall"), NAMES, st.integers(1, 6_000)),
    st.tuples(st.just("cut"), NAMES, st.integers(1, 9_000)),
    st.tuples(st.just("enforce"), NAMES),
    st.tuples(st.just("subscribe"), NAMES, st.sampled_from([("t",), ("t", "u"), ("u",)])),
    st.tuples(st.just("topics"), st.just(""), st.integers(1, 3)),
    st.tuples(st.just("refuse"), NAMES, st.sampled_from(CODES), st.integers(1, 4)),
    st.tuples(st.just("fail over"), st.just("")),
)
STEPS = st.lists(st.tuples(ACTIONS, st.integers(0, 2_500)), min_size=3, max_size=14)


class Disturbed(Life):
    """Shape: `refusals` has the codes that a member's next answers are turned into."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.refusals: dict[str, list[int]] = {}

    def _answers(self, answers: list[Any]) -> None:
        super()._answers([self._refused(answer) for answer in answers])

    def _refused(self, answer: Answer) -> Answer:
        name, send = self._tickets[answer.ticket]
        codes = self.refusals.get(name)
        if not codes:
            return answer
        request = Request(answer.ticket, send.api_key, send.version, send.body)
        return Answer(answer.ticket, error_body(request, codes.pop()))


def disturb(life: Disturbed, action: tuple[Any, ...], assignors: str, counts: list[int]) -> None:
    match action:
        case ("join", name, is_static) if name not in life.members:
            counts.append(1)
            more = {"instance_id": f"i{name}"} if is_static else {}
            if not assignors:
                more["member_id"] = f"{name}{len(counts):0>21}"
            life.join(name, ("t",), assignors, max_poll_interval_ms=5_000, **more)
        case ("topics", _, count):
            life.change_topics(topics_named(life.topics.version + 1, t=count_of(life, "t") + count, u=2), changed=("t",))
        case ("fail over", _):
            life._answers(life.shard.coordinator.unloaded(life.now_ms))
            life.shard = Shard(GroupCoordinator(BROKER, SeededChance(len(life.seen)), life.topics), life.shard.written, life.now_ms)
        case (verb, name, *more) if name in life.members and verb != "join":
            match verb, more:
                case "subscribe", [topics]:
                    life.subscribe(name, *topics)
                case "refuse", [code, count]:
                    life.refusals[name] = [code] * count
                case "stall", [ms]:
                    life.stall(name, ms)
                case "cut", [ms]:
                    life.cut(name, ms)
                case _:
                    getattr(life, verb)(name)


def is_well(member: MemberMachine) -> bool:
    return not member.is_over and not member._closing


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["range", "sticky", "cooperative-sticky", "range,cooperative-sticky", ""]), STEPS)
def test_a_group_settles_whatever_happened_to_it(assignors: str, steps: list[tuple[Any, int]]) -> None:
    life = Disturbed(topics_named(t=6, u=2))
    counts: list[int] = []
    for action, wait_ms in ((("join", "a", False), 700), (("join", "b", False), 0), *steps):
        disturb(life, action, assignors, counts)
        life.run(wait_ms)
    life.refusals.clear()
    life.run(40_000)
    well = {name: member for name, member in life.members.items() if is_well(member)}
    if well:
        wanted = {(topic, number) for member in well.values() for topic in member.subscription for number in range(count_of(life, topic))}  # type: ignore[attr-defined]
        owned = sorted(partition for member in well.values() for partition in member.owned)
        assert owned == sorted(wanted), {name: (member.state, member.generation) for name, member in well.items()}  # type: ignore[attr-defined]
        for member in well.values():
            assert set(member.positions) == set(member.owned)
            assert not member.is_called and not member.giving_up


def count_of(life: Life, topic: str) -> int:
    found = life.topics.named(topic)
    return 0 if found is None else found.partition_count
