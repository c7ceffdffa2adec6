"""Computes reassignment plans: which brokers should have which replicas.

Promises:
- `make_plan(cluster, goals)` computes from brokers and partitions alone: no I/O, no clock, no random source. The same cluster gives the
  same plan, whatever the order of its partitions.
- The rules, in order: no replica stays on a broker that is being emptied; a partition spans as many racks as it can; each topic's replicas
  are as even over the brokers as that allows; all replicas are even, as far as topics stay even; then preferred leaders in the same way.
  A later rule never worsens an earlier one.
- Replicas move only for a rule, small ones first, and needless moves are undone. Preferred leaders become even by reordering replicas,
  which copies nothing.
- `measure` defines all figures that describe a placement.

`balance` explains why the result is as even as possible. `plan_file` reads and writes plans in the form of Kafka's tool, and reads sizes
from the answer of kafka-log-dirs. `cluster` takes brokers and partitions from an image.
"""

from __future__ import annotations

from metashell.rehearse.placement.cluster import (
    Broker,
    BrokerState,
    Cluster,
    Goals,
    Partition,
    PartitionState,
    PlacementError,
    Situation,
    Wishes,
    cluster_of,
)
from metashell.rehearse.placement.plan_file import Assignment, Plan, read_plan, read_sizes, write_plan
from metashell.rehearse.placement.planner import make_plan
from metashell.rehearse.placement.working_plan import Measures, as_placement, measure

__all__ = [
    "Assignment",
    "Broker",
    "BrokerState",
    "Cluster",
    "Goals",
    "Measures",
    "Partition",
    "PartitionState",
    "PlacementError",
    "Plan",
    "Situation",
    "Wishes",
    "as_placement",
    "cluster_of",
    "make_plan",
    "measure",
    "read_plan",
    "read_sizes",
    "write_plan",
]
