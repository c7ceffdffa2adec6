"""What Kafka's controller gets wrong, and ours as Kafka's does, mended for runs of the simulation: a rule that it breaks could not be kept.

tests/interop/test_returning_replica.py shows the fault beside a real controller; the planted bug of that name is a run without the mend.
"""

from __future__ import annotations

from metashell.quorum.controller.partition_change import PartitionChange, without
from tests.simulation.bugs import Patch


def mends() -> list[Patch]:
    """A replica that comes back by a reassignment has an empty log, and is not eligible for what it had."""

    def move_to_elr(change: PartitionChange) -> None:
        original(change)
        change.elr = without(change.elr, *without(change.replicas, *change.partition.replicas))

    original = PartitionChange._move_to_elr
    return [(PartitionChange, "_move_to_elr", move_to_elr)]
