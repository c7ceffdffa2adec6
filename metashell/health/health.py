"""The health of a cluster: one pass over its partitions, and what is wrong with its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.acl_hosts import is_range
from metashell.codec.code_words import ACL_OPERATIONS, ACL_PERMISSION_TYPES, ACL_RESOURCE_TYPES
from metashell.codec.metadata_version import ACL_RANGES_LEVEL, KRAFT_VERSION, REGISTER_CONTROLLER_LEVEL, level_name
from metashell.codec.releases import NEWEST_RELEASE
from metashell.health.min_isr import MinIsr
from metashell.health.partitions import BITS, REASSIGNING, PartitionJudge
from metashell.health.runs import PartitionSurvey
from metashell.health.sweep import SoundColumns, Sweep
from metashell.image.newer import damage_of, newer_parts
from metashell.values import uuid_text

if TYPE_CHECKING:
    from immutables import Map

    from metashell.image import MetadataImage, TopicImage

PartitionKey = tuple[bytes, int]
"""A partition by its topic's id and its number."""
NOTHING_TOLD: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})
_ALSO_OF_A_PART: Final = {"incomplete", "fault", "newer_record", "newer_level", "lagging", "not_followed"}
"""What can be said of an image that lacks the beginning of the log."""
STUCK_KIND: Final = "stuck_reassignment"
BAD: Final = "bad"
UNUSUAL: Final = "unusual"


class Kind(NamedTuple):
    """One kind of judgement: its name, how bad it is, and what it says of what it counts."""

    name: str
    severity: str
    words: str


