"""The rulebook: what is wrong with a cluster, judged from facts; every command that says so asks here.

Promises:
- A check is a pure function of `Facts`: it reads no clock and no file, and never raises for what the facts contain. It runs only where its
  facts are there; a verdict names the checks that could not run, so that silence is never an answer.
- One question is asked of partitions in one way (`runs.PartitionSurvey`), whether they lie as bytes or as objects; a million sound
  ones are judged without a million objects. All that counts or finds partitions by their state goes through it.
- Facts are gathered elsewhere, once (`metashell.facts` from disks, `metashell.live` from servers). What differs between commands is which
  facts they have and how they print, never what follows.
"""

from __future__ import annotations

from metashell.checks.early import EarlyRow
from metashell.checks.facts import Facts
from metashell.checks.grouping import PARTITION_GROUPS, count_partitions
from metashell.checks.health import Health
from metashell.checks.judging import all_checks, judge
from metashell.checks.model import BAD, UNUSUAL, Check, Evidence, Finding, Found, Verdict
from metashell.checks.partitions import BITS
from metashell.checks.runs import PartitionSurvey

__all__ = [
    "BAD",
    "BITS",
    "PARTITION_GROUPS",
    "UNUSUAL",
    "Check",
    "EarlyRow",
    "Evidence",
    "Facts",
    "Finding",
    "Found",
    "Health",
    "PartitionSurvey",
    "Verdict",
    "all_checks",
    "count_partitions",
    "judge",
]
