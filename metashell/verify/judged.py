"""What the checks of the rulebook find about the directories of a run, as findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks.model import BAD
from metashell.verify.finding import FINDINGS_MAX, Finding, Report

if TYPE_CHECKING:
    from metashell.checks.model import Check, Found, Verdict

_SHOWN_MAX: Final = FINDINGS_MAX


def report_verdict(verdict: Verdict, report: Report) -> None:
    """Report what checks found, causes first; what follows from another finding has no steps of its own."""
    for root, followers in verdict.causes():
        for finding in (root, *followers):
            for found in _findings(finding.check, finding.first(_SHOWN_MAX), is_root=finding is root):
                report.add(found)


def _findings(check: Check, found: list[Found], *, is_root: bool) -> Iterator[Finding]:
    for one in found:
        place = one.evidence[0] if one.evidence else None
        file = (None if place is None else place.path) or one.name
        name = "" if one.name in file else f"{one.name}: "
        offset = next((evidence.offset for evidence in one.evidence if evidence.offset >= 0), -1)
        steps = (one.steps or ((check.step,) if check.step else ())) if is_root else ()
        severity = "error" if check.severity == BAD else "unusual"
        yield Finding(file, -1, offset, severity, f"{name}{one.cause or check.words}", check.id, steps)  # type: ignore[arg-type]