KINDS: Final = (
    Kind("incomplete", BAD, "the log begins late and without a snapshot: what came before is missing, so nothing else is judged"),
    Kind("not_followed", BAD, "the quorum is not followed, and this is not its newest state"),
    Kind("empty", BAD, "the metadata is as it was formatted: no node has written to it, so there is nothing to judge"),
    Kind("leaderless", BAD, "partitions without a leader"),
    Kind("offline", BAD, "partitions whose leader is fenced or not registered"),
    Kind("under_min_isr", BAD, "partitions with fewer replicas in sync than min.insync.replicas: writes with acks=all fail"),
    Kind("under_replicated", BAD, "partitions with fewer replicas in sync than replicas"),
    Kind("unclean", BAD, "partitions whose leader was elected uncleanly and has not recovered"),
    Kind("stuck_reassignment", BAD, "reassignments to a broker that is fenced or not registered, or that last too long"),
    Kind("unregistered_replica", BAD, "partitions with a replica on a broker that is not registered"),
    Kind("offline_directory", BAD, "partitions with a replica in a directory that its broker does not have online"),
    Kind("fenced", BAD, "brokers that are fenced"),
    Kind("vanished", BAD, "brokers that partitions name and that are not registered"),
    Kind("unregistered_voter", BAD, "voters without a registration as controller"),
    Kind("lagging", BAD, "replicas of the metadata that have not had all of it for too long"),
    Kind("unsupported_feature", BAD, "nodes that do not support a finalized feature level"),
    Kind("unreadable_min_isr", BAD, "values of min.insync.replicas that are no number from 1 on, so that another one counts"),
    Kind("no_metadata_version", BAD, "no metadata.version is finalized: a controller of Kafka does not start on this log"),
    Kind("fault", BAD, "records that could not be applied"),
    Kind("newer_record", BAD, f"records newer than Kafka {NEWEST_RELEASE.name}: what they change cannot be relied on"),
    Kind("at_min_isr", UNUSUAL, "partitions that lack replicas and have just min.insync.replicas in sync"),
    Kind("elr", UNUSUAL, "partitions with eligible or last known leader replicas"),
    Kind("not_preferred", UNUSUAL, "partitions not led by their preferred replica"),
    Kind("reassigning", UNUSUAL, "partitions that are being reassigned"),
    Kind("unassigned_directory", UNUSUAL, "partitions with a replica that has no directory yet"),
    Kind("cordoned_directory", UNUSUAL, "partitions with a replica in a cordoned directory"),
    Kind("racks", UNUSUAL, "partitions on fewer racks than they could be on"),
    Kind("shutting_down", UNUSUAL, "brokers in controlled shutdown"),
    Kind(
        "newer_level",
        UNUSUAL,
        f"feature levels, or versions of records, newer than Kafka {NEWEST_RELEASE.name}: their rules are not judged here",
    ),
    Kind("holds_upgrade", UNUSUAL, "nodes that do not support a feature level that others do, and so hold back an upgrade to it"),
    Kind(
        "first_records",
        UNUSUAL,
        "records that formatting left where only Kafka from 4.4 on takes them into the log: 4.3 begins at 4.3-IV0 without them",
    ),
    Kind("acl_range", UNUSUAL, "ACLs whose host has a /: no client matches them before Kafka 4.4, which takes them as ranges of addresses"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """How much there is of one kind."""

    kind: Kind
    count: int


class Health:
    """What is wrong in one image; everything is worked out when it is asked for, once.

    `static_min_isr` stands for the server.properties of the nodes, which no record names. `voter_ids` gives the voters where no record
    does.
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
        self._told: Mapping[str, Sequence[str]] = NOTHING_TOLD
        self._vanished: set[int] = set()
        self._judges: dict[int | None, PartitionJudge] = {}
        self._surveys: dict[int | None, PartitionSurvey[int]] = {}
        self._min_isr = MinIsr(image, static_min_isr)
        self._counts: dict[str, int] | None = None
        self._unsound: list[tuple[TopicImage, int]] = []
        self._slow: frozenset[PartitionKey] = frozenset()

    def with_told(self, told: Mapping[str, Sequence[str]]) -> Health:
        """The same with the names of kinds that no image tells: `lagging` and `not_followed`, which only a live quorum knows."""
        self.counts()
        other = copy(self)
        other._told = told
        return other

    def with_slow(self, slow: Iterable[PartitionKey]) -> Health:
        """The same with reassignments that last too long, by topic id and partition; they are stuck too."""
        self.counts()
        other = copy(self)
        other._slow = frozenset(slow)
        return other

    def counts(self) -> dict[str, int]:
        """How many partitions each of `BITS` is true of, and `partitions`, all there are; one pass, at the first call."""
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
            # Both at once and at the end: a pass that Ctrl-C ended leaves nothing behind.
            self._counts, self._unsound = {"partitions": total, **_per_kind(by_bits)}, unsound
        return self._counts

    def sweep(self, topics: Iterable[TopicImage]) -> Iterator[tuple[TopicImage, Sequence[int]]]:
        """Many topics, each with the bits of its partitions; neither is in an order that means anything."""
        return Sweep(self.survey, SoundColumns(self._judge(None))).answers(topics)

    def judge(self, topic: TopicImage) -> list[int]:
        """The bits of each partition, in no order that means anything."""
        return self.survey(topic).answers(topic)

    def judge_of(self, topic: TopicImage) -> PartitionJudge:
        """What says the bits of one partition of a topic; topics with the same min.insync.replicas have the same judge."""
        return self._judge(self._min_isr.own.get(topic.name))

    def topic_counts(self, topic: TopicImage) -> dict[str, int]:
        """The same of one topic, without `partitions`."""
        answers = self.judge(topic)
        return _per_kind(Counter(answers)) if any(answers) else dict.fromkeys(BITS, 0)

    def findings(self) -> list[Finding]:
        """Everything that there is some of, worst first."""
        begins_at = self.image.provenance.begins_at
        found = ((kind, self._count(kind.name)) for kind in KINDS if not begins_at or kind.name in _ALSO_OF_A_PART)
        return [Finding(kind, count) for kind, count in found if count]

    def _count(self, kind: str) -> int:
        counts = self.counts()
        if kind not in counts or (kind == STUCK_KIND and self._slow):
            return sum(1 for _ in self.names(kind))
        return counts[kind]

    def names(self, kind: str) -> Iterator[str]:
        """What is of a kind, in order: partitions as `topic/0`, brokers and voters by id."""
        if kind in BITS:
            return (self.partition_name(topic, partition_id) for topic, partition_id in self.partitions_of(kind))
        if kind in _NODE_NAMES:
            return _NODE_NAMES[kind](self)
        return iter(self._told.get(kind, ()))

    def partition_name(self, topic: TopicImage, partition_id: int) -> str:
        """`orders/0`; by the id of a topic whose name another one has taken."""
        return f"{topic.name if self.image.topics.is_named(topic) else uuid_text(topic.id)}/{partition_id}"

    def partitions_of(self, kind: str) -> Iterator[tuple[TopicImage, int]]:
        """The partitions of a kind, one of BITS, ordered by topic and id."""
        if kind != STUCK_KIND or not self._slow:
            return self.partitions(BITS[kind])
        stuck = {(topic.id, partition_id) for topic, partition_id in self.partitions(BITS[kind])} | self._slow
        return (found for found in self.partitions(REASSIGNING) if (found[0].id, found[1]) in stuck)

    def partitions(self, bits: int) -> Iterator[tuple[TopicImage, int]]:
        """Every partition of which one of the bits is true, ordered by topic and id."""
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

    def survey(self, topic: TopicImage) -> PartitionSurvey[int]:
        """What judges the partitions of a topic; topics with the same min.insync.replicas share one."""
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

    def _fenced(self) -> Iterator[str]:
        return (str(id) for id, broker in sorted(self.image.cluster.brokers.items()) if broker.fenced)

    def _shutting_down(self) -> Iterator[str]:
        brokers = sorted(self.image.cluster.brokers.items())
        return (str(id) for id, broker in brokers if broker.in_controlled_shutdown and not broker.fenced)

    def _vanished_brokers(self) -> Iterator[str]:
        self.counts()
        return map(str, sorted(self._vanished))

    def voters(self) -> Iterable[int]:
        """The ids of the voters, none where nobody knows."""
        image = self.image
        if image.voters is not None:
            return [voter.id for voter in image.voters.voters]
        known = () if image.leader is None else image.leader.voter_ids
        return known or self._voter_ids()

    def _unregistered_voters(self) -> Iterator[str]:
        image = self.image
        if (image.features.metadata_version or 0) < REGISTER_CONTROLLER_LEVEL:
            return iter(())
        return (str(id) for id in sorted(self.voters()) if id not in image.cluster.controllers)

    def _unsupported(self) -> Iterator[str]:
        image = self.image
        levels = image.features.finalized
        for id, broker in sorted(image.cluster.brokers.items()):
            yield from _missing_support(f"broker {id}", broker.supported_features, levels)
        for id, controller in sorted(image.cluster.controllers.items()):
            yield from _missing_support(f"controller {id}", controller.supported_features, levels)

    def _unreadable(self) -> Iterator[str]:
        return iter(self._min_isr.unreadable)

    def _missing(self) -> Iterator[str]:
        begins_at = self.image.provenance.begins_at
        return iter([f"the log before offset {begins_at}"] if begins_at else ())

    def _empty(self) -> Iterator[str]:
        image = self.image
        is_written = image.leader or image.cluster.brokers or image.cluster.controllers or image.topics.by_id
        return iter(() if is_written else ("neither a leader nor a node nor a topic",))

    def _first_records(self) -> Iterator[str]:
        """Those of a bootstrap snapshot: nothing else gives an image at offset 0 of a directory its features."""
        image = self.image
        if image.provenance.source_kind != "directory" or image.provenance.end_offset or image.features.metadata_version is None:
            return
        # What the quorum itself runs at is in control records, which every server reads.
        yield from (f"SCRAM user {name}" for name in sorted({name for users in image.scram.values() for name in users}))
        yield from (level_name(name, level) for name, level in sorted(image.features.finalized.items()) if name != KRAFT_VERSION and level)

    def _no_metadata_version(self) -> Iterator[str]:
        image = self.image
        return iter(("metadata.version",) if image.leader is not None and image.features.metadata_version is None else ())

    def _held_upgrades(self) -> Iterator[str]:
        """The nodes that support less of a feature than another one, where that is more than what is finalized."""
        cluster, finalized = self.image.cluster, self.image.features.finalized
        nodes = [(f"broker {id}", broker.supported_features) for id, broker in sorted(cluster.brokers.items())]
        nodes += [(f"controller {id}", controller.supported_features) for id, controller in sorted(cluster.controllers.items())]
        for feature in sorted({name for _, supported in nodes for name in supported}):
            highest = [(node, supported.get(feature, (0, 0))[1]) for node, supported in nodes]
            best = max(level for _, level in highest)
            if best > finalized.get(feature, 0):
                words = level_name(feature, best).partition(" ")[2]
                yield from (f"{node}: {level_name(feature, level)} at most, others {words}" for node, level in highest if level < best)

    def _acl_ranges(self) -> Iterator[str]:
        if (self.image.features.metadata_version or 0) >= ACL_RANGES_LEVEL:
            return
        for acl in sorted(self.image.acls.by_id.values()):
            if is_range(acl.host):
                done = f"{ACL_PERMISSION_TYPES.get(acl.permission_type)} {ACL_OPERATIONS.get(acl.operation)}"
                yield f"{done} for {acl.principal} from {acl.host} on {ACL_RESOURCE_TYPES.get(acl.resource_type)} {acl.resource_name}"

    def _newer_records(self) -> Iterator[str]:
        return (part.text for part in newer_parts(self.image) if part.missing)

    def _newer_levels(self) -> Iterator[str]:
        return (part.place for part in newer_parts(self.image) if not part.missing)

    def _faults(self) -> Iterator[str]:
        return map(str, damage_of(self.image))


_NODE_NAMES = {
    "fenced": Health._fenced,
    "shutting_down": Health._shutting_down,
    "vanished": Health._vanished_brokers,
    "unregistered_voter": Health._unregistered_voters,
    "unreadable_min_isr": Health._unreadable,
    "incomplete": Health._missing,
    "empty": Health._empty,
    "first_records": Health._first_records,
    "unsupported_feature": Health._unsupported,
    "no_metadata_version": Health._no_metadata_version,
    "newer_record": Health._newer_records,
    "newer_level": Health._newer_levels,
    "holds_upgrade": Health._held_upgrades,
    "acl_range": Health._acl_ranges,
    "fault": Health._faults,
}


def _name_and_id(found: tuple[TopicImage, int]) -> tuple[str, bytes]:
    return found[0].name, found[0].id


def _per_kind(by_bits: Counter[int]) -> dict[str, int]:
    return {name: sum(count for bits, count in by_bits.items() if bits & bit) for name, bit in BITS.items()}


def _missing_support(node: str, supported: Map[str, tuple[int, int]], levels: dict[str, int]) -> Iterator[str]:
    """The finalized levels that a node does not support; of a feature that it does not know, it supports level 0."""
    for name, level in sorted(levels.items()):
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high:
            yield f"{node}: {level_name(name, level)}, supports {low}-{high}"
