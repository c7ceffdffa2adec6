"""Computes a plan: first replicas move, which copies data, then needless moves are undone, then leaders change, which copies nothing.

Preferred leaders become even by reordering replicas: the first replica is the preferred leader.

Undoing a move: a replica goes home, to a broker that had it before. That broker now has one too many, so another replica moves on, which
costs nothing if the plan moved it anyway, and so on, until the first broker has its count again. In the graph of moves this is a cycle of
negative cost: one copy is saved, others are exchanged, and the counts stay the same.

Worked case: the plan moves A from broker 1 to 2 and B from broker 3 to 1. A goes home to 1, and B goes to 2 in its place. The counts stay
the same, and one copy is saved."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from metashell.rehearse.placement.balance import Balancing, Budget, Hop, TopicRule, allowed_targets, apply_hops, balance_counts
from metashell.rehearse.placement.cluster import Cluster, Goals, Partition, PlacementError
from metashell.rehearse.placement.working_plan import Levels, Working, bits, lightest

ALL_GOALS = Goals()


def make_plan(cluster: Cluster, goals: Goals = ALL_GOALS) -> list[tuple[Partition, tuple[int, ...]]]:
    """Plan the new replicas of every partition whose replicas or their order change; ordered by topic and number.

    The steps are those of the rules in `placement`. Errors: PlacementError if too few brokers may take a partition.
    """
    # The steps come in the order of the rules, and none may spoil an earlier one: `working.options` only gives brokers that keep a
    # partition's racks, and the step over all topics exchanges counts within a topic (`TopicRule`). One goal with weights for all rules
    # would be shorter, but then a rack could be traded for evenness, and no rule would explain why a plan looks as it does.
    working = Working(cluster, goals)
    _leave(working)
    _mend_racks(working)
    if goals.topics:
        budget = Budget(STEPS_MAX)
        for members in working.topics:
            _even_topic_replicas(working, members, budget)
    if goals.replicas:
        _even_all_replicas(working, keeps_topics=goals.topics)
    if goals.leaders:
        even_leaders(working, keeps_topics=goals.topics)
    ids = [broker.id for broker in working.brokers]
    planned = [
        (partition, tuple(ids[place] for place in places)) for partition, places in zip(working.partitions, working.replicas, strict=True)
    ]
    return [(partition, replicas) for partition, replicas in planned if replicas != partition.replicas]


def _leave(working: Working) -> None:
    """Move every replica on a broker that is being emptied to the broker with the fewest of its topic, then of all."""
    for members in working.topics:
        if not any(working.masks[number] & working.left for number in members):
            continue
        own = [0] * len(working.brokers)
        for number in members:
            for place in working.replicas[number]:
                own[place] += 1
        for number in members:
            for source in list(bits(working.masks[number] & working.left)):
                targets = working.options(number, source) or working.takers & ~working.masks[number]
                if not targets:
                    raise _too_few(working, number)
                target = lightest(targets, own, working.counts)
                working.move(number, source, target)
                own[target] += 1


def _too_few(working: Working, number: int) -> PlacementError:
    partition = working.partitions[number]
    count = working.takers.bit_count()
    return PlacementError(
        f"{partition.topic}:{partition.partition} has {len(partition.replicas)} replicas, and only {count} brokers may take them"
    )


def _mend_racks(working: Working) -> None:
    """If a partition spans fewer racks than it could, move one of two replicas in the same rack to another rack."""
    racks = working.racks
    if not racks.is_kept:
        return
    for number, replicas in enumerate(working.replicas):
        while racks.spanned(replicas) < racks.needed(len(replicas)):
            # Try the last replica first, so that the preferred leader stays.
            for source in reversed(replicas):
                mates = working.masks[number] & racks.mates[source]
                if mates.bit_count() > 1 and working.takers >> source & 1 and (targets := working.options(number, source)):
                    working.move(number, source, lightest(targets, working.counts, working.sizes))
                    break
            else:
                # Here no replica that shares a rack may move, or no broker of another rack may take it.
                break


def _even_topic_replicas(working: Working, members: list[int], budget: Budget) -> None:
    counts = [0] * len(working.brokers)
    for number in members:
        for place in working.replicas[number]:
            counts[place] += 1
    if max(counts) <= 1:
        return
    lies_on = working.lies_on(members)

    def move(number: int, source: int, target: int) -> None:
        working.move(number, source, target)
        lies_on[source].remove(number)
        lies_on[target].append(number)
        counts[source] -= 1
        counts[target] += 1

    def things(source: int) -> list[int]:
        return working.cheapest_first(list(lies_on[source]), source)

    balance_counts(Balancing(counts, working.counts, working.options, things, move, working.takers))
    undo_needless_moves(working, members, Exchange(working.options, move, lambda source, target: source == target), budget)


def _even_all_replicas(working: Working, *, keeps_topics: bool) -> None:
    numbers = range(len(working.partitions))
    lies_on = {place: dict.fromkeys(members) for place, members in working.lies_on(numbers).items()}
    rule = TopicRule(working.topic_levels(), working.topic_of) if keeps_topics else None
    counts = working.counts

    def move(number: int, source: int, target: int) -> None:
        working.move(number, source, target)
        del lies_on[source][number]
        lies_on[target][number] = None
        if rule is not None:
            rule.levels[rule.topic_of[number]].shift(source, target)

    def things(source: int) -> list[int]:
        return working.cheapest_first(list(lies_on[source]), source)

    ground = Balancing(counts, working.sizes, working.options, things, move, working.takers, rule)
    balance_counts(ground)

    def may_end(source: int, target: int) -> bool:
        # A chain may end at a broker with one less: the two swap their counts, so the counts as a whole stay as even as they were.
        return source == target or counts[target] == counts[source] - 1

    undo_needless_moves(
        working, numbers, Exchange(lambda number, source: allowed_targets(ground, number, source), move, may_end), Budget(STEPS_MAX)
    )


def even_leaders(working: Working, *, keeps_topics: bool) -> None:
    """Choose each partition's preferred leader among its replicas: even within each topic first, then over all topics."""
    totals = list(working.fixed_leaders)
    for number in range(len(working.partitions)):
        totals[_settle(working, number)] += 1
    if keeps_topics:
        for members in working.topics:
            _even_topic_leaders(working, members, totals)
    _even_all_leaders(working, totals, keeps_topics=keeps_topics)


