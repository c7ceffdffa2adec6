"""Invariants of consumer groups: a partition has one owner, epochs do not go back, and in the end all members have their targets."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.groups.consumer import STABLE, UNRELEASED, UNREVOKED
from tests.groups.consumer.world import SETTINGS, Client, World, walk
from tests.quick import quick

EXAMPLES = 1_000 if os.environ.get("METASHELL_SOAK") else 50


def walked(seed: int, steps: int, assignor: str = "uniform", interval_ms: int = 0) -> World:
    kind = replace(SETTINGS.consumer, assignors=(assignor, "range"), assignment_interval_ms=interval_ms)
    world = World(replace(SETTINGS, consumer=kind))
    walk(world, random.Random(seed), steps)
    return world


@pytest.mark.parametrize(("assignor", "interval_ms"), quick([("uniform", 1000), ("range", 1000), ("uniform", 0), ("range", 0)]))
@given(seed=st.integers(0, 10**9))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_walk_breaks_an_invariant_and_every_group_settles(assignor: str, interval_ms: int, seed: int) -> None:
    world = walked(seed, 60, assignor, interval_ms)
    world.settle(6)
    world.check()
    if assignor == "uniform" and not any(client.regex for client in world.clients):
        world.check_settled()


def test_three_members_come_to_their_targets_as_the_worked_trace_says() -> None:
    """The example of KIP-848, with every epoch one higher: here the first member raises the group's epoch to 2."""
    world = World(topics=(("t", 6),))
    a, b, c = (Client(name, ["t"]) for name in "abc")
    world.clients = [a, b, c]
    world.beat(a)
    world.take_over(a)
    world.beat(b)
    assert world.group is not None
    members = world.group.members
    assert (members["a"].epoch, members["a"].state, len(members["a"].assigned)) == (2, STABLE, 1)
    assert (members["b"].epoch, members["b"].state, dict(members["b"].assigned)) == (3, UNRELEASED, {})
    world.beat(a)
    assert members["a"].state == UNREVOKED
    world.beat(c)
    world.take_over(a)
    world.beat(a)
    world.settle()
    world.check()
    world.check_settled()
    assert {client.name: sorted(partition for _, partition in client.owned) for client in world.clients} == {
        "a": [0, 1],
        "b": [3, 4],
        "c": [2, 5],
    }


def test_a_client_that_does_not_revoke_keeps_others_waiting_but_shares_nothing() -> None:
    world = World(topics=(("t", 4),))
    slow, other = Client("slow", ["t"]), Client("other", ["t"])
    world.clients = [slow, other]
    world.beat(slow)
    world.take_over(slow)
    world.beat(other)
    for _ in range(5):
        world.beat(slow)
        world.beat(other)
        world.take_over(other)
        world.check()
    assert len(slow.owned) == 4 and not other.owned
    world.settle()
    world.check_settled()


def test_a_member_is_described_with_its_topics_in_order_and_what_it_has_yet_to_give_up() -> None:
    world = World(topics=(("b", 2), ("a", 2)))
    first, second = Client("first", ["b", "a"]), Client("second", ["b", "a"])
    world.clients = [first, second]
    world.beat(first)
    world.take_over(first)
    world.beat(second)
    world.beat(first)
    assert world.group is not None
    found = {member.member_id: member for member in world.group.description(world.shard.coordinator.state.topics).members}
    one, other = found["first"], found["second"]
    assert (one.topics, one.epoch, other.epoch) == (("a", "b"), 2, 3)
    shown = [{topic: tuple(numbers) for topic, numbers in parts} for parts in (one.assigned, one.revoking, one.target, other.target)]
    kept, revoked, wanted, others = shown
    assert wanted == kept and revoked == others and len(revoked) > 0 and other.assigned == ()
