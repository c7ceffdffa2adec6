"""Balances the counts of replicas and leaders, within a topic and over all: one loop, and the graph of moves that it searches.

Things (replicas or leaderships) lie on brokers; `options` says to which other brokers each may go. Single moves come first, then chains
of moves found by breadth-first search, until no chain leads from a broker to one that has at least two fewer.

Worked case: broker 1 has 4 replicas, brokers 2 and 3 have 3 and 2. No replica of broker 1 may go to broker 3, since its partitions are
there already. But one may go to broker 2, and another one from broker 2 to broker 3. After this chain each broker has 3.

Why does that end with the best result? As long as rules are of the kind "one a broker" and "one a rack", the vectors of counts form an
M-convex set (each partition's is that of the bases of a matroid, and sums of these are M-convex). In such a set a vector without such a
chain has the least maximum, the greatest minimum and the least sum of squares, all at once (K. Murota, Discrete Convex Analysis, 2003;
A. Frank and K. Murota, Decreasing minimization on M-convex sets, 2018). The most even vectors within each topic form such a set too.

Why not a flow solver? It would find the same, and OR-tools 9.15 is 80 MB, 240 MB with the numpy and pandas that it needs, and takes 0.12
to 0.53 s to import."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metashell.rehearse.placement.working_plan import Levels, bits, lightest

_FAILED_MAX = 20
_LONG_STEPS_MAX = 1_000_000


class Budget:
    """The steps that a search may still take, which bounds the time for the largest clusters."""

    def __init__(self, steps: int) -> None:
        self.left = steps


class TopicRule(NamedTuple):
    """Keeps topics as even as they are: `levels` has the counts of each topic, `topic_of` the topic of each thing."""

    levels: Sequence[Levels]
    topic_of: Sequence[int]


class Balancing(NamedTuple):
    """The counts to balance, and the moves that change them.

    Shape: `move` keeps `counts` up to date; `second` decides between equal ones. `options(thing, source)` is the set of brokers to which
    a thing may go from `source`; `things(source)` lists the things there, the cheapest to move first.
    """

    counts: Sequence[int]
    second: Sequence[int]
    options: Callable[[int, int], int]
    things: Callable[[int], list[int]]
    move: Callable[[int, int, int], None]
    everyone: int
    rule: TopicRule | None = None


def balance_counts(ground: Balancing) -> None:
    """Move things until the counts are as even as the rules allow."""
    _move_directly(ground)
    _move_along_chains(ground)


def allowed_targets(ground: Balancing, thing: int, source: int) -> int:
    """The brokers to which a thing may go in a single move. With a rule, source and target must swap their counts of the topic."""
    found = ground.options(thing, source)
    if found and ground.rule is not None:
        levels = ground.rule.levels[ground.rule.topic_of[thing]]
        found &= levels.at(levels.of(source) - 1)
    return found


def _move_directly(ground: Balancing) -> None:
    """Move things from brokers to brokers that have at least two fewer, the largest differences first.

    In the first passes no broker goes below the mean: others would only have to give things back to it.
    """
    counts = ground.counts
    everyone = list(bits(ground.everyone))
    keep = -(-sum(counts[index] for index in everyone) // len(everyone))
    progress = True
    while progress or keep:
        if not progress:
            keep = 0
        progress = False
        lowest = min(counts[index] for index in everyone)
        sources = [index for index in everyone if counts[index] >= max(lowest + 2, keep + 1)]
        sources.sort(key=lambda index: (-counts[index], -ground.second[index]))
        for source in sources:
            progress = _unload(ground, source, keep) or progress


def _unload(ground: Balancing, source: int, keep: int) -> bool:
    """Move things away from a broker until it has `keep` of them; return whether any moved."""
    counts, second, move = ground.counts, ground.second, ground.move
    # This set only shrinks while `source` is unloaded: its count falls, and those of all others rise.
    fewer = 0
    for index in bits(ground.everyone):
        if counts[index] <= counts[source] - 2:
            fewer |= 1 << index
    if not fewer:
        return False
    has_moved = False
    for thing in ground.things(source):
        while targets := allowed_targets(ground, thing, source) & fewer:
            target = lightest(targets, counts, second)
            if counts[target] <= counts[source] - 2:
                move(thing, source, target)
                has_moved = True
                break
            for index in bits(targets):
                if counts[index] > counts[source] - 2:
                    fewer &= ~(1 << index)
        if not fewer or counts[source] <= keep:
            break
    return has_moved


def _move_along_chains(ground: Balancing) -> None:
    """Move along chains of brokers where no single move helps: each broker in the middle gives one thing and gets one."""
    counts = ground.counts
    reaches = MoveGraph(lambda thing, source: allowed_targets(ground, thing, source), ground.things)
    steps = Budget(_LONG_STEPS_MAX)
    closed = failed = 0
    while failed < _FAILED_MAX:
        sources = [index for index in bits(ground.everyone & ~closed) if counts[index] > 1]
        if not sources:
            return
        source = max(sources, key=lambda index: (counts[index], -index))
        wanted = sum(1 << index for index in bits(ground.everyone & ~closed) if counts[index] <= counts[source] - 2)
        if not wanted:
            # The brokers that are left are even.
            return
        hops, reached = reaches.find(source, wanted, closed)
        chain = [[hop] for hop in hops]
        if not chain and ground.rule is not None and steps.left > 0:
            chain, reached = _find_long_chain(ground, source, wanted, closed, steps)
        if not chain:
            # Every broker that can be reached from here has at least this count less one, so none of them can improve either.
            closed |= reached
            continue
        has_moved = _follow_links(ground, chain)
        reaches.has_moved(*(hop[1] for link in chain for hop in link))
        if has_moved:
            failed = 0
        else:
            reaches.has_failed()
            failed += 1


Stop = tuple[int, int, int]
"""The state of a chain: at a broker, inside a topic (-1: none), begun at a broker with this count of the topic.

