"""What is left of a quorum: the surviving metadata logs, and which of them a restored one begins with.

`surviving_logs` reads them.

`compare` decides as Raft's voters do: the log with the highest last epoch wins, and of these the longest. If a majority of the voters is
among the sources, everything that was committed is in the winner. A log that ends earlier has nothing that the winner lacks, unless the two
differ before that. Then one of them was never committed there, or they are different histories:

    best     epoch 5 from offset 0, epoch 7 from offset 90, ends at 120
    other    epoch 5 from offset 0, epoch 6 from offset 80, ends at 100

They differ at 80. If `other` has a checkpoint at 80 or before, its records from 80 on were never committed: the leader of epoch 7 did not
have them. If it has one at 95, they were, so the log with epoch 7 is not of this quorum, and `compare` refuses.

What a source holds behind a damaged batch does not count. Whether a record behind the newest checkpoint was committed stands in no file.

The records of the restored cluster are those of the best source, with what a new quorum needs. Topics with their ids, settings, ACLs,
quotas, users and brokers stay as they are. Four things differ:

- The registrations of controllers are left out. Those that are gone would limit the features of the cluster for ever, and one that runs
  registers again at once.
- All brokers are fenced, as none has a session with the new quorum. Were they not, the controller would fence them one by one when the
  sessions end, and each would leave the in-sync replicas but the last. Which one that is would be chance, and the others would truncate
  their logs to its. So it is the last one that registers.
- Leader epochs and partition epochs of all partitions are raised by `EPOCH_MARGIN`. A broker keeps leader epochs on its disk, a client in
  its memory. If later elections were lost with the old quorum, the next ones would repeat their epochs: a broker would truncate its log to
  the wrong offset, and a client would ignore the new leader as an old one.
- The next producer id is raised by `PRODUCER_IDS_MARGIN`. If a later block of ids was lost, a second producer would get the same ids, and
  brokers would drop its records as repetitions of the first one's.

From a bundle, users and settings whose secrets it does not have are left out: they would be wrong.
Source: KIP-595 (comparing logs), KIP-630, KIP-853; org.apache.kafka.raft.OffsetAndEpoch.compareTo; LeaderEpochFileCache; Metadata of the
clients; KIP-101, KIP-320, KIP-360, KIP-584, KIP-730."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from immutables import Map

from metashell.codec.batches import RecordBatch
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.codec.releases import NEWEST_LEVEL, record_versions
from metashell.common.errors import MetashellError
from metashell.common.terminal import update_progress
from metashell.common.values import REDACTED, OffsetAndEpoch
from metashell.disk.properties import MetaProperties
from metashell.disk.restore import EPOCH_MARGIN, EPOCH_MAX
from metashell.disk.source import DirectorySource, FileSource
from metashell.disk.state_files import QuorumState
from metashell.metadata.image.cluster import ClusterImage
from metashell.metadata.image.image import MetadataImage, ProducerIdsImage
from metashell.metadata.image.partitions import PartitionRegistration, partition_record
from metashell.metadata.image.provenance import VoterSet
from metashell.metadata.image.topics import TopicsImage
from metashell.metadata.image.writer import write_image

if TYPE_CHECKING:
    from metashell.metadata.image.settings import ConfigsImage, ScramImage
    from metashell.metadata.image.topics import TopicImage


LOG_DIRECTORY: Final = "log directory"
METADATA_FOLDER: Final = "metadata directory"
CHECKPOINT: Final = "checkpoint"
BUNDLE: Final = "bundle"


@dataclass(frozen=True, slots=True)
class BatchKeys:
    """The batches of a log, in order: base offset, leader epoch and checksum of each. A million take 16 MB."""

    bases: array[int] = field(default_factory=lambda: array("q"))
    epochs: array[int] = field(default_factory=lambda: array("i"))
    checksums: array[int] = field(default_factory=lambda: array("I"))

    def add(self, batch: RecordBatch) -> None:
        header = batch.header
        self.bases.append(header.base_offset)
        self.epochs.append(header.leader_epoch)
        self.checksums.append(header.crc)

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before `offset`, None if no batch has it."""
        index = bisect_right(self.bases, offset - 1) - 1
        return self.epochs[index] if index >= 0 else None


