"""The rules of plans, on any cluster."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.rehearse.placement import Broker, Cluster, Goals, Partition, PlacementError, as_placement, make_plan, measure
from tests.rehearse.placement.random_clusters import GOALS, random_cluster

seeds = st.integers(min_value=1000, max_value=1 << 40)


def planned(cluster: Cluster, goals: Goals = GOALS) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(partition.topic, partition.partition): replicas for partition, replicas in make_plan(cluster, goals)}


def with_plan(cluster: Cluster, plan: dict[tuple[str, int], tuple[int, ...]]) -> Cluster:
    partitions = (one._replace(replicas=plan.get((one.topic, one.partition), one.replicas)) for one in cluster.partitions)
    return cluster._replace(partitions=tuple(partitions))


@given(seeds)
def test_replicas_stay_distinct_and_as_many_and_leave_what_is_left(seed: int) -> None:
    cluster = random_cluster(seed)
    takes = {broker.id for broker in cluster.brokers if broker.takes}
    before = {(one.topic, one.partition): one for one in cluster.partitions}
    plan = planned(cluster)
    for key, replicas in plan.items():
        assert len(set(replicas)) == len(replicas) == len(before[key].replicas)
        assert set(replicas) <= takes and not before[key].is_fixed
        assert replicas != before[key].replicas
    after = measure(cluster, GOALS, plan)
    assert after.left_behind == after.racks_missing == 0


@given(seeds)
def test_nothing_moves_where_a_plan_was_carried_out(seed: int) -> None:
    cluster = random_cluster(seed)
    after = with_plan(cluster, planned(cluster))
    assert measure(after, GOALS, planned(after)).replicas_moved == 0


@given(seeds)
def test_no_single_move_makes_a_topic_more_even(seed: int) -> None:
    """The racks of a partition are kept, so this holds for uneven ones too."""
    cluster = random_cluster(seed)
    after = with_plan(cluster, planned(cluster))
    rack = {broker.id: broker.rack for broker in cluster.brokers}
    takes = [broker.id for broker in cluster.brokers if broker.takes]
    rack_count = len({rack[id] for id in takes}) if None not in {rack[id] for id in takes} else 1
    counts: dict[str, dict[int, int]] = {}
    for one in after.partitions:
        for id in one.replicas:
            counts.setdefault(one.topic, {}).setdefault(id, 0)
            counts[one.topic][id] += 1
    for one in after.partitions:
        for source in one.replicas if not one.is_fixed else ():
            for target in takes:
                others = {rack[id] for id in one.replicas if id != source} | {rack[target]}
                if target not in one.replicas and len(others) >= min(len(one.replicas), rack_count):
                    assert counts[one.topic].get(target, 0) >= counts[one.topic][source] - 1


@given(seeds)
def test_the_order_of_partitions_does_not_matter(seed: int) -> None:
    cluster = random_cluster(seed)
    mixed = list(cluster.partitions)
    random.Random(seed).shuffle(mixed)
    assert planned(cluster) == planned(cluster._replace(partitions=tuple(mixed)))


def striped(brokers: int, partitions: int, factor: int) -> tuple[Partition, ...]:
    return tuple(Partition("orders", p, tuple((p + place) % brokers + 1 for place in range(factor)), 100) for p in range(partitions))


def test_leaving_a_broker_moves_what_it_has_and_nothing_else() -> None:
    brokers = tuple(Broker(id, None, id != 3, id == 3) for id in range(1, 7))
    cluster = Cluster(brokers, striped(6, 12, 3))
    after = measure(cluster, GOALS, planned(cluster))
    assert (after.replicas_moved, after.bytes_moved, after.replica_spread, after.leader_spread) == (6, 600, 1, 1)


def test_a_new_broker_gets_its_share_and_no_more_is_moved() -> None:
    cluster = Cluster(tuple(Broker(id) for id in range(1, 5)), striped(3, 12, 2))
    after = measure(cluster, GOALS, planned(cluster))
    assert (after.replicas_moved, after.replica_spread, after.leader_spread) == (6, 0, 0)


def test_leaders_become_even_without_moving_data() -> None:
    partitions = tuple(Partition("orders", p, (1, 2, 3)) for p in range(9))
    after = measure(cluster := Cluster(tuple(map(Broker, (1, 2, 3))), partitions), GOALS, planned(cluster))
    assert (after.replicas_moved, after.leader_spread) == (0, 0)


def test_without_goals_only_what_has_to_moves() -> None:
    partitions = tuple(Partition("orders", p, (1, 2)) for p in range(10))
    brokers = (Broker(1), Broker(2, None, False, True), Broker(3), Broker(4))
    plan = planned(Cluster(brokers, partitions), Goals(topics=False, replicas=False, leaders=False))
    assert sorted(plan.values()) == [(1, 3)] * 5 + [(1, 4)] * 5


def test_racks_are_mended_and_the_leader_stays() -> None:
    brokers = tuple(Broker(id, f"r{id % 2}") for id in range(1, 5))
    cluster = Cluster(brokers, (Partition("orders", 0, (1, 3)),))
    (replicas,) = planned(cluster, Goals(topics=False, replicas=False, leaders=False)).values()
    assert replicas[0] == 1 and replicas[1] in (2, 4)
    assert planned(cluster, Goals(racks=False)) == {}


def test_a_small_partition_moves_rather_than_a_large_one() -> None:
    partitions = tuple(Partition("orders", p, (1,), size) for p, size in enumerate((900, 10, 500, 20)))
    assert set(planned(Cluster((Broker(1), Broker(2)), partitions))) == {("orders", 1), ("orders", 3)}


def test_of_two_brokers_with_as_many_replicas_the_one_with_fewer_bytes_gets_the_next() -> None:
    for sizes, target in (((900, 10), 3), ((10, 900), 2)):
        partitions = [Partition("p", number, (1,), 20) for number in range(3)]
        partitions += [Partition("q", 0, (2,), sizes[0]), Partition("q", 1, (3,), sizes[1])]
        plan = planned(Cluster((Broker(1), Broker(2), Broker(3)), tuple(partitions)), Goals(topics=False))
        assert list(plan.values()) == [(target,)]


def test_a_broker_that_takes_nothing_keeps_what_it_has() -> None:
    brokers = (Broker(1), Broker(2, takes=False), Broker(3))
    cluster = Cluster(brokers, tuple(Partition("orders", p, (2, 1)) for p in range(4)))
    plan = planned(cluster)
    assert all(2 in replicas and replicas[0] != 2 for replicas in plan.values())
    assert as_placement(make_plan(cluster, GOALS)) == plan


def test_too_few_brokers_are_named() -> None:
    brokers = (Broker(1), Broker(2), Broker(3, None, False, True))
    cluster = Cluster(brokers, (Partition("orders", 7, (1, 2, 3)),))
    with pytest.raises(PlacementError, match="orders:7 has 3 replicas, and only 2 brokers may take them"):
        make_plan(cluster)
    with pytest.raises(PlacementError, match="no broker can take"):
        make_plan(Cluster((Broker(1, None, False, True),), ()))
    with pytest.raises(PlacementError, match="orders:0: broker 9 is not known"):
        make_plan(Cluster((Broker(1),), (Partition("orders", 0, (9,)),)))
