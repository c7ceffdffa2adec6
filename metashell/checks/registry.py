"""The registry of checks: each file of `metashell.checks.rules` puts its own here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from metashell.checks.model import Check

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.checks.model import Found, Many

CHECKS: Final[dict[str, Check]] = {}
SUBJECTS: Final = (
    "acls",
    "brokers",
    "checkpoints",
    "configuration",
    "disks",
    "probes",
    "registrations",
    "features",
    "identity",
    "incarnations",
    "leader_elections",
    "lint",
    "metadata",
    "migration",
    "partitions",
    "quorum",
    "quorum_state",
    "strays",
    "throttles",
    "transactions",
    "voters",
)
"""The subjects of checks, in the order in which verdicts name them."""


def check(name: str, severity: str, words: str, *needs: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function below as a check; `name` is its subject and id (`voters.moved_voter`). See `Check` for what `more` may be."""
    subject, id = name.split(".")

    def register(find: Callable[[Facts], Iterable[Found] | Many]) -> Callable[[Facts], Iterable[Found] | Many]:
        assert subject in SUBJECTS and id not in CHECKS, name
        CHECKS[id] = Check(id=id, severity=severity, words=words, needs=needs, find=find, subject=subject, **more)
        return find

    return register
