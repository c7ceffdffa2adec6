"""What an outcome must say, found out the slow way: all partitions are looked at again whenever anything happens."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from metashell.codec.codes import BROKER_RESOURCE
from metashell.metadata.image import MetadataDelta, MetadataImage, PartitionRegistration
from metashell.quorum.controller.decision import UNCLEAN_ELECTION
from metashell.rehearse.outcome import BrokerState, Outcome, Trouble
from metashell.rehearse.steps import RestartBroker

Key = tuple[str, int]
_ALIVE = {BrokerState.FENCED, BrokerState.SERVING, BrokerState.SHUTTING_DOWN}


def replayed(outcome: Outcome) -> Iterator[tuple[int, MetadataImage]]:
    """The image before, and after each batch, with the time from which on it counts."""
    image = outcome.before
    yield -1 << 40, image
    for batch in outcome.batches:
        delta = MetadataDelta(image)
        for record, _ in batch.records:
            delta.replay(record)
        image = delta.apply()
        yield batch.at_ms, image


def partitions_of(image: MetadataImage) -> dict[Key, PartitionRegistration]:
    return {(topic.name, id): partition for topic, id, partition in image.topics.iter_partitions()}


def states_at(outcome: Outcome, at_ms: int) -> dict[int, BrokerState]:
    """What each broker is once everything of that millisecond has happened."""
    states = {}
    for span in outcome.broker_spans:
        if span.from_ms <= at_ms and (span.to_ms is None or at_ms < span.to_ms):
            states[span.broker] = span.state
    return states


def instants(outcome: Outcome) -> list[int]:
    """Every time from 0 on at which something happened."""
    times = {0, outcome.ended_ms}
    times.update(batch.at_ms for batch in outcome.batches)
    times.update(span.from_ms for span in outcome.broker_spans)
    times.update(end for interval in outcome.intervals for end in (interval.from_ms, interval.to_ms) if end is not None)
    return sorted(at_ms for at_ms in times if at_ms >= 0)


def offline_at(image: MetadataImage, states: dict[int, BrokerState], *, unclean: bool) -> tuple[set[Key], set[Key]]:
    """The partitions that are offline, and those of them that a broker in sync could lead that serves."""
    alive = {id for id, state in states.items() if state in _ALIVE and id in image.cluster.brokers}
    active = {id for id in alive if not image.cluster.brokers[id].fenced}
    offline, needlessly = set(), set()
    for key, partition in partitions_of(image).items():
        in_sync = {*partition.isr} & alive
        may_lead = {*(partition.replicas if unclean else partition.elr)} & active
        if partition.leader < 0 or (partition.leader not in alive and not in_sync and not may_lead):
            offline.add(key)
            if any(states[id] is BrokerState.SERVING for id in in_sync & active):
                needlessly.add(key)
    return offline, needlessly


def check(outcome: Outcome) -> None:
    """Everything of an outcome that can be found out in another way."""
    unclean = outcome.before.configs.get((BROKER_RESOURCE, ""), {}).get(UNCLEAN_ELECTION) == "true"
    images = list(replayed(outcome))
    assert images[-1][1].has_same_metadata(outcome.after)
    _check_intervals(outcome, images, unclean=unclean)
    _check_diff(outcome)
    _check_loads(outcome)


def _check_intervals(outcome: Outcome, images: list[tuple[int, MetadataImage]], *, unclean: bool) -> None:
    starts = [at_ms for at_ms, _ in images]
    has_empty_disk = any(isinstance(report.step, RestartBroker) and report.step.empty is not None for report in outcome.steps)
    told = [interval for interval in outcome.intervals if interval.trouble is Trouble.OFFLINE]
    went: set[Key] = set()
    was_offline: set[Key] = set()
    for at_ms in instants(outcome):
        image = images[bisect_right(starts, at_ms) - 1][1]
        offline, needlessly = offline_at(image, states_at(outcome, at_ms), unclean=unclean)
        covering = {(one.topic, one.partition) for one in told if one.from_ms <= at_ms and (one.to_ms is None or at_ms < one.to_ms)}
        assert covering == offline, at_ms
        # A broker with an empty disk may be in the ISR and serve, and no election makes it the leader for a time: so does Kafka's.
        assert not needlessly or has_empty_disk, at_ms
        went |= offline - was_offline if at_ms > 0 else set()
        was_offline = offline
    assert {(one.topic, one.partition) for one in told if not one.was_before} >= went
    toll = outcome.verdict.tolls[Trouble.OFFLINE]
    assert toll.partitions == len({(one.topic, one.partition) for one in told if not one.was_before})
    if outcome.verdict.status == 0:
        assert not went
        assert not outcome.intervals_of(Trouble.UNCLEAN)


def _check_diff(outcome: Outcome) -> None:
    before, after = partitions_of(outcome.before), partitions_of(outcome.after)
    told = {(diff.topic, diff.partition): (diff.before, diff.after) for diff in outcome.diff.partitions}
    recreated = {topic.name for topic in outcome.before.topics if topic.id not in outcome.after.topics.by_id}
    expected = {
        key: (before.get(key), after.get(key)) for key in {*before, *after} if before.get(key) != after.get(key) and key[0] not in recreated
    }
    assert {key: value for key, value in told.items() if key[0] not in recreated} == expected
    was, now = outcome.before.cluster.brokers, outcome.after.cluster.brokers
    assert {diff.broker for diff in outcome.diff.brokers} == {id for id in {*was, *now} if was.get(id) != now.get(id)}


def _check_loads(outcome: Outcome) -> None:
    for image, is_after in ((outcome.before, False), (outcome.after, True)):
        leaders: Counter[int] = Counter()
        replicas: Counter[int] = Counter()
        for partition in partitions_of(image).values():
            leaders[partition.leader] += 1
            replicas.update(partition.replicas)
        for loads in outcome.brokers:
            load = loads.after if is_after else loads.before
            told = (0, 0) if load is None else (load.leaders, load.replicas)
            assert told == (leaders[loads.broker], replicas[loads.broker]), (loads.broker, is_after)
        racks = {rack.rack: rack.after if is_after else rack.before for rack in outcome.racks}
        assert sum(load.replicas for load in racks.values()) == sum(replicas.values())
