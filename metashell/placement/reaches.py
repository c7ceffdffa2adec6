"""Which broker can give something to which by a single move, remembered from one search for a chain to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from metashell.placement.masks import bits

Hop = tuple[int, int, int]
"""A thing, the broker that it leaves, and the one that it goes to."""


class Reaches:
    """For each broker the brokers that it can give to, with a thing for each.

    To look for a chain then costs a look at each broker and not at everything that lies there. What is remembered may be out of date
    after moves: whoever takes a chain checks every hop, and `forget`s what was wrong; where no chain is found all is looked at anew.
    """

    def __init__(self, allowed: Callable[[int, int], int], things: Callable[[int], list[int]]) -> None:
        self._allowed = allowed
        self._things = things
        self._rows: dict[int, tuple[int, dict[int, int]]] = {}
        self._looked: set[int] = set()
        self._turn = 0

    def has_failed(self) -> None:
        """A chain could not be taken: another thing may do what one of it could not."""
        self._turn += 1

    def has_moved(self, *sources: int) -> None:
        """Something has moved: these rows are wrong, and every other one may be."""
        self._looked.clear()
        for source in sources:
            self._rows.pop(source, None)

    def find(self, source: int, wanted: int, closed: int) -> tuple[list[Hop], int]:
        """The shortest chain from a broker to one of `wanted`, its end first, and all that can be reached if there is none."""
        while True:
            chain, seen = self._search(source, wanted, closed)
            stale = [index for index in bits(seen & ~closed) if index not in self._looked]
            if chain or not stale:
                return chain, seen
            for index in stale:
                self._look(index)

    def _search(self, source: int, wanted: int, closed: int) -> tuple[list[Hop], int]:
        seen = closed | 1 << source
        came: dict[int, int] = {}
        queue = deque([source])
        while queue:
            here = queue.popleft()
            reached, _ = self._rows.get(here) or self._look(here)
            new = reached & ~seen
            seen |= new
            for index in bits(new):
                came[index] = here
            if hit := new & wanted:
                return self._hops((hit & -hit).bit_length() - 1, came), seen
            queue.extend(bits(new))
        return [], seen

    def _hops(self, index: int, came: dict[int, int]) -> list[Hop]:
        hops = []
        while index in came:
            source = came[index]
            hops.append((self._rows[source][1][index], source, index))
            index = source
        return hops

    def _look(self, source: int) -> tuple[int, dict[int, int]]:
        reached = 0
        by: dict[int, int] = {}
        things = self._things(source)
        first = self._turn % max(len(things), 1)
        for thing in things[first:] + things[:first]:
            if new := self._allowed(thing, source) & ~reached:
                reached |= new
                for index in bits(new):
                    by[index] = thing
        self._rows[source] = reached, by
        self._looked.add(source)
        return reached, by
