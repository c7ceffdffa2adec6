"""The one function that runs all checks on the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import metashell.checks.rules  # noqa: F401 - each file registers its checks
from metashell.checks.model import BAD, Check, Finding, Many, NotRun, Verdict
from metashell.checks.registry import CHECKS, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.checks.facts import Facts

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
