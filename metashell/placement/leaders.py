"""Even preferred leaders: the order of a partition's replicas decides who is first; no data moves for it."""

from __future__ import annotations

from metashell.placement.evening import Ground, TopicRule, even_out
from metashell.placement.masks import Levels
from metashell.placement.working import Working


def even_leaders(working: Working, *, keeps_topics: bool) -> None:
    """Choose each partition's preferred leader among its replicas: even within each topic first, then over all."""
    totals = list(working.fixed_leaders)
    for number in range(len(working.partitions)):
        totals[_settle(working, number)] += 1
    if keeps_topics:
        for members in working.topics:
            _even_topic(working, members, totals)
    _even_all(working, totals, keeps_topics=keeps_topics)


def _settle(working: Working, number: int) -> int:
    """Put a broker first that may lead: the present first one if it stays, else the first that stays, else any. The index of it."""
    replicas = working.replicas[number]
    # A replica that has to be copied first cannot lead at once, so one that stays is preferred to it.
    stays = working.origins[number] & working.takers
    for allowed in (stays, working.takers, -1):
        for place in replicas:
            if allowed >> place & 1:
                _put_first(replicas, place)
                return place
    raise AssertionError(number)


def _put_first(replicas: list[int], place: int) -> None:
    """The new leader changes places with the old one; the others stay where they are.

    The order also says who leads next when a leader fails, so it is disturbed as little as possible.
    """
    index = replicas.index(place)
    replicas[0], replicas[index] = replicas[index], replicas[0]


def _even_topic(working: Working, members: list[int], totals: list[int]) -> None:
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

    even_out(Ground(counts, totals, options, lambda source: list(leads.get(source, ())), move, working.takers))


def _even_all(working: Working, totals: list[int], *, keeps_topics: bool) -> None:
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

    even_out(Ground(totals, totals, options, lambda source: list(leads[source]), move, working.takers, rule))
