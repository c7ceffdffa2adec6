"""The registry of checks, and the one function that runs them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

from metashell.checks.model import BAD, Check, Finding, Many, NotRun, Verdict

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.checks.model import Found

_CHECKS: Final[dict[str, Check]] = {}
INCOMPLETE: Final = "the log begins late and without a snapshot"


def check(id: str, severity: str, words: str, *needs: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as a check; see `Check` for what `more` may be."""

    def register(find: Callable[[Facts], Iterable[Found] | Many]) -> Callable[[Facts], Iterable[Found] | Many]:
        assert id not in _CHECKS, id
        subject = find.__module__.rpartition(".")[2]
        _CHECKS[id] = Check(id=id, severity=severity, words=words, needs=needs, find=find, subject=subject, **more)
        return find

    return register


def all_checks() -> tuple[Check, ...]:
    """Every check, the bad ones first, each severity in the order of the subjects."""
    from metashell.checks import rules  # noqa: F401 - each file registers what it has

    return tuple(sorted(_CHECKS.values(), key=lambda one: one.severity != BAD))


def check_of(id: str) -> Check:
    """The check with an id. Errors: KeyError."""
    all_checks()
    return _CHECKS[id]


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
        if because:
            not_run.append(NotRun(one, because))
            continue
        ran += 1
        found = one.find(facts)
        finding = Finding(one, found if isinstance(found, Many) else tuple(found))
        if finding.count:
            findings.append(finding)
    return Verdict(tuple(findings), ran, tuple(not_run))
