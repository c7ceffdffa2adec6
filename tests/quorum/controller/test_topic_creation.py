"""Where replicas go, whatever brokers there are."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.error_codes import INVALID_REPLICATION_FACTOR
from metashell.metadata.image import BrokerRegistration
from metashell.quorum.controller.decision import ApiError
from metashell.quorum.controller.topic_creation import Placer, UsableBroker

BROKERS = st.lists(
    st.tuples(st.sampled_from((None, "a", "b", "c")), st.booleans()),
    min_size=1,
    max_size=9,
).map(lambda drawn: [UsableBroker(id, rack, fenced) for id, (rack, fenced) in enumerate(drawn)])


@given(BROKERS, st.integers(1, 9), st.integers(0, 1000))
def test_replicas_are_distinct_and_the_leader_is_live(brokers: list[UsableBroker], factor: int, seed: int) -> None:
    placer = Placer(brokers, random.Random(seed))
    fenced = {broker.id for broker in brokers if broker.fenced}
    if factor > len(brokers) or len(fenced) == len(brokers):
        with pytest.raises(ApiError) as raised:
            placer.check(factor)
        assert raised.value.code == INVALID_REPLICATION_FACTOR
        return
    placer.check(factor)
    for _ in range(20):
        replicas = placer.place(factor)
        assert len(set(replicas)) == factor
        assert replicas[0] not in fenced


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 1000))
def test_racks_lead_equally_often_and_each_has_a_replica(per_rack: int, racks: int, seed: int) -> None:
    brokers = [UsableBroker(rack * 10 + number, str(rack), False) for rack in range(racks) for number in range(per_rack)]
    placer = Placer(brokers, random.Random(seed))
    leading: Counter[int] = Counter()
    for _ in range(len(brokers) * 3):
        replicas = placer.place(racks)
        leading[replicas[0] // 10] += 1
        assert len({id // 10 for id in replicas}) == racks

    assert set(leading.values()) == {per_rack * 3}


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_in_one_rack_brokers_lead_and_follow_equally_often(count: int, factor: int, seed: int) -> None:
    placer = Placer([UsableBroker(id, None, False) for id in range(count)], random.Random(seed))
    placed = [placer.place(min(factor, count)) for _ in range(count * 3)]
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(range(count), 3)
    assert Counter(id for replicas in placed for id in replicas) == dict.fromkeys(range(count), 3 * min(factor, count))


def test_the_same_chance_places_the_same_way() -> None:
    brokers = [UsableBroker(id, "ab"[id % 2], id == 5) for id in range(6)]
    first, second = (Placer(brokers, random.Random(7)) for _ in range(2))

    assert [first.place(3) for _ in range(30)] == [second.place(3) for _ in range(30)]


@pytest.mark.parametrize(
    ("directories", "cordoned", "expected"),
    [
        ((b"a", b"b"), None, False),
        ((b"a", b"b"), (b"a",), False),
        ((b"a", b"b"), (b"b", b"a"), True),
        ((), (b"a",), False),
        ((b"a",), (), False),
    ],
)
def test_a_broker_is_cordoned_when_all_its_directories_are(
    directories: tuple[bytes, ...], cordoned: tuple[bytes, ...] | None, expected: bool
) -> None:
    assert BrokerRegistration(1, 0, bytes(16), directories=directories, cordoned_directories=cordoned).is_cordoned is expected
