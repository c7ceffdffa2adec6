"""The costs of a plan for each broker."""

from __future__ import annotations

from metashell.rehearse.placement import Broker, Cluster, Goals, Measures, Partition, measure
from metashell.rehearse.placement.working_plan import Load, plan_loads, seconds_at

CLUSTER = Cluster(
    (Broker(3), Broker(1, "a"), Broker(2, "b")),
    (Partition("p", 0, (1, 2), 700), Partition("p", 1, (2, 1), 30), Partition("q", 0, (2,), 5)),
)


def test_loads_count_what_each_broker_has_gets_and_sends() -> None:
    plan = {("p", 0): (3, 1), ("p", 1): (1, 3)}
    loads = plan_loads(CLUSTER, plan)
    # Copies come from who led before: 700 bytes from broker 1, 30 from broker 2. Broker 1 leads what it has, and copies nothing.
    assert loads == [
        Load(1, "a", replicas_before=2, replicas_after=2, leaders_before=1, leaders_after=1, replicas_in=0, bytes_in=0, bytes_out=700),
        Load(2, "b", replicas_before=3, replicas_after=1, leaders_before=2, leaders_after=1, replicas_in=0, bytes_in=0, bytes_out=30),
        Load(3, None, replicas_before=0, replicas_after=2, leaders_before=0, leaders_after=1, replicas_in=2, bytes_in=730, bytes_out=0),
    ]


def test_measures_are_those_of_the_placement() -> None:
    brokers = (Broker(1, "a"), Broker(2, "a"), Broker(3, "b"), Broker(4, "b", takes=False, is_left=True))
    partitions = (
        Partition("p", 0, (1, 2), 10),
        Partition("p", 1, (4, 1), 100),
        Partition("q", 0, (1, 3), 7, is_fixed=True),
        Partition("q", 1, (2, 3), 5),
    )
    cluster = Cluster(brokers, partitions)
    assert measure(cluster, Goals(), {}) == Measures(
        replica_spread=1,
        leader_spread=2,
        topic_replica_spread=2,
        topic_leader_spread=1,
        racks_missing=1,
        left_behind=1,
        replicas_moved=0,
        bytes_moved=0,
    )
    moved = measure(cluster, Goals(), {("p", 1): (3, 1), ("q", 1): (3, 2)})
    assert moved == Measures(1, 2, 1, 1, racks_missing=1, left_behind=0, replicas_moved=1, bytes_moved=100)
    # Without racks none is missing; a placement that leaves all on one broker is as uneven as can be.
    assert measure(cluster, Goals(racks=False), {}).racks_missing == 0
    lone = Cluster((Broker(1), Broker(2)), tuple(Partition("p", number, (1,), 9) for number in range(3)))
    assert measure(lone, Goals(), {("p", 0): (2,)}) == Measures(1, 1, 1, 1, 0, 0, 1, 9)
    assert measure(lone, Goals(), {}) == Measures(3, 3, 3, 3, 0, 0, 0, 0)


def test_the_busiest_broker_says_how_long_it_takes() -> None:
    into, out = Load(1, None, bytes_in=1001, bytes_out=3), Load(2, None, bytes_in=2, bytes_out=2001)
    assert [seconds_at(1000, loads) for loads in ([], [into], [out], [into, out], [Load(3, None, bytes_in=1000)])] == [0, 2, 3, 3, 1]
