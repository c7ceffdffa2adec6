"""Work in steps: a long decision gives the loop back now and then, and goes on where it stopped.

A `Steps` is a generator that yields where it may rest and returns what it came to. How long it runs before it rests is the driver's
affair: a piece between two yields takes at most a few milliseconds, so the driver runs pieces until its slice of time is over.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Final, TypeVar

Made = TypeVar("Made")
Item = TypeVar("Item")

Steps = Generator[None, None, Made]
"""Work that may rest at each yield."""

PIECE: Final = 64
"""Small things, of some microseconds each, that are done in one piece."""


def finish(work: Steps[Made]) -> Made:
    """What work in steps comes to, done without a rest."""
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def gather(items: Iterable[Item | None], into: list[Item]) -> Steps[None]:
    """Take items into a list; None among them is a place to rest."""
    for item in items:
        if item is None:
            yield
        else:
            into.append(item)


def rests(items: Iterable[Item]) -> Iterator[Item | None]:
    """The items, with None among them now and then as a place to rest."""
    for number, item in enumerate(items, 1):
        yield item
        if not number % PIECE:
            yield None
