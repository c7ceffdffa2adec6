"""The outcome of a rehearsal as values: records, times without a leader, loads, copied data, findings and the verdict.

Units: times are milliseconds since the rehearsal began; an end of None means that something lasts to the end of the rehearsal.

`finding_changes` runs the checks of `metashell health` on the image before and after. `rehearse_seeds` repeats the same steps with
several seeds, since the times of heartbeats and the places of new replicas are random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.metadata.checks import Facts, Health, all_checks, judge
from metashell.metadata.image import BrokerRegistration, MetadataImage, PartitionRegistration
from metashell.metadata.image.provenance import VersionedRecord
from metashell.rehearse.steps import Assumptions, Step, static_min_isr

if TYPE_CHECKING:
    from metashell.metadata.checks import Check, Finding, Verdict


class Trouble(Enum):
    """A fault that a partition has for a time.

    OFFLINE: it has no leader, or a dead one, and no living broker may lead it. FAILOVER: its leader is dead, the controller does not know
    it yet, and another broker will take over. UNDER_MIN_ISR: the ISR is smaller than min.insync.replicas, so writes with acks=all are
    refused. STALLED: a dead broker still counts as in sync, so writes with acks=all wait until it is fenced. UNCLEAN: a replica that was
    not in sync became the leader, and records may be lost; it has no length.

    Worked case: with replicas 1, 2, 3, all in sync, and min.insync.replicas 2, broker 1 leads and dies. For 9 s, its session, the partition
    is in FAILOVER. Then the controller fences it and elects 2. Had broker 3 died, writes would wait for those 9 s (STALLED) and then go
    on with the ISR 1, 2. Had 2 and 3 both died, they would be refused after that (UNDER_MIN_ISR).
    """

    OFFLINE = "offline"
    FAILOVER = "failover"
    UNDER_MIN_ISR = "under_min_isr"
    STALLED = "stalled"
    UNCLEAN = "unclean"


class Interval(NamedTuple):
    """A trouble of one partition. `was_before`: it began before the first step; `cause` is the event that began it."""

    topic: str
    partition: int
    trouble: Trouble
    from_ms: int
    to_ms: int | None
    was_before: bool = False
    cause: str = ""


class Written(NamedTuple):
    """A record of the controller; `why` is the request or task that wrote it."""

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
    """A line of the timeline. `broker` is -1 if it is about none, `step` is the index of its step."""

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
    """A time without an active controller: no partition fails over, and no metadata can change."""

    from_ms: int
    to_ms: int | None
    why: str


class Refusal(NamedTuple):
    """A request that the controller refused: its object, Kafka's error code, and its message."""

    thing: str
    code: int
    message: str


class Unfinished(NamedTuple):
    """An effect of a step that will never finish: its object, and why it waits."""

    thing: str
    message: str


class StepReport(NamedTuple):
    """One step: its begin, the end of its effects (None: they last), its refusals, and its effects that never finish."""

    step: Step
    began_ms: int
    ended_ms: int | None
    refusals: tuple[Refusal, ...] = ()
    unfinished: tuple[Unfinished, ...] = ()


class Load(NamedTuple):
    """The load of a broker or rack; `size_bytes` is None if no sizes are known."""

    leaders: int
    replicas: int
    size_bytes: int | None = None


class BrokerLoads(NamedTuple):
    """A broker's load before and after; None if it is not registered then."""

    broker: int
    rack: str | None
    before: Load | None
    after: Load | None


class RackLoads(NamedTuple):
    """The load of a rack before and after; the rack None stands for brokers without one."""

    rack: str | None
    before: Load
    after: Load


class Copied(NamedTuple):
    """Data that one broker fetched, for a replica that was away (`is_catch_up`) or a new one; `size_bytes` is None if unknown."""

    broker: int
    partitions: int
    size_bytes: int | None
    is_catch_up: bool


