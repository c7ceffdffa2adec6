"""Bugs that the checkers must find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Within it the bug of that name is in the code; an empty name is none."""
    assert not name
    yield
