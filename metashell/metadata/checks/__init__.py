"""The checks: they judge from facts what is wrong with a cluster, for every command that reports it.

Promises:
- A check is a pure function of `Facts`: it reads no clock and no file, and never raises for what the facts contain. It runs only where its
  facts are there. A verdict names the checks that could not run, so that no finding is mistaken for a good one.
- Partitions are asked one question in one way (`survey.PartitionSurvey`), whether they are held as bytes or as objects; a million sound
  ones are judged without a million objects. Everything that counts or finds partitions by their state uses it.
- Facts are gathered elsewhere, once: by `metadata.facts` from disks, by the cli from servers. Commands differ in which facts they have and
  how they print, never in the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts
    from metashell.metadata.checks.health import PARTITION_GROUPS, EarlyRow, Health, count_partitions
    from metashell.metadata.checks.model import BAD, UNUSUAL, Check, Evidence, Finding, Found, Verdict
    from metashell.metadata.checks.partitions import BITS
    from metashell.metadata.checks.rules import REFUSALS, STRAYS, all_checks, judge, judge_disks, judge_node, other_bad_checks
    from metashell.metadata.checks.survey import PartitionSurvey

__all__ = [
    "BAD",
    "BITS",
    "PARTITION_GROUPS",
    "REFUSALS",
    "STRAYS",
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
    "judge_disks",
    "judge_node",
    "other_bad_checks",
]
_HOMES = {
    **dict.fromkeys(("PARTITION_GROUPS", "EarlyRow", "Health", "count_partitions"), "health"),
    **dict.fromkeys(("BAD", "UNUSUAL", "Check", "Evidence", "Finding", "Found", "Verdict"), "model"),
    **dict.fromkeys(("REFUSALS", "STRAYS", "all_checks", "judge", "judge_disks", "judge_node", "other_bad_checks"), "rules"),
    "Facts": "facts",
    "BITS": "partitions",
    "PartitionSurvey": "survey",
}
"""Where each name is; the module is loaded at its first use. A listing asks about partitions, and the rules cost a tenth of its time."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"metashell.metadata.checks.{_HOMES[name]}"), name)
