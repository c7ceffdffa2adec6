"""Which checks judge disks: what the files of a node say of each other, of its configuration, and of its log."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from metashell.checks.judging import all_checks, judge
from metashell.checks.model import BAD

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.checks.model import Verdict

_SUBJECTS: Final = frozenset({"identity", "configuration", "checkpoints", "quorum_state", "strays", "migration"})
REFUSALS: Final = frozenset(
    {
        "lost_metadata",
        "unformatted",
        "torn_identity",
        "duplicate_directory_id",
        "other_cluster",
        "other_node_id",
        "reserved_directory_id",
        "misplaced_metadata",
        "partition_twice",
        "refused_configuration",
    }
)
"""The checks for whose findings Kafka does not start a node at all."""
STRAYS: Final = frozenset({"stray_topic_id", "no_topic_id", "unknown_topic"})
"""The checks whose findings a start renames to -stray."""


@cache
def disk_checks() -> frozenset[str]:
    """The ids of all checks of disks."""
    return frozenset(one.id for one in all_checks() if one.subject in _SUBJECTS)


def judge_disks(facts: Facts) -> Verdict:
    """What the files of all nodes say of each other."""
    return judge(facts, disk_checks())


def elsewhere(facts: Facts) -> str:
    """What other checks call bad in the same metadata, `fenced 1, leaderless 2`, causes only; empty for nothing."""
    verdict = judge(facts, frozenset(one.id for one in all_checks()) - disk_checks())
    return ", ".join(f"{root.check.id} {root.count}" for root, _ in verdict.causes() if root.check.severity == BAD)


def judge_node(facts: Facts, node: int) -> Verdict:
    """The same of one node by itself, as its server sees it when it starts."""
    directories = tuple(one for one in facts.directories if one.node == node)
    configurations = tuple(one for one in facts.configurations if one.node == node)
    return judge(replace(facts, directories=directories, configurations=configurations), disk_checks())
