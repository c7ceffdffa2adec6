"""The health of an image's partitions: one pass over all of them, and counts by broker, rack, state or field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from operator import attrgetter
from struct import Struct, unpack_from
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from metashell.common.values import uuid_text
from metashell.metadata.checks.partitions import BITS, REASSIGNING, MinIsr, PartitionJudge
from metashell.metadata.checks.survey import PartitionSurvey, SoundColumns, Sweep, first_factor

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage, TopicImage


PartitionKey = tuple[bytes, int]
"""A partition by its topic's id and its number."""
STUCK: Final = "stuck_reassignment"
_COUNTED_MAX: Final = 100_000


class Health:
    """The state of one image's partitions and voters; everything is worked out once, at its first use.

    `static_min_isr` is min.insync.replicas of the nodes' server.properties, which no record holds. `voter_ids` gives the voters if no
    record does.
    """

    def __init__(
        self,
        image: MetadataImage,
        *,
        static_min_isr: int = 1,
        voter_ids: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        self.image = image
        self._voter_ids = voter_ids
        self._vanished: set[int] = set()
        self._judges: dict[int | None, PartitionJudge] = {}
        self._surveys: dict[int | None, PartitionSurvey[int]] = {}
        self._min_isr = MinIsr(image, static_min_isr)
        self._counts: dict[str, int] | None = None
        self._unsound: list[tuple[TopicImage, int]] = []
        self._slow: frozenset[PartitionKey] = frozenset()
        self._by_factor: dict[int, list[TopicImage]] | None = None

    def with_slow(self, slow: Iterable[PartitionKey]) -> Health:
        """A copy that also counts these reassignments, which have lasted too long, as stuck."""
        self.counts()
        other = copy(self)
        other._slow = frozenset(slow)
        return other

    def counts(self) -> dict[str, int]:
        """Return the number of partitions for each of `BITS` and, as `partitions`, of all. The first call makes one pass and keeps it."""
        if self._counts is None:
            total = 0
            by_bits: Counter[int] = Counter()
            unsound: list[tuple[TopicImage, int]] = []
            for topic, answers in self.sweep(self.image.topics):
                total += len(answers)
                if any(answers):
                    by_bits.update(answers)
                    union = 0
                    for bits in set(answers):
                        union |= bits
                    unsound.append((topic, union))
            unsound.sort(key=_name_and_id)
            # Both are set at once and last, so that a pass that Ctrl-C interrupts leaves nothing half done.
            self._counts, self._unsound = {"partitions": total, **_per_kind(by_bits)}, unsound
        return self._counts

    def sweep(self, topics: Iterable[TopicImage]) -> Iterator[tuple[TopicImage, Sequence[int]]]:
        """Each topic with the bits of its partitions, both in any order."""
        return Sweep(self.survey, SoundColumns(self._judge(None))).answers(topics)

    def judge(self, topic: TopicImage) -> list[int]:
        """The bits of each partition, in any order."""
        return self.survey(topic).answers(topic)

    def judge_of(self, topic: TopicImage) -> PartitionJudge:
        """The judge of a topic's partitions; topics with the same min.insync.replicas share one."""
        return self._judge(self._min_isr.own.get(topic.name))

    def topic_counts(self, topic: TopicImage) -> dict[str, int]:
        """The counts of one topic, without `partitions`."""
        answers = self.judge(topic)
        return _per_kind(Counter(answers)) if any(answers) else dict.fromkeys(BITS, 0)

    def count_of(self, kind: str) -> int:
        """Return the number of partitions of a kind, one of BITS."""
        counts = self.counts()
        return sum(1 for _ in self.partitions_of(kind)) if kind == STUCK and self._slow else counts[kind]

    def partition_name(self, topic: TopicImage, partition_id: int) -> str:
        """`orders/0`; with the topic's id instead if another topic has taken its name."""
        return f"{topic.name if self.image.topics.is_named(topic) else uuid_text(topic.id)}/{partition_id}"

    def partitions_of(self, kind: str) -> Iterator[tuple[TopicImage, int]]:
        """The partitions of a kind, one of BITS, ordered by topic and id."""
        if kind != STUCK or not self._slow:
            return self.partitions(BITS[kind])
        stuck = {(topic.id, partition_id) for topic, partition_id in self.partitions(BITS[kind])} | self._slow
        return (found for found in self.partitions(REASSIGNING) if (found[0].id, found[1]) in stuck)

    def partitions(self, bits: int) -> Iterator[tuple[TopicImage, int]]:
        """Every partition that has one of the bits, ordered by topic and id."""
        self.counts()
        for topic, union in self._unsound:
            if not union & bits:
                continue
            for partition_id, found in sorted(self.survey(topic).by_id(topic).items()):
                if found & bits:
                    yield topic, partition_id

    def racks_without(self, topic: TopicImage, partition_id: int) -> list[str]:
        """The racks, in order, on which a partition has no replica."""
        brokers = self.image.cluster.brokers
        taken = {brokers[id].rack for id in topic.partitions[partition_id].replicas if id in brokers}
        return sorted({broker.rack for broker in brokers.values() if broker.rack is not None} - taken)

    def waits_for(self, topic: TopicImage, partition_id: int) -> list[str]:
        """Return what the reassignment of a partition waits for, a text for each broker or directory."""
        return list(self.judge_of(topic).waits_for(topic.partitions[partition_id]))

    def survey(self, topic: TopicImage) -> PartitionSurvey[int]:
        """The survey that judges a topic's partitions; topics with the same min.insync.replicas share one."""
        own = self._min_isr.own.get(topic.name)
        survey = self._surveys.get(own)
        if survey is None:
            judge = self._judge(own)
            survey = self._surveys[own] = PartitionSurvey(judge, judge.sound_row)
        return survey

    def _judge(self, own_min_isr: int | None) -> PartitionJudge:
        judge = self._judges.get(own_min_isr)
        if judge is None:
            usual = self._min_isr
            floor, of_leaders = (usual.usual, usual.of_brokers) if own_min_isr is None else (own_min_isr, {})
            judge = self._judges[own_min_isr] = PartitionJudge(self.image, floor, of_leaders, self._vanished)
        return judge

    @property
    def vanished(self) -> list[int]:
        """The brokers that partitions name and that are not registered.

        The judges also see rows of a snapshot that later records have changed, so each broker is looked for among the partitions that are
        found to name one. Example: after the replicas of broker 7 were moved, the snapshot's rows still name it.
        """
        self.counts()
        brokers, named = self.image.cluster.brokers, set[int]()
        for topic, partition_id in self.partitions_of("unregistered_replica") if self._vanished else ():
            named.update(id for id in topic.partitions[partition_id].replicas if id not in brokers)
            if named == self._vanished:
                break
        return sorted(named)

    def by_factor(self) -> Mapping[int, list[TopicImage]]:
        """The topics by the replication factor of their first partition, in any order; replicas that a reassignment adds do not count."""
        if self._by_factor is None:
            found: dict[int, list[TopicImage]] = {}
            for topic in self.image.topics:
                found.setdefault(first_factor(topic), []).append(topic)
            self._by_factor = found
        return self._by_factor

    def preferred_leaders(self) -> tuple[Counter[int], bool]:
        """Return how many partitions each broker should lead, and whether only every n-th topic was counted, as in a large cluster."""
        topics = self.image.topics
        step = 1 + self.counts()["partitions"] // _COUNTED_MAX
        survey = PartitionSurvey(lambda partition: next(iter(partition.replicas), -1), _first_replica)
        counts: Counter[int] = Counter()
        for topic in islice(topics, 0, None, step):
            counts.update(survey.answers(topic))
        counts.pop(-1, None)
        return counts, step > 1

    def needing_all(self) -> list[tuple[TopicImage, int]]:
        """The topics with several replicas that need all of them in sync by min.insync.replicas, each with its replication factor."""
        own, usual = self._min_isr.own, self._min_isr.usual
        found = []
        for factor, topics in self.by_factor().items():
            if factor > 1 and (own or factor <= usual):
                found += [(topic, factor) for topic in topics if factor <= own.get(topic.name, usual)]
        return sorted(found, key=lambda one: _name_and_id((one[0], 0)))

    def min_isr_of(self, topic: str) -> int:
        """min.insync.replicas of a topic, ignoring the settings of single brokers."""
        return self._min_isr.own.get(topic, self._min_isr.usual)

    @property
    def unreadable_min_isr(self) -> list[str]:
        return self._min_isr.unreadable

    def voters(self) -> Iterable[int]:
        """The ids of the voters; empty if nobody knows them."""
        image = self.image
        if image.voters is not None:
            return [voter.id for voter in image.voters.voters]
        known = () if image.leader is None else image.leader.voter_ids
        return known or self._voter_ids()


def _name_and_id(found: tuple[TopicImage, int]) -> tuple[str, bytes]:
    return found[0].name, found[0].id


def _first_replica(row: tuple[bytes, bytes]) -> int:
    first = row[0]
    return int.from_bytes(first[1:5], "big", signed=True) if 1 < first[0] < 128 else -1


def _per_kind(by_bits: Counter[int]) -> dict[str, int]:
    return {name: sum(count for bits, count in by_bits.items() if bits & bit) for name, bit in BITS.items()}


# ---- counts by a property


SOUND: Final = "sound"

_FIELDS: Final = {
    "leader": "leader",
    "replicas": "replicas",
    "isr": "isr",
    "addingReplicas": "adding_replicas",
    "removingReplicas": "removing_replicas",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "leaderRecoveryState": "leader_recovery_state",
}
"""Fields of a partition by the names that `cat` shows."""

PARTITION_GROUPS: Final = ("broker", "rack", "state", "topic", *_FIELDS)


Row = tuple[bytes, bytes]
Only = Mapping[bytes, Collection[int]]
"""The partitions that count of some topics, by topic id; of all other topics every partition counts."""
_NO_LIMITS: Final[Only] = MappingProxyType({})


def count_partitions(health: Health, topics: Iterable[TopicImage], by: str, only: Only = _NO_LIMITS) -> dict[Any, int]:
    """Count the partitions of some topics for each value of `by`, one of PARTITION_GROUPS.

    Shape: by `broker` and `rack`, each replica counts; by `state`, a partition counts once, by the worst of its bits.
    """
    if by == "topic":
        # Two topics may have one name: a later topic took it while the former one is still there.
        by_name: Counter[str] = Counter()
        for topic in topics:
            by_name[topic.name] += len(only[topic.id]) if topic.id in only else topic.partition_count
        return dict(by_name)
    if by == "state":
        return _by_state(health, list(topics), only)
    if by in ("broker", "rack"):
        return _by_replica(health, topics, by, only)
    return dict(_tally(topics, _FIELDS[by], only))


def _leader_of_row(row: Row) -> int:
    return int.from_bytes(row[0][-4:], "big", signed=True)


def _replicas_of_row(row: Row) -> tuple[int, ...]:
    first = row[0]
    count = first[0] - 1
    return _read_ids[count](first, 1) if count < len(_read_ids) else Struct(f">{count}i").unpack_from(first, 1)


_read_ids: Final = [Struct(f">{count}i").unpack_from for count in range(8)]
_QUICKLY: Final[dict[str, Callable[[Row], Any]]] = {"leader": _leader_of_row, "replicas": _replicas_of_row}
"""Fields that can be read from a row without decoding it; see `survey.py`."""


def _tally(topics: Iterable[TopicImage], field: str, only: Only) -> Counter[Any]:
    survey: PartitionSurvey[Any] = PartitionSurvey(attrgetter(field), _QUICKLY.get(field))
    counts: Counter[Any] = Counter()
    for topic in topics:
        counts.update(_answers(survey, topic, only))
    return counts


def _answers(survey: PartitionSurvey[Any], topic: TopicImage, only: Only) -> Iterable[Any]:
    wanted = only.get(topic.id)
    if wanted is None:
        return survey.answers(topic)
    return [answer for partition_id, answer in survey.by_id(topic).items() if partition_id in wanted]


def _by_replica(health: Health, topics: Iterable[TopicImage], by: str, only: Only) -> dict[Any, int]:
    brokers = health.image.cluster.brokers
    counts: Counter[Any] = Counter()
    for replicas, count in _tally(topics, "replicas", only).items():
        for id in replicas:
            if by == "broker":
                counts[id] += count
            else:
                counts[brokers[id].rack if id in brokers else None] += count
    return dict(counts)


def _by_state(health: Health, topics: Collection[TopicImage], only: Only) -> dict[Any, int]:
    by_bits: Counter[int] = Counter()
    limited = [topic for topic in topics if topic.id in only]
    for _, answers in health.sweep(topic for topic in topics if topic.id not in only):
        by_bits.update(answers)
    for topic in limited:
        by_bits.update(_answers(health.survey(topic), topic, only))
    counts: Counter[str] = Counter()
    for bits, count in by_bits.items():
        counts[next((name for name, bit in BITS.items() if bits & bit), SOUND)] += count
    return dict(counts)


class EarlyRow:
    """A partition that has only these fields, each read from its row when it is used."""

    __slots__ = ("_first",)

    def __init__(self, first: bytes) -> None:
        self._first = first

    @property
    def leader(self) -> int:
        return int.from_bytes(self._first[-4:], "big", signed=True)

    @property
    def replicas(self) -> tuple[int, ...]:
        return self._array(0)

    @property
    def isr(self) -> tuple[int, ...]:
        return self._array(1)

    @property
    def removing_replicas(self) -> tuple[int, ...]:
        return self._array(2)

    @property
    def adding_replicas(self) -> tuple[int, ...]:
        return self._array(3)

    def _array(self, index: int) -> tuple[int, ...]:
        first = self._first
        at = 0
        for _ in range(index):
            at += (first[at] - 1) * 4 + 1
        return unpack_from(f">{first[at] - 1}i", first, at + 1)
