"""docs/checks.md: every check with its rule, what it needs, what it endangers, what to do, and where Kafka has the rule.

`python -m tools.gen_checks` writes the page; with `--check` it only says whether it is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from metashell.metadata.checks import Check, all_checks
from tools.generated import write_or_check

PAGE: Final = "docs/checks.md"
_HEAD: Final = """\
# Checks

What `metashell health`, `cluster`, `verify`, `storage info`, `status` and the rest may say of a cluster. Each check is one function from
facts to findings, in a file of `metashell/metadata/checks/rules`; every command that judges calls it. This page is made
from the registry by `python -m tools.gen_checks`.

`bad` findings end a command with status 1, `unusual` ones leave it 0. A check that lacks the facts it needs is not run, and the answer says
so. `metashell health --list -o json` has the same for programs.
"""


def files() -> dict[str, str]:
    return {PAGE: page()}


def page() -> str:
    """The page as text."""
    return "\n".join((_HEAD, *_sections()))


def _sections() -> Iterator[str]:
    ordered = sorted(all_checks(), key=lambda one: (one.subject, one.severity, one.id))
    for subject, checks in groupby(ordered, key=lambda one: one.subject):
        yield f"## {subject.capitalize().replace('_', ' ')}\n"
        yield from map(_entry, checks)


def _entry(check: Check) -> str:
    lines = [f"### `{check.id}`\n", f"{check.severity}: {check.words}.\n"]
    rows = {
        "needs": ", ".join(check.needs),
        "follows from": ", ".join(f"`{id}`" for id in check.follows),
        "endangers": check.endangers,
        "next": check.step,
        "example": f"`{check.example}`" if check.example else "",
        "source": check.source,
    }
    lines += [f"- {name}: {text}" for name, text in rows.items() if text]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(files(), PAGE))
