"""What is wrong with a cluster, judged from an image of its metadata.

Promises:
- One question is asked of partitions in one way (`runs.PartitionSurvey`), whether they lie as bytes or as objects; a million sound
  ones are judged without a million objects. All that counts or finds partitions by their state goes through it.
- A judgement is a pure function of the image and of thresholds; it reads no clock and no file, and never raises for what an image
  contains. What metadata cannot say (static settings of the nodes, racks of controllers) is a threshold or is left out.
"""

from __future__ import annotations

from metashell.health.early import EarlyRow
from metashell.health.grouping import PARTITION_GROUPS, count_partitions
from metashell.health.health import BAD, KINDS, UNUSUAL, Finding, Health, Kind
from metashell.health.partitions import BITS
from metashell.health.runs import PartitionSurvey

__all__ = [
    "BAD",
    "BITS",
    "KINDS",
    "PARTITION_GROUPS",
    "UNUSUAL",
    "EarlyRow",
    "Finding",
    "Health",
    "Kind",
    "PartitionSurvey",
    "count_partitions",
]