class PartitionDiff(NamedTuple):
    """A partition that changed; None where it does not exist."""

    topic: str
    partition: int
    before: PartitionRegistration | None
    after: PartitionRegistration | None


class BrokerDiff(NamedTuple):
    """A registration that changed."""

    broker: int
    before: BrokerRegistration | None
    after: BrokerRegistration | None


class ConfigDiff(NamedTuple):
    """A setting that changed."""

    resource_type: int
    resource_name: str
    name: str
    before: str | None
    after: str | None


class FeatureDiff(NamedTuple):
    """A feature level that changed; 0 for none."""

    feature: str
    before: int
    after: int


class ImageDiff(NamedTuple):
    """The differences of two images, each part ordered by name and number."""

    topics_created: tuple[str, ...] = ()
    topics_deleted: tuple[str, ...] = ()
    partitions: tuple[PartitionDiff, ...] = ()
    brokers: tuple[BrokerDiff, ...] = ()
    configs: tuple[ConfigDiff, ...] = ()
    features: tuple[FeatureDiff, ...] = ()


class Toll(NamedTuple):
    """The partitions that had a trouble since the first step, the longest time of one, and how many have it at the end.

    `longest_ms` is None if one lasts to the end. Partitions that had the trouble before the first step do not count.
    """

    partitions: int
    longest_ms: int | None
    at_end: int


class Range(NamedTuple):
    """The smallest and largest value of a figure over several seeds, None for a time that lasts to the end.

    Shape: `what` is `records`, `leaders` or `replicas` (of `broker`, -1 for all), or the name of a trouble with `_partitions`,
    `_longest_ms` or `_at_end`, as in `Toll`.
    """

    what: str
    broker: int
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class RehearsalVerdict:
    """The answer. `status` is 0 only if nothing went offline, nothing was refused, and every effect was seen to its end.

    Shape: `reasons` are sentences, the worst first, so those for status 1 come first. `offline_before` counts partitions that had no
    leader before the first step; they are reported, and do not change the status.
    """

    status: int
    tolls: Mapping[Trouble, Toll]
    offline_before: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The whole result of a rehearsal.

    Shape: `batches` has the first records; `records_left_out` later ones are only counted, by type, in `record_counts`.
    `intervals_left_out` counts intervals that are not listed (never OFFLINE or UNCLEAN ones); the tolls count all. `sizes_known` says
    whether its bytes come from given sizes. `settled` is False if the cluster was still changing when the rehearsal stopped.
    `quorum_known` is False if the image names no voters. `notes` list assumptions, and parts of the image that could not be used.
    `emptied` names the partitions whose leader has an empty disk, so that all their records are lost. `ranges` are over `seeds`
    rehearsals, of which this is the worst.
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
    verdict: RehearsalVerdict
    emptied: tuple[str, ...] = ()
    seeds: int = 1
    ranges: tuple[Range, ...] = ()

    @property
    def record_count(self) -> int:
        return sum(self.record_counts.values())

    def records(self) -> Iterator[Written]:
        """The records that were kept, in order."""
        for batch in self.batches:
            for offset, (record, version) in enumerate(batch.records, batch.base_offset):
                yield Written(offset, batch.at_ms, record, version, batch.why)

    def intervals_of(self, trouble: Trouble) -> list[Interval]:
        """The intervals of one trouble, in the order in which they began."""
        return [interval for interval in self.intervals if interval.trouble is trouble]


NAMES_MAX: Final = 3
_NAMED_MAX: Final = 10_000
"""If a check finds more things than this, only the numbers are compared: naming a million partitions takes a minute."""


class FindingChange(NamedTuple):
    """A check whose findings differ before and after the steps.

    Shape: `begun` and `ended` count new and vanished findings; `names_begun` and `names_ended` are the first few, in order. If there are
    too many to compare, there are no names, and the counts are the difference of the numbers.
    """

    check: Check
    before: int
    after: int
    begun: int
    ended: int
    names_begun: tuple[str, ...]
    names_ended: tuple[str, ...]