Inside a topic a chain may pass brokers of any count, since only the counts of its first and last broker change.
"""


def _find_long_chain(ground: Balancing, source: int, wanted: int, closed: int, steps: Budget) -> tuple[list[list[Hop]], int]:
    """Find the shortest chain from a broker to one of `wanted`; return it with its end first, and all brokers that were reached.

    Shape: a list of links, each of hops within one topic. This takes far longer than the search for chains whose links are single hops.
    """
    rule = ground.rule
    assert rule is not None
    seen = closed | 1 << source
    seen_within: dict[tuple[int, int], int] = {}
    came: dict[Stop, tuple[int, Stop]] = {}
    by_topic: dict[int, dict[int, list[int]]] = {}
    queue: deque[Stop] = deque([(source, -1, 0)])
    while queue and steps.left > 0:
        stop = queue.popleft()
        here, within, start = stop
        things = ground.things(here) if within < 0 else _of_topic(ground, by_topic, here, within)
        steps.left -= len(things)
        for thing in things:
            found = ground.options(thing, here)
            if not found:
                continue
            topic = rule.topic_of[thing]
            levels = rule.levels[topic]
            count = start if within >= 0 else levels.of(here)
            known = seen_within.get((topic, count), 0)
            if on := found & ~levels.at(0) & ~known:
                seen_within[topic, count] = known | on
                for index in bits(on):
                    came[index, topic, count] = (thing, stop)
                    queue.append((index, topic, count))
            ends = found & levels.at(count - 1) & ~seen
            seen |= ends
            for index in bits(ends):
                came[index, -1, 0] = (thing, stop)
                if wanted >> index & 1:
                    return _links_to((index, -1, 0), came), seen
                queue.append((index, -1, 0))
    return [], seen


def _of_topic(ground: Balancing, by_topic: dict[int, dict[int, list[int]]], here: int, topic: int) -> list[int]:
    """The things of one topic on a broker; `by_topic` keeps the sorted things of each broker."""
    assert ground.rule is not None
    found = by_topic.get(here)
    if found is None:
        found = by_topic[here] = {}
        for thing in ground.things(here):
            found.setdefault(ground.rule.topic_of[thing], []).append(thing)
    return found.get(topic, [])


def _links_to(stop: Stop, came: dict[Stop, tuple[int, Stop]]) -> list[list[Hop]]:
    links: list[list[Hop]] = []
    while stop in came:
        thing, before = came[stop]
        if stop[1] < 0:
            links.append([])
        links[-1].append((thing, before[0], stop[0]))
        stop = before
    return links


def _follow_links(ground: Balancing, links: list[list[Hop]]) -> bool:
    """Apply a chain, or nothing if one link makes another impossible, as two links of one topic can."""
    done: list[Hop] = []
    rule = ground.rule
    for link in links:
        if rule is not None:
            levels = rule.levels[rule.topic_of[link[0][0]]]
            fits = levels.of(link[-1][1]) == levels.of(link[0][2]) + 1
        else:
            fits = True
        if not fits or not apply_hops(ground.options, ground.move, link):
            undo_hops(ground.move, done)
            return False
        done.extend(link)
    return True


def apply_hops(options: Callable[[int, int], int], move: Callable[[int, int, int], None], hops: Sequence[Hop]) -> bool:
    """Apply the hops one by one, or none if one makes another impossible."""
    done: list[Hop] = []
    for thing, source, target in hops:
        if not options(thing, source) & 1 << target:
            undo_hops(move, done)
            return False
        move(thing, source, target)
        done.append((thing, source, target))
    return True


def undo_hops(move: Callable[[int, int, int], None], done: Sequence[Hop]) -> None:
    """Undo hops, the last one first."""
    for thing, source, target in reversed(done):
        move(thing, target, source)


Hop = tuple[int, int, int]
"""A thing, the broker that it leaves, and the one that it goes to."""


class MoveGraph:
    """The brokers to which each broker can give something, with one thing for each: a cache.

    With it a search examines brokers and not the thousands of things on them. Moves make entries stale. So every hop of a chain is
    checked when it is applied, and before a search gives up it looks at all brokers anew.
    """

    def __init__(self, allowed: Callable[[int, int], int], things: Callable[[int], list[int]]) -> None:
        self._allowed = allowed
        self._things = things
        self._rows: dict[int, tuple[int, dict[int, int]]] = {}
        self._looked: set[int] = set()
        self._turn = 0

    def has_failed(self) -> None:
        """Note that a chain could not be applied: the next search takes other things for its hops."""
        self._turn += 1

    def has_moved(self, *sources: int) -> None:
        """Note that things moved: these rows are wrong, and every other one may be stale."""
        self._looked.clear()
        for source in sources:
            self._rows.pop(source, None)

    def find(self, source: int, wanted: int, closed: int) -> tuple[list[Hop], int]:
        """Find the shortest chain from a broker to one of `wanted`, its end first, and all brokers that can be reached if there is none."""
        while True:
            chain, seen = self._search(source, wanted, closed)
            stale = [index for index in bits(seen & ~closed) if index not in self._looked]
            if chain or not stale:
                return chain, seen
            for index in stale:
                self._find_targets(index)

    def _search(self, source: int, wanted: int, closed: int) -> tuple[list[Hop], int]:
        seen = closed | 1 << source
        came: dict[int, int] = {}
        queue = deque([source])
        while queue:
            here = queue.popleft()
            reached, _ = self._rows.get(here) or self._find_targets(here)
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

    def _find_targets(self, source: int) -> tuple[int, dict[int, int]]:
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