def _settle(working: Working, number: int) -> int:
    """Put a broker first that may lead: the present first one if it stays, else the first that stays, else any; return its index."""
    replicas = working.replicas[number]
    # Prefer a replica that stays: one that must be copied cannot lead at once.
    stays = working.origins[number] & working.takers
    for allowed in (stays, working.takers, -1):
        for place in replicas:
            if allowed >> place & 1:
                _put_first(replicas, place)
                return place
    raise AssertionError(number)


def _put_first(replicas: list[int], place: int) -> None:
    """Swap the new leader with the old one; the other replicas keep their places.

    The order also decides who leads next if a leader fails, so it changes as little as possible.
    """
    index = replicas.index(place)
    replicas[0], replicas[index] = replicas[index], replicas[0]


def _even_topic_leaders(working: Working, members: list[int], totals: list[int]) -> None:
    counts = [0] * len(working.brokers)
    leads: dict[int, list[int]] = {}
    for number in members:
        place = working.replicas[number][0]
        counts[place] += 1
        leads.setdefault(place, []).append(number)
    if max(counts) <= 1:
        return

    def options(number: int, source: int) -> int:
        return working.masks[number] & working.takers & ~(1 << source)

    def move(number: int, source: int, target: int) -> None:
        _put_first(working.replicas[number], target)
        leads[source].remove(number)
        leads.setdefault(target, []).append(number)
        counts[source] -= 1
        counts[target] += 1
        totals[source] -= 1
        totals[target] += 1

    balance_counts(Balancing(counts, totals, options, lambda source: list(leads.get(source, ())), move, working.takers))


def _even_all_leaders(working: Working, totals: list[int], *, keeps_topics: bool) -> None:
    everyone = (1 << len(working.brokers)) - 1
    leads: dict[int, dict[int, None]] = {place: {} for place in range(len(working.brokers))}
    by_topic: list[dict[int, int]] = [{} for _ in working.topics]
    for number, replicas in enumerate(working.replicas):
        place = replicas[0]
        leads[place][number] = None
        counts = by_topic[working.topic_of[number]]
        counts[place] = counts.get(place, 0) + 1
    rule = TopicRule([Levels(counts, everyone) for counts in by_topic], working.topic_of) if keeps_topics else None

    def options(number: int, source: int) -> int:
        return working.masks[number] & working.takers & ~(1 << source)

    def move(number: int, source: int, target: int) -> None:
        _put_first(working.replicas[number], target)
        del leads[source][number]
        leads[target][number] = None
        totals[source] -= 1
        totals[target] += 1
        if rule is not None:
            rule.levels[rule.topic_of[number]].shift(source, target)

    balance_counts(Balancing(totals, totals, options, lambda source: list(leads[source]), move, working.takers, rule))


STEPS_MAX = 400_000
"""The most moves that are examined, within topics and then over all. It bounds the time; only the largest clusters reach it."""


class Exchange(NamedTuple):
    """The moves that may undo others: `options` of a thing, `move`, and whether a chain from one broker may end at another."""

    options: Callable[[int, int], int]
    move: Callable[[int, int, int], None]
    may_end: Callable[[int, int], bool]


def undo_needless_moves(working: Working, members: Iterable[int], exchange: Exchange, budget: Budget) -> None:
    """Undo needless moves of the partitions `members`."""
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
                if chain is not None and apply_hops(exchange.options, move, chain):
                    break


def _chain(exchange: Exchange, away: dict[int, dict[int, None]], first: int, source: int, home: int, budget: Budget) -> list[Hop] | None:
    """The hops that bring a replica home from `source`, and those that restore the counts."""
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
    """The chain that a search followed, its end first."""
    hops = []
    while index in came:
        hops.append(came[index])
        index = came[index][1]
    return hops
