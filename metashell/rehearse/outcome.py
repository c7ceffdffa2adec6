"""What came of a rehearsal, as values: records, times without a leader, loads, moved data and the verdict.

Units: times are milliseconds since the rehearsal began; an end of None says that it lasts when the rehearsal ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from metashell.image import BrokerRegistration, MetadataImage, PartitionRegistration
from metashell.image.loss import VersionedRecord
from metashell.rehearse.steps import Assumptions, Step


class Trouble(Enum):
    """A fault that a partition can have for a time.

    OFFLINE: nobody leads it, or only a dead broker could: no broker is left that may. FAILOVER: the broker that leads it is dead, and the
    controller does not know yet; another takes over. UNDER_MIN_ISR: the ISR is smaller than min.insync.replicas, so that
    writes with acks=all are refused. STALLED: a dead broker still counts as in sync, so that writes with acks=all wait until it is fenced.
    UNCLEAN: a replica that was not in sync became the leader, and records may be lost; it lasts no time.
    """

    OFFLINE = "offline"
    FAILOVER = "failover"
    UNDER_MIN_ISR = "under_min_isr"
    STALLED = "stalled"
    UNCLEAN = "unclean"


class Interval(NamedTuple):
    """A trouble of one partition. `was_before` says that it was there before the first step; `cause` is what began it."""

    topic: str
    partition: int
    trouble: Trouble
    from_ms: int
    to_ms: int | None
    was_before: bool = False
    cause: str = ""


class Written(NamedTuple):
    """A record as the controller writes it; `why` is the request or the task that it was written for."""

    offset: int
    at_ms: int
    record: object
    version: int
    why: str


class Batch(NamedTuple):
    """Records that were appended together, in order; the first one is at `base_offset`."""

    base_offset: int
    at_ms: int
    why: str
    records: Sequence[VersionedRecord]


class Event(NamedTuple):
    """Something that happened: a line of the timeline. `broker` is -1 where it is about none, `step` the place of a step in the plan."""

    at_ms: int
    text: str
    broker: int = -1
    step: int = -1


class BrokerState(Enum):
    """The state of a broker in the timeline."""

    DEAD = "dead"
    STARTING = "starting"
    FENCED = "fenced"
    SERVING = "serving"
    SHUTTING_DOWN = "shutting down"


class BrokerSpan(NamedTuple):
    """A broker's state for a time."""

    broker: int
    state: BrokerState
    from_ms: int
    to_ms: int | None


class QuorumGap(NamedTuple):
    """A time without an active controller: nothing fails over, and nothing about metadata can change."""

    from_ms: int
    to_ms: int | None
    why: str


class Refusal(NamedTuple):
    """A request that the controller refused: the thing, Kafka's error code, and its message."""

    thing: str
    code: int
    message: str


class Unfinished(NamedTuple):
    """An effect of a step that nothing will end: the thing, and what it waits for."""

    thing: str
    message: str


