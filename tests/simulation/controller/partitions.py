"""Whether answers about one partition were right, with the log as the witness of the order in which its states followed each other.

A partition's states count up by partition epoch, and everybody who changes one names the epoch that it changes: so each answer says at
which states it was right, and the answers have an order if they can be laid on the states without going back in real time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metashell.metadata.image import PartitionRegistration
from tests.simulation.controller.ledger import Place

Fits = Callable[[PartitionRegistration | None], bool]


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: at which states it was right. Units: as `Operation`."""

    what: str
    called: int
    returned: int
    fits: Fits


def misfit(answers: Sequence[Seen], states: Sequence[Place]) -> Seen | None:
    """The first answer, by the time of its request, that fits no state that it may have seen; None where all have their place.

    A partition's first state is none, before it is created. Each answer is laid on the earliest state that it can have: that leaves the
    most to those that follow.
    """
    line: list[PartitionRegistration | None] = [None, *(place.partition for place in states)]
    placed: list[tuple[int, int]] = []
    for seen in sorted(answers, key=lambda seen: seen.called):
        earliest = max((at for returned, at in placed if returned < seen.called), default=0)
        at = next((at for at in range(earliest, len(line)) if seen.fits(line[at])), None)
        if at is None:
            return seen
        placed.append((seen.returned, at))
    return None
