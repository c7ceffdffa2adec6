"""Sound log directories of several kinds, on which Kafka starts: three segments of some 13 kB, with checkpoints or without."""

from __future__ import annotations

from pathlib import Path

from metashell.codec.batch_writer import SNAPSHOT_FOOTER, SNAPSHOT_HEADER
from metashell.codec.registry import message_type
from tests.inspect.verify.making import T0, control, data_batch, indexes_of, leader_change, metadata_value

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
PARTITIONS = 20
IDENTITY = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\n"
ELECTION = '{"clusterId":"","leaderId":%d,"leaderEpoch":%d,"votedId":%d,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}'
TOPIC_ID_FILE = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def topic_batch(base: int, number: int, epoch: int) -> bytes:
    """A topic and its partitions; a batch of some 1600 bytes, so that an index has several entries."""
    return data_batch(base, topic_values(number), epoch=epoch)


def topic_values(number: int) -> list[bytes]:
    topic_id = number.to_bytes(16, "big")
    values = [metadata_value("TopicRecord", name=f"topic-{number}", topic_id=topic_id)]
    for partition in range(PARTITIONS):
        placed = {"replicas": [1], "isr": [1], "leader": 1, "directories": [b"\1" * 16]}
        values.append(metadata_value("PartitionRecord", 2, partition_id=partition, topic_id=topic_id, **placed))
    return values


LEVEL = metadata_value("FeatureLevelRecord", name="metadata.version", feature_level=30)


class Log:
    """The batches of the three segments of a log: epoch 1, then epoch 2 from the middle of the second one on."""

    def __init__(self) -> None:
        self.end = 0
        self.topics = 0
        self.bases: list[int] = []
        self.segments: list[list[bytes]] = []
        self.roll()
        self.add(leader_change(0), 1)
        self.add(data_batch(1, [LEVEL]), 1)
        self.add_topics(8, 1)
        self.roll()
        self.add_topics(4, 1)
        self.second_epoch = self.end
        self.add(leader_change(self.end, epoch=2), 1)
        self.add_topics(4, 2)
        self.roll()
        self.add_topics(8, 2)

    def roll(self) -> None:
        self.bases.append(self.end)
        self.segments.append([])

    def add(self, batch: bytes, count: int) -> None:
        self.segments[-1].append(batch)
        self.end += count

    def add_topics(self, count: int, epoch: int) -> None:
        for _ in range(count):
            self.topics += 1
            self.add(topic_batch(self.end, self.topics, epoch), 1 + PARTITIONS)

    def name(self, number: int, suffix: str = "log") -> str:
        return f"{self.bases[number]:020d}.{suffix}"

    def starts(self, number: int) -> list[int]:
        """The bytes at which the batches of a segment begin, and its size."""
        found = [0]
        for batch in self.segments[number]:
            found.append(found[-1] + len(batch))
        return found


LOG = Log()
CHECKPOINT = f"{LOG.bases[2]:020d}-0000000002.checkpoint"


def checkpoint_parts(topics: int, epoch: int) -> list[bytes]:
    """A checkpoint in several batches: header, level, one for each topic, and footer."""
    header = message_type("control", "SnapshotHeaderRecord").cls(last_contained_log_timestamp=T0)
    parts = [control(0, (SNAPSHOT_HEADER, header), epoch=epoch), data_batch(1, [LEVEL], epoch=epoch)]
    base = 2
    for number in range(1, topics + 1):
        parts.append(topic_batch(base, number, epoch))
        base += 1 + PARTITIONS
    footer = message_type("control", "SnapshotFooterRecord").cls()
    return [*parts, control(base, (SNAPSHOT_FOOTER, footer), epoch=epoch)]


def checkpoint(topics: int, epoch: int) -> bytes:
    return b"".join(checkpoint_parts(topics, epoch))


def make_base(folder: Path, kind: str) -> Path:
    """A sound log directory: all of the `log`, with a `middle` checkpoint, `compact`ed to that, or `fresh`ly formatted."""
    place = folder / "__cluster_metadata-0"
    place.mkdir(parents=True)
    (folder / "meta.properties").write_text(IDENTITY)
    bootstrap = message_type("control", "SnapshotHeaderRecord").cls()
    parts = control(0, (SNAPSHOT_HEADER, bootstrap), epoch=0) + data_batch(1, [LEVEL], epoch=0)
    footer = message_type("control", "SnapshotFooterRecord").cls()
    (folder / "bootstrap.checkpoint").write_bytes(parts + control(2, (SNAPSHOT_FOOTER, footer), epoch=0))
    if kind == "fresh":
        place.rmdir()
        return place
    first = {"log": 0, "middle": 1, "compact": 2}[kind]
    for number in range(first, 3):
        index, time = indexes_of(LOG.bases[number], LOG.segments[number])
        (place / LOG.name(number)).write_bytes(b"".join(LOG.segments[number]))
        (place / LOG.name(number, "index")).write_bytes(index)
        (place / LOG.name(number, "timeindex")).write_bytes(time)
    if first:
        (place / CHECKPOINT).write_bytes(checkpoint(16, 2))
    epochs = [(1, LOG.bases[first]), (2, LOG.second_epoch)] if first < 2 else [(2, LOG.bases[2])]
    (place / "leader-epoch-checkpoint").write_text(epoch_cache(*epochs))
    (place / "partition.metadata").write_bytes(TOPIC_ID_FILE)
    (place / "quorum-state").write_text(ELECTION % (1, 2, -1))
    return place


def epoch_cache(*entries: tuple[int, int]) -> str:
    return "".join(f"{line}\n" for line in (0, len(entries), *(f"{epoch} {start}" for epoch, start in entries)))
