"""Rows in which every two choices meet: what most faults need, at a fraction of the full product."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

_Place = tuple[int, int]
"""The number of a factor, and of one of its choices."""


def pairs(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of one choice of each factor; any two choices of two factors stand together in a row. The same rows each time."""
    missing = dict.fromkeys(
        ((left, one), (right, other))
        for left, right in combinations(range(len(factors)), 2)
        for one, other in product(range(len(factors[left])), range(len(factors[right])))
    )
    used: dict[_Place, int] = {}
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for factor, choices in enumerate(factors):
            if factor not in row:
                # The choice that meets most of the others for the first time; among equals, the one that was taken least often.
                row[factor] = max(range(len(choices)), key=lambda one: (_new(missing, row, factor, one), -used.get((factor, one), 0)))
        for place in row.items():
            used[place] = used.get(place, 0) + 1
        for pair in combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        rows.append(tuple(choices[row[factor]] for factor, choices in enumerate(factors)))
    return rows


def _new(missing: dict[tuple[_Place, _Place], None], row: dict[int, int], factor: int, one: int) -> int:
    met = ((((factor, one), place) if factor < place[0] else (place, (factor, one))) for place in row.items())
    return sum(pair in missing for pair in met)
