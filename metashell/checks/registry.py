"""The registry of checks: each file of `metashell.checks.rules` puts its own here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from metashell.checks.model import Check

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.checks.model import Found, Many

CHECKS: Final[dict[str, Check]] = {}


def check(id: str, severity: str, words: str, *needs: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as a check; see `Check` for what `more` may be."""

    def register(find: Callable[[Facts], Iterable[Found] | Many]) -> Callable[[Facts], Iterable[Found] | Many]:
        assert id not in CHECKS, id
        subject = find.__module__.rpartition(".")[2]
        CHECKS[id] = Check(id=id, severity=severity, words=words, needs=needs, find=find, subject=subject, **more)
        return find

    return register
