"""Bugs that a simulation must find: each replaces a decision by a wrong one, as a person might have written it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

OUTSIDE: Mapping[str, object] = {"is_black_box": True}
"""Nobody looks into what runs: only what clients are told and find is held against the rules."""
Patch = tuple[Any, str, Any]
"""(owner, name, value): an attribute has another value."""


class Bug(NamedTuple):
    """A bug. `special` are options that its seeds have, where it does not show in any."""

    make: Callable[[], list[Patch]]
    special: Mapping[str, object] = {}

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", "-") + (" outside" if self.special.get("is_black_box") else "")


def table_of(*bugs: Bug | Callable[[], list[Patch]]) -> dict[str, Bug]:
    """Bugs by their names; one that is found from outside, by what clients are told alone, is named so."""
    made = [bug if isinstance(bug, Bug) else Bug(bug) for bug in bugs]
    return {bug.name: bug for bug in made}


@contextmanager
def patched(patches: Sequence[Patch]) -> Iterator[None]:
    """Within it attributes have other values."""
    before = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in patches]
    try:
        for owner, attribute, value in patches:
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in reversed(before):
            setattr(owner, attribute, value)
