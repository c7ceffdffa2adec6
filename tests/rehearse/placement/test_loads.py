"""The costs of a plan for each broker."""

from __future__ import annotations

from metashell.rehearse.placement import Broker, Cluster, Partition
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


def test_the_busiest_broker_says_how_long_it_takes() -> None:
    into, out = Load(1, None, bytes_in=1001, bytes_out=3), Load(2, None, bytes_in=2, bytes_out=2001)
    assert [seconds_at(1000, loads) for loads in ([], [into], [out], [into, out], [Load(3, None, bytes_in=1000)])] == [0, 2, 3, 3, 1]
