"""Makes the verdict and the notes of a rehearsal from its records, loads and intervals of trouble.

`survey` passes over all partitions of an image once. It counts leaders and replicas, and picks the partitions that need a closer look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from struct import Struct
from typing import Final

from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.metadata.image import BrokerRegistration, MetadataImage, PartitionRegistration, TopicImage
from metashell.metadata.image.partitions import read_partition
from metashell.quorum.controller.hints import COUNT_MAX, NO_MOVES, REPLICAS, REPLICAS_AT, Piece, pieces
from metashell.rehearse.outcome import Batch, BrokerLoads, Load, QuorumGap, RackLoads, Refusal, RehearsalVerdict, StepReport, Toll, Trouble
from metashell.rehearse.quorum import dead_voters

_IDS_MAX: Final = 20
_HELD_MAX: Final = 3


class Journal:
    """The batches that were written: the first `records_kept` records whole, and counts of all."""

    def __init__(self, records_kept: int, on_batch: Callable[[Batch], None] | None) -> None:
        self.batches: list[Batch] = []
        self.counts: Counter[str] = Counter()
        self.left_out = 0
        self._room = records_kept
        self._on_batch = on_batch

    def add(self, batch: Batch) -> None:
        records = batch.records
        self.counts.update([type(record).__name__ for record, _ in records])
        if self._on_batch is not None:
            self._on_batch(batch)
        kept = records[: self._room]
        self._room -= len(kept)
        self.left_out += len(records) - len(kept)
        if kept:
            self.batches.append(batch._replace(records=kept))


def broker_loads(
    registered: Mapping[int, BrokerRegistration], later: Mapping[int, BrokerRegistration], before: Counts, after: Counts, sizes_known: bool
) -> Iterator[BrokerLoads]:
    """The load, before and after, of each broker that is registered or has replicas."""
    for id in sorted({*registered, *later, *before.replicas, *after.replicas}):
        registration = later.get(id) or registered.get(id)
        yield BrokerLoads(
            id,
            None if registration is None else registration.rack,
            _load(id, before, sizes_known) if id in registered or before.replicas[id] else None,
            _load(id, after, sizes_known) if id in later or after.replicas[id] else None,
        )


def _load(id: int, counts: Counts, sizes_known: bool) -> Load:
    return Load(counts.leaders[id], counts.replicas[id], counts.sizes[id] if sizes_known else None)


def rack_loads(brokers: Sequence[BrokerLoads]) -> Iterator[RackLoads]:
    """The sums of the brokers of each rack."""
    racks = {broker.rack for broker in brokers}
    for rack in sorted(racks, key=lambda rack: (rack is None, rack or "")):
        those = [broker for broker in brokers if broker.rack == rack]
        yield RackLoads(rack, _sum(broker.before for broker in those), _sum(broker.after for broker in those))


def _sum(loads: Iterator[Load | None]) -> Load:
    there = [load for load in loads if load is not None]
    sizes = [load.size_bytes for load in there if load.size_bytes is not None]
    total = sum(sizes) if len(sizes) == len(there) and sizes else None
    return Load(sum(load.leaders for load in there), sum(load.replicas for load in there), total)


_DONE = {
    Trouble.OFFLINE: "went offline",
    Trouble.UNCLEAN: "got a leader that may lack records (unclean election)",
    Trouble.FAILOVER: "had a dead leader until the controller moved the leadership",
    Trouble.STALLED: "made writes with acks=all wait for a dead broker",
    Trouble.UNDER_MIN_ISR: "had fewer replicas in sync than min.insync.replicas, and refused writes with acks=all",
}


def verdict_of(
    tolls: Mapping[Trouble, Toll],
    *,
    offline_before: int,
    gaps: Sequence[QuorumGap],
    reports: Sequence[StepReport],
    settled: bool,
    image: MetadataImage,
) -> RehearsalVerdict:
    """Make the verdict; status 1 for anything that makes the steps unsafe."""
    grave = [*_grave(tolls, gaps, reports, settled=settled, image=image)]
    told = [*grave]
    if not tolls[Trouble.OFFLINE].partitions:
        told.append("no partition went offline")
    told += [_sentence(trouble, tolls[trouble]) for trouble in _DONE if tolls[trouble].partitions and trouble not in _GRAVE]
    if offline_before:
        told.append(f"{counted(offline_before, 'partition')} had no leader already before the first step")
    told += [f"no controller was active for {_seconds(gap.to_ms - gap.from_ms)}: {gap.why}" for gap in gaps if gap.to_ms is not None]
    return RehearsalVerdict(1 if grave else 0, tolls, offline_before, tuple(told))


_GRAVE = (Trouble.OFFLINE, Trouble.UNCLEAN)


def _grave(
    tolls: Mapping[Trouble, Toll], gaps: Sequence[QuorumGap], reports: Sequence[StepReport], *, settled: bool, image: MetadataImage
) -> Iterator[str]:
    for trouble in _GRAVE:
        if tolls[trouble].partitions:
            yield _sentence(trouble, tolls[trouble])
    for gap in gaps:
        if gap.to_ms is None:
            yield f"no controller is active any more: {gap.why}; nothing fails over, and no metadata can change"
    refusals: list[Refusal] = [refusal for report in reports for refusal in report.refusals]
    if refusals:
        first = refusals[0]
        more = f", and {len(refusals) - 1} more" if len(refusals) > 1 else ""
        yield f"the controller refused: {first.thing}: {first.message.rstrip('.')}{more}"
    unfinished = [one for report in reports for one in report.unfinished]
    if unfinished:
        first_left = unfinished[0]
        more = f", and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        yield f"a change never finishes: {first_left.thing}: {first_left.message.rstrip('.')}{more}"
    if not settled:
        yield "the cluster was still changing when the rehearsal stopped: later changes were not seen"
    if image.faults:
        yield f"{len(image.faults)} records of the metadata could not be applied, so the copy differs from the cluster"


def _sentence(trouble: Trouble, toll: Toll) -> str:
    length = "" if trouble is Trouble.UNCLEAN else f", for up to {_seconds(toll.longest_ms)}"
    if toll.longest_ms is None:
        length = f", and {toll.at_end} of them still are" if toll.at_end else ", to the end"
    return f"{counted(toll.partitions, 'partition')} {_DONE[trouble]}{length}"


def _seconds(length_ms: int | None) -> str:
    return "ever" if length_ms is None else duration_text(length_ms)


def notes_of(
    image: MetadataImage,
    *,
    next_election_ms: int | None,
    stuck: int,
    held: Mapping[str, int],
    voters: Iterable[int],
    voters_named: bool,
    copied_unknown: bool,
) -> Iterator[str]:
    """Notes on facts that the image does not have, or has for a past moment, and on the assumptions in their place."""
    provenance = image.provenance
    if image.faults:
        yield f"{len(image.faults)} records of the metadata could not be applied"
    if provenance.certain_to is None or provenance.certain_to < provenance.end_offset:
        tail = "it may not be committed" if provenance.certain_to is None else f"it is committed to offset {provenance.certain_to}"
        yield f"the metadata was read up to offset {provenance.end_offset}; {tail}"
    dead = sorted(id for id, broker in image.cluster.brokers.items() if broker.fenced)
    if dead:
        yield f"fenced brokers count as dead: {_ids(dead)}"
    leaving = sorted(id for id, broker in image.cluster.brokers.items() if broker.in_controlled_shutdown and not broker.fenced)
    if leaving:
        yield f"brokers in a controlled shutdown continue it: {_ids(leaving)}"
    if stuck:
        yield f"not in sync at the beginning, on live brokers: {counted(stuck, 'replica')}; it is unknown whether that ends, so it stays so"
    for name, rate in islice(held.items(), _HELD_MAX):
        yield f"a throttle of {rate} B/s holds back {name}: it does not get in sync during the rehearsal"
    if len(held) > _HELD_MAX:
        yield f"throttles hold back {counted(len(held) - _HELD_MAX, 'replica')} more"
    ids = sorted(voters)
    if not ids:
        yield "the controllers are unknown: whether the quorum keeps a majority was not checked"
    else:
        yield f"the controllers are {_ids(ids)}" + ("" if voters_named else ", which the metadata does not say")
        if dead_ones := sorted(dead_voters(image, ids)):
            yield f"controllers of nodes whose broker is fenced count as dead too: {_ids(dead_ones)}"
        if combined := sorted(set(ids).intersection(image.cluster.brokers)):
            yield f"nodes that are broker and controller at once, and die and restart as both: {_ids(combined)}"
    if copied_unknown:
        yield "for partitions whose size is not known, the assumed size was copied"
    if next_election_ms is not None:
        yield f"the next election of preferred leaders is assumed {_seconds(next_election_ms)} after the beginning"
    yield "brokers are modelled, and so are the times of what they do; disks, networks, and clients are not"


def _ids(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:_IDS_MAX]))
    return shown if len(ids) <= _IDS_MAX else f"{shown} and {len(ids) - _IDS_MAX} more"


_LEADER: Final = Struct(">i").unpack_from


class Counts:
    """Leaders and replicas by broker, and the bytes of replicas if sizes are known."""

    def __init__(self) -> None:
        self.leaders: Counter[int] = Counter()
        self.replicas: Counter[int] = Counter()
        self.sizes: Counter[int] = Counter()

    def copy(self) -> Counts:
        made = Counts()
        made.leaders, made.replicas, made.sizes = self.leaders.copy(), self.replicas.copy(), self.sizes.copy()
        return made

    def add(self, partition: PartitionRegistration, size_bytes: int, sign: int = 1) -> None:
        """Count a partition; with a sign of -1, uncount it."""
        if partition.leader >= 0:
            self.leaders[partition.leader] += sign
        for id in partition.replicas:
            self.replicas[id] += sign
            if size_bytes:
                self.sizes[id] += sign * size_bytes


Special = Callable[[TopicImage, int, PartitionRegistration], None]


def survey(image: MetadataImage, living: Container[int], special: Special) -> Counts:
    """Count all partitions. `special` gets those that are being reassigned, not wholly in sync, or on a broker that is not alive.

    An ordinary partition is counted from its bytes without decoding it, since a million pass here.
    """
    counts = Counts()
    leaders: dict[int, int] = {}
    held: dict[int, int] = {}

    def look(topic: TopicImage, partition_id: int, partition: PartitionRegistration) -> None:
        counts.add(partition, 0)
        special(topic, partition_id, partition)

    for topic in image.topics:
        found = [piece for span in topic.spans for piece in pieces(span)]
        if not _is_in_order(found):
            for partition_id, partition in topic.partitions.items():
                look(topic, partition_id, partition)
            continue
        overlay = topic.overlay
        for buf, partition_ids, starts, ends in found:
            for partition_id, start, end in zip(partition_ids, starts, ends, strict=True):
                if overlay and partition_id in overlay:
                    continue
                at = start + REPLICAS_AT
                count = buf[at] - 1
                after = at + 1 + 4 * count
                moving = after + 1 + 4 * count
                if not 0 < count < COUNT_MAX or buf[after] - 1 != count or buf[moving : moving + 2] != NO_MOVES:
                    look(topic, partition_id, read_partition(buf, start, end))
                    continue
                leader = _LEADER(buf, moving + 2)[0]
                replicas = REPLICAS[count](buf, at + 1)
                is_living = leader in living
                for id in replicas:
                    if id not in living:
                        is_living = False
                if not is_living:
                    look(topic, partition_id, read_partition(buf, start, end))
                    continue
                leaders[leader] = leaders.get(leader, 0) + 1
                for id in replicas:
                    held[id] = held.get(id, 0) + 1
        if overlay:
            index = topic.scan()
            for partition_id in overlay:
                look(topic, partition_id, topic.read(partition_id, index))
    counts.leaders.update(leaders)
    counts.replicas.update(held)
    return counts


def _is_in_order(found: Sequence[Piece]) -> bool:
    """Return whether partitions come in order, as in every snapshot; then each comes only once."""
    expected = 0
    for _, partition_ids, _, _ in found:
        if partition_ids != list(range(expected, expected + len(partition_ids))):
            return False
        expected += len(partition_ids)
    return True