class StepReport(NamedTuple):
    """One step: when it began, when its effects ended (None: they lasted), what was refused of it, and what never came to its end."""

    step: Step
    began_ms: int
    ended_ms: int | None
    refusals: tuple[Refusal, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


class Load(NamedTuple):
    """The load of a broker or rack; `size_bytes` is None where no sizes are known."""

    leaders: int
    replicas: int
    size_bytes: int | None = None


class BrokerLoads(NamedTuple):
    """A broker before and after; None where it was, or is, not there."""

    broker: int
    rack: str | None
    before: Load | None
    after: Load | None


class RackLoads(NamedTuple):
    """All brokers of a rack before and after; the rack None is that of brokers without one."""

    rack: str | None
    before: Load
    after: Load


class Copied(NamedTuple):
    """Data that one broker had to fetch. `is_catch_up`: of a replica that was away, else of a new one; `size_bytes` is None for unknown."""

    broker: int
    partitions: int
    size_bytes: int | None
    is_catch_up: bool


class PartitionDiff(NamedTuple):
    """A partition that is not what it was; None where it was, or is, not there."""

    topic: str
    partition: int
    before: PartitionRegistration | None
    after: PartitionRegistration | None


class BrokerDiff(NamedTuple):
    """A registration that is not what it was."""

    broker: int
    before: BrokerRegistration | None
    after: BrokerRegistration | None


class ConfigDiff(NamedTuple):
    """A setting that is not what it was."""

    resource_type: int
    resource_name: str
    name: str
    before: str | None
    after: str | None


class FeatureDiff(NamedTuple):
    """A level that is not what it was; 0 for none."""

    feature: str
    before: int
    after: int


class ImageDiff(NamedTuple):
    """How two images differ, each part ordered by name and number."""

    topics_created: tuple[str, ...] = ()
    topics_deleted: tuple[str, ...] = ()
    partitions: tuple[PartitionDiff, ...] = ()
    brokers: tuple[BrokerDiff, ...] = ()
    configs: tuple[ConfigDiff, ...] = ()
    features: tuple[FeatureDiff, ...] = ()


class Toll(NamedTuple):
    """How many partitions had a trouble since the first step, how long it lasted for the worst of them, and how many have it at the end.

    `longest_ms` is None where one lasts when the rehearsal ends. Partitions that had it before the first step do not count.
    """

    partitions: int
    longest_ms: int | None
    at_end: int


class Range(NamedTuple):
    """The least and the most of something over several seeds, None for a time that lasts when the rehearsal ends.

    Shape: `what` is `records`, `leaders` or `replicas` (of `broker`, -1 for all), or the name of a trouble with `_partitions`,
    `_longest_ms` or `_at_end`, as in `Toll`.
    """

    what: str
    broker: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. `status` is 0 only if nothing went offline, nothing was refused, and everything could be seen to its end.

    Shape: `reasons` are sentences, the gravest first; they begin with what makes the status 1. `offline_before` partitions had no leader
    before the first step; they are told, and do not count.
    """

    status: int
    tolls: Mapping[Trouble, Toll]
    offline_before: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The whole result of a rehearsal.

    Shape: `batches` has the first records; `records_left_out` were written after these and are only counted, by type, in `record_counts`.
    `intervals_left_out` counts those that are not listed (never OFFLINE or UNCLEAN ones); the verdict's tolls count all. `sizes_known`
    says whether bytes in it come from sizes that were given. `settled` is False where things still changed when the rehearsal gave up
    waiting. `quorum_known` is False where the image names no voters. `notes` say what was assumed, and what of the image could not be used.
    `emptied` names the partitions that are led from an empty disk, so that all their records are lost. `ranges` are over `seeds`
    rehearsals, of which this is the worst one.
    """

    before: MetadataImage
    after: MetadataImage
    steps: tuple[StepReport, ...]
    batches: tuple[Batch, ...]
    record_counts: Mapping[str, int]
    records_left_out: int
    intervals: tuple[Interval, ...]
    intervals_left_out: int
    quorum_gaps: tuple[QuorumGap, ...]
    quorum_known: bool
    events: tuple[Event, ...]
    broker_spans: tuple[BrokerSpan, ...]
    brokers: tuple[BrokerLoads, ...]
    racks: tuple[RackLoads, ...]
    copied: tuple[Copied, ...]
    diff: ImageDiff
    sizes_known: bool
    settled: bool
    ended_ms: int
    assumptions: Assumptions
    notes: tuple[str, ...]
    verdict: Verdict
    emptied: tuple[str, ...] = ()
    seeds: int = 1
    ranges: tuple[Range, ...] = ()

    @property
    def record_count(self) -> int:
        return sum(self.record_counts.values())

    def records(self) -> Iterator[Written]:
        """The records written, in order, as far as they were kept."""
        for batch in self.batches:
            for offset, (record, version) in enumerate(batch.records, batch.base_offset):
                yield Written(offset, batch.at_ms, record, version, batch.why)

    def intervals_of(self, trouble: Trouble) -> list[Interval]:
        """The intervals of one trouble, in the order in which they began."""
        return [interval for interval in self.intervals if interval.trouble is trouble]
