"""Tracks the troubles of partitions, and compares an image with a later one.

Only objects that the records between the two images touched are compared."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Final

from metashell.metadata.checks.partitions import MinIsr, is_leaderless, is_under_min_isr
from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.quorum.controller.decision import finalized_features
from metashell.quorum.controller.state import State, partition_of
from metashell.rehearse.outcome import BrokerDiff, ConfigDiff, FeatureDiff, ImageDiff, Interval, PartitionDiff, Toll, Trouble
from metashell.rehearse.quorum import Clock

PartitionKey = tuple[bytes, int]
"""(topic id, partition)."""

_BITS: Final = ((1, Trouble.OFFLINE), (2, Trouble.FAILOVER), (4, Trouble.UNDER_MIN_ISR), (8, Trouble.STALLED))
_OFFLINE, _FAILOVER, _UNDER_MIN_ISR, _STALLED = (bit for bit, _ in _BITS)


class _Open:
    """The present troubles of one partition."""

    __slots__ = ("bits", "cause", "name", "since")

    def __init__(self, name: str) -> None:
        self.name = name
        self.bits = 0
        self.since: dict[Trouble, tuple[int, str, bool]] = {}


class TroubleWatch:
    """Examines partitions when something touches them, and keeps the intervals of their troubles.

    Shape: `living` are the living brokers. All intervals count in the tolls; of those other than OFFLINE and UNCLEAN only `kept_max` are
    kept one by one, and `left_out` counts the rest.
    """

    def __init__(self, state: State, living: Container[int], clock: Clock, kept_max: int, static_min_isr: int) -> None:
        self._state = state
        self._static_min_isr = static_min_isr
        self._min_isr = MinIsr(state.image, static_min_isr)
        self._configs = state.image.configs
        self._living = living
        self._clock = clock
        self._room = kept_max
        self._open: dict[PartitionKey, _Open] = {}
        self._worst: dict[Trouble, int] = {}
        self._troubled: dict[Trouble, set[PartitionKey]] = {trouble: set() for trouble in Trouble}
        self._is_before = True
        self.intervals: list[Interval] = []
        self.left_out = 0
        self.offline_before = 0
        self.emptied: dict[str, None] = {}
        self.cause = ""

    def begin(self) -> None:
        """Begin the first step: troubles from here on are consequences of the steps."""
        self._is_before = False
        self.offline_before = sum(open.bits & _OFFLINE for open in self._open.values())

    def examine(self, key: PartitionKey, topic: TopicImage, partition: PartitionRegistration) -> None:
        """Examine a partition."""
        bits = self.troubles(topic, partition)
        open = self._open.get(key)
        if open is None:
            if bits:
                open = self._open[key] = _Open(topic.name)
                self._change(key, open, bits)
        elif bits != open.bits:
            self._change(key, open, bits)

    def troubles(self, topic: TopicImage, partition: PartitionRegistration) -> int:
        living, isr, leader = self._living, partition.isr, partition.leader
        alive = 0
        for id in isr:
            if id in living:
                alive += 1
        if is_leaderless(partition):
            return _OFFLINE
        if leader in living:
            bits = 0 if alive == len(isr) else _STALLED
        elif alive or self._is_saved(topic, partition):
            bits = _FAILOVER
        else:
            return _OFFLINE
        # The ISR may still have a dead member: until that leaves, leaders accept writes and wait for it.
        if is_under_min_isr(isr, partition.replicas, self._needed(topic.name, leader)):
            bits |= _UNDER_MIN_ISR
        return bits

    def _needed(self, topic_name: str, leader: int) -> int:
        image = self._state.image
        if image.configs is not self._configs:
            self._configs, self._min_isr = image.configs, MinIsr(image, self._static_min_isr)
        return self._min_isr.of(topic_name, leader)

    def _is_saved(self, topic: TopicImage, partition: PartitionRegistration) -> bool:
        """Return whether the controller will find another leader although no replica in sync is alive."""
        may_lead = partition.replicas if self._state.rules.allows_unclean(topic.name) else partition.elr
        brokers = self._state.image.cluster.brokers
        return any(id in self._living and id in brokers and not brokers[id].fenced for id in may_lead)

    def note_unclean(self, key: PartitionKey, topic: TopicImage, *, is_empty: bool) -> None:
        """Note the election of a leader that may lack records."""
        if is_empty:
            self.emptied[f"{topic.name}-{key[1]}"] = None
        now_ms = self._clock.now_ms
        self._count(key, Trouble.UNCLEAN, 0)
        self.intervals.append(Interval(topic.name, key[1], Trouble.UNCLEAN, now_ms, now_ms, cause=self.cause))

    def _change(self, key: PartitionKey, open: _Open, bits: int) -> None:
        now_ms = self._clock.now_ms
        for bit, trouble in _BITS:
            if bits & bit and not open.bits & bit:
                open.since[trouble] = now_ms, self.cause, self._is_before
            elif open.bits & bit and not bits & bit:
                self._close(key, open, trouble, now_ms)
        open.bits = bits
        if not bits:
            del self._open[key]

    def _close(self, key: PartitionKey, open: _Open, trouble: Trouble, to_ms: int | None) -> None:
        from_ms, cause, was_before = open.since.pop(trouble)
        if from_ms == to_ms:
            return
        if not was_before:
            self._count(key, trouble, (self._clock.now_ms if to_ms is None else to_ms) - from_ms)
        if trouble is not Trouble.OFFLINE:
            if self._room <= 0:
                self.left_out += 1
                return
            self._room -= 1
        self.intervals.append(Interval(open.name, key[1], trouble, 0 if was_before else from_ms, to_ms, was_before, cause))

    def _count(self, key: PartitionKey, trouble: Trouble, length_ms: int) -> None:
        self._troubled[trouble].add(key)
        self._worst[trouble] = max(self._worst.get(trouble, 0), length_ms)

    def has_trouble(self, key: PartitionKey) -> bool:
        return key in self._open

    @property
    def troubled(self) -> Collection[PartitionKey]:
        """The partitions in trouble now."""
        return self._open.keys()

    def forget_topic(self, topic_id: bytes) -> None:
        """End the troubles of a deleted topic."""
        for key in [key for key in self._open if key[0] == topic_id]:
            self._change(key, self._open[key], 0)

    def examine_all(self) -> None:
        for topic in self._state.image.topics:
            self.examine_topic(topic)

    def examine_topic(self, topic: TopicImage) -> None:
        """Examine all partitions of a topic after a change of its settings."""
        for partition_id, partition in topic.partitions.items():
            self.examine((topic.id, partition_id), topic, partition)

    def close(self) -> dict[Trouble, Toll]:
        """End the rehearsal; troubles that last have no end. Return the toll of each trouble."""
        at_end = dict.fromkeys(Trouble, 0)
        lasting: set[Trouble] = set()
        for key, open in self._open.items():
            for trouble, (_, _, was_before) in list(open.since.items()):
                if not was_before:
                    at_end[trouble] += 1
                    lasting.add(trouble)
                self._close(key, open, trouble, None)
        self._open.clear()
        self.intervals.sort(key=lambda one: (one.from_ms, one.topic, one.partition, one.trouble.value))
        return {
            trouble: Toll(len(keys), None if trouble in lasting else self._worst.get(trouble, 0), at_end[trouble])
            for trouble, keys in self._troubled.items()
        }


_NOTHING: Mapping[str, str] = {}


class Touched:
    """Notes the topics, brokers and settings that the records of a rehearsal touch."""

    def __init__(self) -> None:
        self.partitions: dict[PartitionKey, None] = {}
        self.removed_topics: set[bytes] = set()
        self.made_topics: set[bytes] = set()


def changed_partitions(
    before: MetadataImage, after: MetadataImage, touched: Touched
) -> Iterator[tuple[str, PartitionKey, PartitionRegistration | None, PartitionRegistration | None]]:
    """The partitions that differ, with the names of their topics, including those of removed topics."""
    keys = [*touched.partitions]
    for topic_id in touched.removed_topics:
        topic = before.topics.by_id.get(topic_id)
        if topic is not None:
            keys += [(topic_id, partition_id) for partition_id in topic.partition_ids()]
    for topic_id, partition_id in dict.fromkeys(keys):
        was, now = before.topics.by_id.get(topic_id), after.topics.by_id.get(topic_id)
        old = None if was is None else partition_of(was, partition_id)
        new = None if now is None else partition_of(now, partition_id)
        if old != new:
            topic = was or now
            assert topic is not None, "one of both has the partition"
            yield topic.name, (topic_id, partition_id), old, new


def image_diff(before: MetadataImage, after: MetadataImage, touched: Touched, partitions: Iterable[PartitionDiff]) -> ImageDiff:
    """All differences, each part in order."""
    return ImageDiff(
        topics_created=_names(after, before, touched.made_topics),
        topics_deleted=_names(before, after, touched.removed_topics),
        partitions=tuple(sorted(partitions, key=lambda diff: (diff.topic, diff.partition))),
        brokers=tuple(_broker_diffs(before, after)),
        configs=tuple(_config_diffs(before, after)),
        features=tuple(_feature_diffs(before, after)),
    )


def _names(having: MetadataImage, lacking: MetadataImage, topic_ids: Iterable[bytes]) -> tuple[str, ...]:
    found = (having.topics.by_id[id] for id in topic_ids if id in having.topics.by_id and id not in lacking.topics.by_id)
    return tuple(sorted(topic.name for topic in found))


def _broker_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[BrokerDiff]:
    was, now = before.cluster.brokers, after.cluster.brokers
    for id in sorted({*was, *now}):
        if was.get(id) != now.get(id):
            yield BrokerDiff(id, was.get(id), now.get(id))


def _config_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[ConfigDiff]:
    if before.configs is after.configs:
        return
    for resource in sorted({*before.configs, *after.configs}):
        was: Mapping[str, str] = before.configs.get(resource, _NOTHING)
        now: Mapping[str, str] = after.configs.get(resource, _NOTHING)
        if was is now:
            continue
        for name in sorted({*was, *now}):
            if was.get(name) != now.get(name):
                yield ConfigDiff(*resource, name, was.get(name), now.get(name))


def _feature_diffs(before: MetadataImage, after: MetadataImage) -> Iterator[FeatureDiff]:
    was, now = finalized_features(before), finalized_features(after)
    for name in sorted({*was, *now}):
        if was.get(name, 0) != now.get(name, 0):
            yield FeatureDiff(name, was.get(name, 0), now.get(name, 0))
