"""Properties of every consistent group, whatever its members and topics: one owner for each partition, only subscribed topics, balance."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from metashell.groups.assignors import ClientMember, Partition
from metashell.groups.assignors.server import run_client_assignor_in_full
from metashell.groups.assignors.sticky import sticky_user_data
from metashell.groups.assignors.sticky_uneven import UnequalSubscriptionsBuilder

Topics = dict[str, list[tuple[str, ...]]]
Given = dict[str, list[Partition]]
SEEDS = range(60)


def group(seed: int) -> tuple[Topics, dict[str, tuple[str, ...]]]:
    """Topics, and what each member is subscribed to: all to the same in one case of two."""
    chance = random.Random(seed)
    topics: Topics = {f"t{number}": [()] * chance.randrange(1, 9) for number in range(chance.randrange(1, 6))}
    are_equal = chance.random() < 0.5
    wanted = {
        f"m{number}": tuple(topic for topic in topics if are_equal or chance.random() < 0.6) or ("t0",)
        for number in range(chance.randrange(1, 12))
    }
    return topics, wanted


def rounds(name: str, topics: Topics, wanted: dict[str, tuple[str, ...]], given: Given) -> Iterator[tuple[Given, set[Partition]]]:
    """Rebalances until one changes nothing: what each gave, and what it withheld."""
    for generation in range(1, 6):
        members = {
            member_id: ClientMember(
                subscribed,
                given[member_id] if name == "cooperative-sticky" and member_id in given else (),
                generation if member_id in given else -1,
                sticky_user_data(given[member_id], generation) if member_id in given else None,
            )
            for member_id, subscribed in wanted.items()
        }
        found = run_client_assignor_in_full(name, members, topics)
        every = {(topic, number) for subscribed in wanted.values() for topic in subscribed for number in range(len(topics[topic]))}
        held = [partition for partitions in found.partitions.values() for partition in partitions]
        assert len(held) == len(set(held)), "a partition has two owners"
        assert all(topic in wanted[member_id] for member_id, partitions in found.partitions.items() for topic, _ in partitions)
        withheld = every.difference(held)
        assert name == "cooperative-sticky" or not withheld
        for partition in withheld:
            assert any(partition in owned for owned in given.values()), "what nobody owned is given at once"
        for member_id, partitions in found.partitions.items():
            others = {partition for other, owned in given.items() if other != member_id for partition in owned if other in wanted}
            assert name != "cooperative-sticky" or others.isdisjoint(partitions), "another member still has it"
        yield found.partitions, withheld
        settled = {member_id: sorted(found.partitions[member_id]) for member_id in wanted}
        if settled == {member_id: sorted(owned) for member_id, owned in given.items()}:
            return
        given = found.partitions
    pytest.fail("the group does not settle")


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_settles_in_two_rounds_and_keeps_what_it_can(name: str, seed: int) -> None:
    topics, wanted = group(seed)
    chance = random.Random(seed)
    given: Given = {}
    for _ in range(3):
        found = list(rounds(name, topics, wanted, given))
        assert len(found) <= 3, "two rebalances, and one that changes nothing"
        given, withheld = found[-1]
        assert not withheld
        sizes = sorted(map(len, given.values()))
        if len(set(wanted.values())) == 1:
            assert sizes[-1] - sizes[0] <= 1
        # Somebody joins, or leaves.
        wanted = dict(wanted)
        if chance.random() < 0.5 and len(wanted) > 1:
            gone = chance.choice(sorted(wanted))
            del wanted[gone], given[gone]
        else:
            wanted[f"n{chance.randrange(10**6)}"] = chance.choice(sorted(wanted.values()))


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize("seed", SEEDS)
def test_who_gets_what_does_not_hang_on_the_order_of_members(name: str, seed: int) -> None:
    topics, wanted = group(seed)
    members = {member_id: ClientMember(subscribed) for member_id, subscribed in wanted.items()}
    turned = dict(reversed(members.items()))
    one, other = run_client_assignor_in_full(name, members, topics).partitions, run_client_assignor_in_full(name, turned, topics).partitions
    assert {member_id: sorted(partitions) for member_id, partitions in one.items()} == {
        member_id: sorted(partitions) for member_id, partitions in other.items()
    }


def test_balance_is_seen_at_once_as_by_a_look_at_every_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def both(self: UnequalSubscriptionsBuilder) -> bool:
        loads = self._loads
        seen.append(loads.is_balanced())
        assert seen[-1] == loads.is_balanced_by(self._hash_order)
        return seen[-1]

    monkeypatch.setattr(UnequalSubscriptionsBuilder, "_is_balanced", both)
    for seed in range(200):
        topics, wanted = group(seed)
        claimed: set[Partition] = set()
        members = {}
        for member_id, subscribed in wanted.items():
            mine = [(topic, number) for topic in subscribed for number in range(len(topics[topic])) if (topic, number) not in claimed]
            claimed.update(mine)
            members[member_id] = ClientMember(subscribed, mine, 1)
        run_client_assignor_in_full("cooperative-sticky", members, topics)
    assert seen.count(True) > 50 and seen.count(False) > 50
