"""Takes moves back that turn out to be needless: the counts stay as even as they are, fewer replicas have to be copied.

A replica goes home, to a broker that had it before; the replica too many there moves on, which costs nothing if it was moved anyway, and
so on, until the broker that gave the first one has its count again. These are cycles of negative cost in the graph of moves, of the kind
that is common: one copy saved, the others exchanged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from metashell.placement.evening import Budget, follow
from metashell.placement.masks import bits
from metashell.placement.reaches import Hop
from metashell.placement.working import Working

STEPS_MAX = 400_000
"""How many moves are looked at, in topics and then in all; it bounds the time, and only the largest clusters need so many."""


class Exchange(NamedTuple):
    """Where things may go (`options`), what it does (`move`), and whether a chain that starts at one broker may end at another."""

    options: Callable[[int, int], int]
    move: Callable[[int, int, int], None]
    may_end: Callable[[int, int], bool]


def save_moves(working: Working, members: Iterable[int], exchange: Exchange, budget: Budget) -> None:
    """Take back what can be, among the partitions `members`."""
    origins, masks, takers = working.origins, working.masks, working.takers
    away: dict[int, dict[int, None]] = {place: {} for place in bits(takers)}
    todo = []
    for number in members:
        for place in bits(masks[number] & ~origins[number]):
            away[place][number] = None
            todo.append((number, place))

    def move(number: int, source: int, target: int) -> None:
        exchange.move(number, source, target)
        if not origins[number] >> source & 1:
            del away[source][number]
        if not origins[number] >> target & 1:
            away[target][number] = None

    for number, source in todo:
        if budget.left <= 0:
            return
        if masks[number] >> source & 1:
            for home in bits(exchange.options(number, source) & origins[number]):
                chain = _chain(exchange, away, number, source, home, budget)
                if chain is not None and follow(exchange.options, move, chain):
                    break


def _chain(exchange: Exchange, away: dict[int, dict[int, None]], first: int, source: int, home: int, budget: Budget) -> list[Hop] | None:
    """The hops that bring a replica home from `source`, with those that make up for it."""
    seen = 1 << home
    came: dict[int, Hop] = {}
    queue = deque([home])
    if exchange.may_end(source, home):
        return [(first, source, home)]
    while queue:
        here = queue.popleft()
        for number in away[here]:
            if number == first:
                continue
            budget.left -= 1
            new = exchange.options(number, here) & ~seen
            seen |= new
            for place in bits(new):
                came[place] = (number, here, place)
                if place == source or exchange.may_end(source, place):
                    return [*_hops_to(place, came), (first, source, home)]
                queue.append(place)
        if budget.left <= 0:
            return None
    return None


def _hops_to(index: int, came: dict[int, Hop]) -> list[Hop]:
    """The chain that a search came along, its end first."""
    hops = []
    while index in came:
        hops.append(came[index])
        index = came[index][1]
    return hops