def finding_changes(outcome: Outcome) -> Iterator[FindingChange]:
    """The checks whose findings changed, the bad ones first.

    Only checks of the metadata run: a rehearsal has no files, and no live quorum or brokers.
    """
    before, after = (_verdict(outcome, image).findings for image in (outcome.before, outcome.after))
    was, now = ({finding.check.id: finding for finding in findings} for findings in (before, after))
    for check in all_checks():
        change = _change(check, was.get(check.id), now.get(check.id))
        if change.begun or change.ended:
            yield change


def _change(check: Check, old: Finding | None, new: Finding | None) -> FindingChange:
    before, after = (0 if one is None else one.count for one in (old, new))
    if max(before, after) > _NAMED_MAX:
        return FindingChange(check, before, after, max(0, after - before), max(0, before - after), (), ())
    names_before, names_after = (dict.fromkeys(one.name for one in finding or ()) for finding in (old, new))
    begun = [name for name in names_after if name not in names_before]
    ended = [name for name in names_before if name not in names_after]
    return FindingChange(check, before, after, len(begun), len(ended), tuple(begun[:NAMES_MAX]), tuple(ended[:NAMES_MAX]))


def _verdict(outcome: Outcome, image: MetadataImage) -> Verdict:
    assumed = outcome.assumptions
    return judge(Facts(health=Health(image, static_min_isr=static_min_isr(assumed), voter_ids=lambda: assumed.voters)))


_Key = tuple[str, int]


def rehearse_seeds(run: Callable[[Assumptions], Outcome], assumptions: Assumptions, count: int) -> Outcome:
    """Rehearse `count` seeds, beginning with that of the assumptions; return the worst outcome, with the ranges over all seeds."""
    worst: Outcome | None = None
    values: dict[_Key, list[float]] = {}
    for seed in range(assumptions.seed, assumptions.seed + count):
        outcome = run(replace(assumptions, seed=seed))
        for key, value in _measures(outcome):
            values.setdefault(key, []).append(value)
        if worst is None or _gravity(outcome) > _gravity(worst):
            worst = outcome
    assert worst is not None, "at least one seed"
    ranges = tuple(_range(key, found, count) for key, found in values.items())
    return replace(worst, ranges=ranges, seeds=count) if count > 1 else worst


def _range(key: _Key, found: list[float], count: int) -> Range:
    # A figure that one seed lacks is zero for that seed.
    low, high = min(found) if len(found) == count else 0, max(found)
    return Range(*key, *(None if value == inf else int(value) for value in (low, high)))


def _measures(outcome: Outcome) -> Iterator[tuple[_Key, float]]:
    for trouble, toll in outcome.verdict.tolls.items():
        yield (f"{trouble.value}_partitions", -1), toll.partitions
        if trouble is not Trouble.UNCLEAN:
            yield (f"{trouble.value}_longest_ms", -1), inf if toll.longest_ms is None else toll.longest_ms
            yield (f"{trouble.value}_at_end", -1), toll.at_end
    yield ("records", -1), outcome.record_count
    for loads in outcome.brokers:
        if loads.after is not None:
            yield ("leaders", loads.broker), loads.after.leaders
            yield ("replicas", loads.broker), loads.after.replicas


def _gravity(outcome: Outcome) -> tuple[float, ...]:
    """A sort key, greater for worse outcomes: the status, then partitions with lost records, offline, and under min ISR."""
    tolls = outcome.verdict.tolls
    offline, unclean, under = (tolls[trouble] for trouble in (Trouble.OFFLINE, Trouble.UNCLEAN, Trouble.UNDER_MIN_ISR))
    longest = inf if offline.longest_ms is None else offline.longest_ms
    return outcome.verdict.status, unclean.partitions, offline.at_end, offline.partitions, longest, under.at_end, under.partitions
