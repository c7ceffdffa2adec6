"""Plans of reassignment: which brokers should have which replicas.

Promises:
- `make_plan(cluster, goals)` computes from brokers and partitions alone: no I/O, no clock, no chance. The same cluster gives the same
  plan, in whatever order its partitions come.
- Rules come in this order: no replica stays on a broker that is left; a partition lies in as many racks as it can; each topic's replicas
  are as even over the brokers as these allow; so are all replicas, as far as topics stay even; then, in the same way, preferred leaders.
  Nothing is given up of an earlier rule for a later one.
- Replicas move only where a rule asks for it, the small ones first, and moves that turn out to be needless are taken back. Leaders become
  even by changing the order of replicas, which copies nothing.
- `measure` says how a placement looks, in figures that are defined in one place.

`balance` says why the result is as even as can be. `plan_file` reads and writes plans as Kafka's own
tool has them, and reads the answer of kafka-log-dirs; `cluster` takes brokers and partitions from an image.
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
