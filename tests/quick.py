"""Parameters of which `make check` takes a few and `make test` takes all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The values of a parameter, of which those after the first `count` are marked slow; a tuple is a row of several parameters."""
    return [value if number < count else pytest.param(*_row(value), marks=pytest.mark.slow) for number, value in enumerate(values)]


def _row(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
