"""Between which offsets a source can give an image, and at which one of them several sources are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reach(NamedTuple):
    """The first and the last offset at which a source has an image, the same for a checkpoint.

    Shape: what lies before `certain_to` is committed, in every replica of that log; None where nothing is known to be.
    """

    first: int
    end: int
    certain_to: int | None


class Common(NamedTuple):
    """The offset at which several sources are compared; `is_certain` says that all before it is committed."""

    offset: int
    is_certain: bool


def common_offset(reaches: Sequence[Reach]) -> Common | None:
    """The highest certain offset at which all have an image; None where there is none.

    Shape: what is certain in one is committed in all, so the highest `certain_to` counts. Where nothing is certain, or the others end
    before it, it is the highest offset that all reach.
    """
    certain = max((reach.certain_to for reach in reaches if reach.certain_to is not None), default=None)
    lowest = min(reach.end for reach in reaches)
    offset = lowest if certain is None else min(lowest, certain)
    if offset < max(reach.first for reach in reaches):
        return None
    return Common(offset, certain is not None)
