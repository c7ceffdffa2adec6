"""The outcome of a rehearsal as values: records, times without a leader, loads, moved data, findings and the verdict.

Units: times are milliseconds since the rehearsal began; an end of None means that it still lasts when the rehearsal ends.

`finding_changes` runs the checks of `metashell health` on the image before and after. `rehearse_seeds` repeats the same steps with
several seeds: chance decides when brokers send heartbeats, and where new replicas go."""

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
class RehearsalVerdict:
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
    verdict: RehearsalVerdict
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


NAMES_MAX: Final = 3
_NAMED_MAX: Final = 10_000
"""Of more things than these only the numbers are compared: to name a million partitions takes a minute."""


class FindingChange(NamedTuple):
    """A check that finds other things after the steps than before.

    Shape: `begun` and `ended` count what is found anew and no more; `names_begun` and `names_ended` are the first few of them, in order,
    and none where there are too many to compare: then the counts are what there is more or less.
    """

    check: Check
    before: int
    after: int
    begun: int
    ended: int
    names_begun: tuple[str, ...]
    names_ended: tuple[str, ...]


def finding_changes(outcome: Outcome) -> Iterator[FindingChange]:
    """The checks of which something begins or ends, the bad ones first.

    Only what the metadata alone shows is judged: a rehearsal has no files, no probes, and no brokers to ask.
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
    """The worst outcome of `count` seeds, the first of them that of the assumptions, with the ranges over all of them."""
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
    # What one seed has and another has not is there zero times.
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
    """The worse an outcome, the greater: first the status, then what goes offline or loses records, for how many and how long."""
    tolls = outcome.verdict.tolls
    offline, unclean, under = (tolls[trouble] for trouble in (Trouble.OFFLINE, Trouble.UNCLEAN, Trouble.UNDER_MIN_ISR))
    longest = inf if offline.longest_ms is None else offline.longest_ms
    return outcome.verdict.status, unclean.partitions, offline.at_end, offline.partitions, longest, under.at_end, under.partitions
