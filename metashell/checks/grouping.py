"""By what partitions can be counted: each name with what a partition counts for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from struct import Struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from metashell.checks.partitions import BITS
from metashell.checks.runs import PartitionSurvey

if TYPE_CHECKING:
    from metashell.checks.health import Health
    from metashell.image import TopicImage

NO_LEADER: Final = -1
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
"""Of these topics, by id, only some partitions count; of all others all do."""
_NO_LIMITS: Final[Only] = MappingProxyType({})


def count_partitions(health: Health, topics: Iterable[TopicImage], by: str, only: Only = _NO_LIMITS) -> dict[Any, int]:
    """How many partitions of the topics there are of each value of `by`, one of PARTITION_GROUPS.

    Shape: by `broker` and `rack`, each replica counts; by `state`, a partition counts for the worst that is wrong with it.
    """
    if by == "topic":
        # A name may stand for two topics: a later one took it, and the former is there still.
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
"""What can be read from a row without decoding it; see `runs`."""


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
