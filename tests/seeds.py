"""Which rule of the documents that this project began with a test shows: `@shows("KIP-631/lease")`.

The rules are in `tools/seeds/*.toml`; docs/seeds.md is made from both by `python -m tools.gen_seeds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def shows(*rules: str) -> Callable[[Test], Test]:
    """Mark a test as one that shows these rules. The mark is read from the source."""
    assert rules
    return _unchanged


def _unchanged(test: Test) -> Test:
    return test
