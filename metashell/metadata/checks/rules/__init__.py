"""The rules, a few subjects a file, which this package registers; and the judgement by all of them, or by those of disks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from metashell.metadata.checks.model import BAD, CHECKS, SUBJECTS, Check, Finding, Many, NotRun, Verdict
from metashell.metadata.checks.rules import (  # noqa: F401
    brokers,
    controllers,
    identity,
    lint,
    live_quorum,
    metadata,
    partitions,
    quorum,
    strays,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.metadata.checks.facts import Facts

INCOMPLETE: Final = "the log begins late and without a snapshot"
NOT_TOLD: Final = "brokers do not tell it, controllers do (-C)"


def all_checks() -> tuple[Check, ...]:
    """Every check, the bad ones first, each severity in the order of the subjects."""
    return tuple(sorted(CHECKS.values(), key=lambda one: (one.severity != BAD, SUBJECTS.index(one.subject))))


def judge(facts: Facts, ids: Collection[str] | None = None) -> Verdict:
    """Run all checks, or those with these ids, on the facts."""
    findings, not_run, ran = [], [], 0
    is_part = facts.health is not None and bool(facts.image.provenance.begins_at)
    for one in all_checks():
        if ids is not None and one.id not in ids:
            continue
        because = next(filter(None, map(facts.lacks, one.needs)), "")
        if not because and is_part and "image" in one.needs and not one.of_a_part:
            because = INCOMPLETE
        if not because and "image" in one.needs and facts.told is not None and one.id not in facts.told:
            because = NOT_TOLD
        if because:
            not_run.append(NotRun(one, because))
            continue
        ran += 1
        found = one.find(facts)
        finding = Finding(one, found if isinstance(found, Many) else tuple(found))
        if finding.count:
            findings.append(finding)
    return Verdict(tuple(findings), ran, tuple(not_run))


# ---- checks of disks


_DISK_SUBJECTS: Final = frozenset({"identity", "configuration", "checkpoints", "quorum_state", "strays", "migration"})
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
    return frozenset(one.id for one in all_checks() if one.subject in _DISK_SUBJECTS)


def judge_disks(facts: Facts) -> Verdict:
    """Judge the files of all nodes, each against the others."""
    return judge(facts, disk_checks())


def other_bad_checks(facts: Facts) -> str:
    """The bad findings of all other checks on the same metadata, `fenced 1, leaderless 2`, causes only; empty for none."""
    verdict = judge(facts, frozenset(one.id for one in all_checks()) - disk_checks())
    return ", ".join(f"{root.check.id} {root.count}" for root, _ in verdict.causes() if root.check.severity == BAD)


def judge_node(facts: Facts, node: int) -> Verdict:
    """Judge the files of one node by itself, as its server sees them when it starts."""
    directories = tuple(one for one in facts.directories if one.node == node)
    configurations = tuple(one for one in facts.configurations if one.node == node)
    return judge(replace(facts, directories=directories, configurations=configurations), disk_checks())