class KnownQuorum(NamedTuple):
    """The voters that a source knows, and where they stand; `voters` has their addresses, None with kraft.version 0."""

    voter_ids: tuple[int, ...] = ()
    named_by: str = ""
    voters: VoterSet | None = None
    kraft_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """What one source holds. Ids are None where it does not name them.

    `end_offset` and `last_epoch` are its place as Raft compares logs, up to the first damage. Records before `certain_to` are committed;
    None if none is known to be. `seen` is the highest offset and epoch that any of its files names, whole or not. `lost` is the damage that
    ends the log, empty without any; the log then once went on to at least `seen`. `other_faults` are unreadable files that cost nothing.
    """

    label: str
    kind: str
    folder: str
    log_directory: str | None = None
    meta: MetaProperties | None = None
    quorum: KnownQuorum
    snapshot_id: OffsetAndEpoch | None = None
    end_offset: int
    last_epoch: int
    certain_to: int | None = None
    seen: OffsetAndEpoch
    batches: BatchKeys = field(default_factory=BatchKeys)
    election: QuorumState | None = None
    lost: str = ""
    other_faults: tuple[str, ...] = ()
    is_running: bool = False
    is_anonymised: bool = False

    @property
    def is_bundle(self) -> bool:
        """Return whether it was written for other people: it has no secrets, and its batches have other checksums."""
        return self.kind == BUNDLE

    @property
    def cluster_id(self) -> str | None:
        return None if self.meta is None else self.meta.cluster_id

    @property
    def node_id(self) -> int | None:
        return None if self.meta is None else self.meta.node_id

    @property
    def is_voter(self) -> bool:
        """Return whether it is the directory of a voter that it names; with kraft.version 0 the id alone decides."""
        if self.quorum.voters is None or self.meta is None:
            return self.node_id in self.quorum.voter_ids
        return any((voter.id, voter.directory_id) == (self.meta.node_id, self.meta.directory_id) for voter in self.quorum.voters.voters)

    @property
    def place(self) -> tuple[int, int]:
        """The end of its log as Raft compares logs."""
        return self.last_epoch, self.end_offset

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before `offset`; None if it is not known here."""
        if self.snapshot_id is not None and offset == self.snapshot_id.offset:
            return self.snapshot_id.epoch
        return self.batches.epoch_before(offset) if 0 < offset <= self.end_offset else None

    def open(self) -> DirectorySource | FileSource:
        """Open it to load an image. Errors: UsageError."""
        return FileSource(self.folder) if self.kind == CHECKPOINT else DirectorySource(self.folder)


# ---- the choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Records of another source that the best one does not have: offsets from `first` to before `end`, and of which epoch the last is.

    `is_replaced` means that the best source has other records of a later epoch there, so that these were never committed if it is right.
    """

    survivor: Survivor
    first: int
    end: int
    last_epoch: int
    is_replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The best source, and what is known of the others.

    Records before `certain_to` are committed, None if no source knows of any. `conflicts` are the reasons why the sources are not of one
    history, each a sentence. `seen` is the highest offset and epoch of all sources.
    """

    best: Survivor
    others: tuple[Survivor, ...]
    certain_to: int | None
    lacks: tuple[Lack, ...]
    conflicts: tuple[str, ...]
    seen: OffsetAndEpoch


def compare(survivors: Sequence[Survivor]) -> Choice:
    """Choose the source with the longest log as Raft compares logs. Errors: MetashellError for sources of several clusters."""
    ids: dict[str, Survivor] = {}
    for one in survivors:
        # An anonymised bundle has an id of its own.
        if one.cluster_id is not None and not one.is_anonymised:
            ids.setdefault(one.cluster_id, one)
    if len(ids) > 1:
        named = "; ".join(f"{one.label} is of cluster {id}" for id, one in ids.items())
        raise MetashellError(f"the sources are of several clusters: {named}")
    # Of equal logs, one with secrets and without damage comes first, and the first that was named.
    best = max(survivors, key=lambda one: (one.place, not one.is_bundle, not one.lost))
    others = tuple(one for one in survivors if one is not best)
    conflicts: list[str] = []
    lacks: list[Lack] = []
    for other in others:
        conflict, lack = _difference(best, other)
        conflicts += [conflict] if conflict else []
        lacks += [lack] if lack is not None else []
    return Choice(
        best=best,
        others=others,
        certain_to=_certain_to(best, survivors) if not conflicts else best.certain_to,
        lacks=tuple(lacks),
        conflicts=tuple(conflicts),
        seen=OffsetAndEpoch(max(one.seen.offset for one in survivors), max(one.seen.epoch for one in survivors)),
    )


def _certain_to(best: Survivor, survivors: Sequence[Survivor]) -> int | None:
    """The offset before which all is committed: what a checkpoint has, or a majority of the voters in the latest epoch.

    A leader of a later epoch needs the vote of one of that majority, and so has everything that this one had when it voted.
    """
    known = [one.certain_to for one in survivors if one.certain_to is not None]
    ids = best.quorum.voter_ids
    ends: dict[int, int] = {}
    for one in survivors:
        if one.node_id in ids and one.is_voter and one.last_epoch == best.last_epoch and not one.is_bundle:
            ends[one.node_id] = max(one.end_offset, ends.get(one.node_id, 0))
    needed = len(ids) // 2 + 1
    if ids and len(ends) >= needed:
        known.append(sorted(ends.values(), reverse=True)[needed - 1])
    return max(known, default=None)


def _difference(best: Survivor, other: Survivor) -> tuple[str, Lack | None]:
    """Why two sources are not of one history, empty if they may be; and what the other one has that the best lacks."""
    at = first_difference(best, other)
    if at is not None:
        offset, epoch, other_epoch = at
        words = f"{other.label} and {best.label} differ at offset {offset}: epoch {other_epoch} and epoch {epoch}"
        if epoch == other_epoch:
            return f"{words}, and two batches of one epoch at one offset come from two histories", None
        if other.certain_to is not None and other.certain_to > offset:
            return f"{words}, though {other.label} knows that all before offset {other.certain_to} is committed", None
    if other.certain_to is not None and other.certain_to > best.end_offset:
        # The best source has a later epoch, whose leader had all that was committed before.
        words = f"{best.label} ends at offset {best.end_offset} in epoch {best.last_epoch}"
        return f"{words}, though {other.label} knows that all before offset {other.certain_to} is committed", None
    id = other.snapshot_id
    known = None if id is None else best.epoch_before(id.offset)
    if id is not None and known not in (None, id.epoch):
        words = f"the checkpoint of {other.label} ends at offset {id.offset} in epoch {id.epoch}"
        return f"{words}, and {best.label} has epoch {known} there", None
    if at is not None and other.end_offset > at[0]:
        return "", Lack(survivor=other, first=at[0], end=other.end_offset, last_epoch=other.last_epoch, is_replaced=True)
    if other.end_offset > best.end_offset:
        first = best.end_offset
        return "", Lack(survivor=other, first=first, end=other.end_offset, last_epoch=other.last_epoch, is_replaced=False)
    return "", None


def first_difference(one: Survivor, other: Survivor) -> tuple[int, int, int] | None:
    """The first offset at which two logs differ, with the epoch in each; None if they agree wherever both have batches."""
    a, b = one.batches, other.batches
    if not a.bases or not b.bases:
        return None
    has_same_bytes = not (one.is_bundle or other.is_bundle)
    start = max(a.bases[0], b.bases[0])
    i, j = bisect_left(a.bases, start), bisect_left(b.bases, start)
    count = min(len(a.bases) - i, len(b.bases) - j)
    lists = [(a.bases, b.bases), (a.epochs, b.epochs), *([(a.checksums, b.checksums)] if has_same_bytes else [])]
    if all(left[i : i + count] == right[j : j + count] for left, right in lists):
        return None
    for k in range(count):
        if any(left[i + k] != right[j + k] for left, right in lists):
            return min(a.bases[i + k], b.bases[j + k]), a.epochs[i + k], b.epochs[j + k]
    raise AssertionError("the lists differ somewhere")


PRODUCER_IDS_MARGIN: Final = 1_000_000_000
_BEFORE_TOPICS: Final = frozenset({"FeatureLevelRecord", "ZkMigrationStateRecord", "RegisterBrokerRecord", "RegisterControllerRecord"})
_TOLD_EVERY: Final = 1000
# A PartitionRecord: frame, type and version take 3 bytes, its ids 20. Four arrays follow, then leader and epochs.
_ARRAYS_AT: Final = 23
_ARRAYS: Final = 4
_LEADER_SIZE: Final = 4
_EPOCHS: Final = Struct(">ii")
_LONG: Final = 127
_INT32_MAX: Final = (1 << 31) - 1
_INT64_MAX: Final = (1 << 63) - 1


class LeftOut(NamedTuple):
    """What a bundle does not have: users without their keys, and settings without their values."""

    users: int = 0
    settings: int = 0


def restored_image(image: MetadataImage) -> MetadataImage:
    """The image without controllers, with fenced brokers and the next producer id raised. Partitions are raised when they are written."""
    next_id = min(max(image.producer_ids.next_producer_id, 0) + PRODUCER_IDS_MARGIN, _INT64_MAX)
    brokers = Map({id: broker._replace(fenced=True) for id, broker in image.cluster.brokers.items()})
    return image._replace(cluster=ClusterImage(brokers), producer_ids=ProducerIdsImage(next_id))


def without_redacted(image: MetadataImage) -> tuple[MetadataImage, LeftOut]:
    """The image without users whose keys, and settings whose values were taken out of a bundle."""
    users = {mechanism: {name: one for name, one in each.items() if one.stored_key} for mechanism, each in image.scram.items()}
    settings = {place: {key: value for key, value in each.items() if value != REDACTED} for place, each in image.configs.items()}
    left_out = LeftOut(
        sum(map(len, image.scram.values())) - sum(map(len, users.values())),
        sum(map(len, image.configs.values())) - sum(map(len, settings.values())),
    )
    scram: ScramImage = Map({mechanism: Map(each) for mechanism, each in users.items() if each})
    configs: ConfigsImage = Map({place: Map(each) for place, each in settings.items() if each})
    return image._replace(scram=scram, configs=configs), left_out


def restored_values(image: MetadataImage) -> Iterator[bytes]:
    """The framed records of a restored image, in the order in which Kafka's controllers write a snapshot."""
    level = image.features.metadata_version or NEWEST_LEVEL
    has_topics = False
    for body, version in write_image(image._replace(topics=TopicsImage()), on_loss=_ignore_loss):
        if not has_topics and type(body).__name__ not in _BEFORE_TOPICS:
            yield from _topics(image, level)
            has_topics = True
        yield write_metadata_record(body, version)
    if not has_topics:
        yield from _topics(image, level)


