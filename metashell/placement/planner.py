"""Computes a plan: replicas first, which cost data, then leaders, which cost nothing."""

from __future__ import annotations

from metashell.placement.cluster import Cluster, Goals, Partition, PlacementError
from metashell.placement.evening import Budget, Ground, TopicRule, allowed, even_out
from metashell.placement.leaders import even_leaders
from metashell.placement.masks import bits, lightest
from metashell.placement.saving import STEPS_MAX, Exchange, save_moves
from metashell.placement.working import Working

ALL_GOALS = Goals()


def make_plan(cluster: Cluster, goals: Goals = ALL_GOALS) -> list[tuple[Partition, tuple[int, ...]]]:
    """Every partition whose replicas change, or their order, with its new replicas; ordered by topic and number.

    Replicas leave the brokers that are left, every partition gets its racks, then each topic's replicas become even, then all replicas as
    far as topics stay even, then leaders in the same way. Errors: PlacementError where a partition finds too few brokers.
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
            _even_topic(working, members, budget)
    if goals.replicas:
        _even_all(working, keeps_topics=goals.topics)
    if goals.leaders:
        even_leaders(working, keeps_topics=goals.topics)
    ids = [broker.id for broker in working.brokers]
    planned = [
        (partition, tuple(ids[place] for place in places)) for partition, places in zip(working.partitions, working.replicas, strict=True)
    ]
    return [(partition, replicas) for partition, replicas in planned if replicas != partition.replicas]


def _leave(working: Working) -> None:
    """Every replica on a broker that is left goes to the broker with the fewest of its topic, then of all."""
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
    """A partition in fewer racks than it could be gives one of two replicas in a rack to another rack."""
    racks = working.racks
    if not racks.is_kept:
        return
    for number, replicas in enumerate(working.replicas):
        while racks.spanned(replicas) < racks.needed(len(replicas)):
            # The last of two first: the preferred leader stays.
            for source in reversed(replicas):
                mates = working.masks[number] & racks.mates[source]
                if mates.bit_count() > 1 and working.takers >> source & 1 and (targets := working.options(number, source)):
                    working.move(number, source, lightest(targets, working.counts, working.sizes))
                    break
            else:
                # No replica that shares a rack may move, or no broker of another rack may take one.
                break


def _even_topic(working: Working, members: list[int], budget: Budget) -> None:
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

    even_out(Ground(counts, working.counts, working.options, things, move, working.takers))
    save_moves(working, members, Exchange(working.options, move, lambda source, target: source == target), budget)


def _even_all(working: Working, *, keeps_topics: bool) -> None:
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

    ground = Ground(counts, working.sizes, working.options, things, move, working.takers, rule)
    even_out(ground)

    def may_end(source: int, target: int) -> bool:
        # A chain may end at a broker with one less: the two exchange their counts, so the counts as a whole stay as even as they were.
        return source == target or counts[target] == counts[source] - 1

    save_moves(working, numbers, Exchange(lambda number, source: allowed(ground, number, source), move, may_end), Budget(STEPS_MAX))