def _topics(image: MetadataImage, level: int) -> Iterator[bytes]:
    make = message_type("metadata", "TopicRecord").cls
    version = record_versions(level).partition
    total = len(image.topics)
    for count, topic in enumerate(sorted(image.topics, key=attrgetter("name", "id"))):
        yield write_metadata_record(make(name=topic.name, topic_id=topic.id), 0)
        yield from _partitions(topic, level, version)
        if count % _TOLD_EVERY == 0:
            update_progress(f"writing topics, {count * 100 // total} % done")


def _partitions(topic: TopicImage, level: int, version: int) -> Iterator[bytes]:
    """The partitions of a topic. Nearly all of a large image are bytes of the same version, in which only the epochs are replaced."""
    index, overlay = topic.scan(), topic.overlay
    for partition_id in sorted({*index, *overlay}) if overlay else sorted(index):
        value = None
        if partition_id not in overlay:
            value = _raised(*index.place(partition_id), version)
        if value is None:
            partition = raised(topic.read(partition_id, index))
            record = partition_record(partition, topic.id, partition_id, level, _ignore_loss)
            value = write_metadata_record(record, version)
        yield value


def raised(partition: PartitionRegistration) -> PartitionRegistration:
    """A partition with its epochs raised."""
    return partition._replace(leader_epoch=_raised_epoch(partition.leader_epoch), partition_epoch=_raised_epoch(partition.partition_epoch))


def _raised_epoch(epoch: int) -> int:
    return min(max(epoch, 0) + EPOCH_MARGIN, _INT32_MAX)


def _raised(buf: bytes, start: int, end: int, version: int) -> bytes | None:
    """The same of the checked PartitionRecord `buf[start:end]`, without decoding it; None if it has to be decoded."""
    at = start + _ARRAYS_AT
    for _ in range(_ARRAYS):
        count = buf[at]
        if count > _LONG:
            return None
        at += 4 * count - 3
    at += _LEADER_SIZE
    leader_epoch, partition_epoch = _EPOCHS.unpack_from(buf, at)
    if buf[start + 2] != version or not (0 <= leader_epoch < EPOCH_MAX and 0 <= partition_epoch < EPOCH_MAX):
        return None
    return buf[start:at] + _EPOCHS.pack(leader_epoch + EPOCH_MARGIN, partition_epoch + EPOCH_MARGIN) + buf[at + _EPOCHS.size : end]


def _ignore_loss(loss: str) -> None:
    """Ignore what the image's own level cannot hold: a downgrade has left it, and Kafka's snapshots leave it out too."""
