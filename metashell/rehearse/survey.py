"""One pass over all partitions of an image: who leads and holds how many, and which partitions need a closer look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from struct import Struct
from typing import Final

from metashell.controller.partitions.hints import COUNT_MAX, NO_MOVES, REPLICAS, REPLICAS_AT, Piece, pieces
from metashell.image import MetadataImage, PartitionRegistration, TopicImage
from metashell.image.spans import read_partition

_LEADER: Final = Struct(">i").unpack_from


class Counts:
    """Leaderships and replicas by broker, and the bytes of replicas where sizes are known."""

    def __init__(self) -> None:
        self.leaders: Counter[int] = Counter()
        self.replicas: Counter[int] = Counter()
        self.sizes: Counter[int] = Counter()

    def copy(self) -> Counts:
        made = Counts()
        made.leaders, made.replicas, made.sizes = self.leaders.copy(), self.replicas.copy(), self.sizes.copy()
        return made

    def add(self, partition: PartitionRegistration, size_bytes: int, sign: int = 1) -> None:
        """Count a partition, or with a sign of -1 count it no longer."""
        if partition.leader >= 0:
            self.leaders[partition.leader] += sign
        for id in partition.replicas:
            self.replicas[id] += sign
            if size_bytes:
                self.sizes[id] += sign * size_bytes


Special = Callable[[TopicImage, int, PartitionRegistration], None]


def survey(image: MetadataImage, living: Container[int], special: Special) -> Counts:
    """Count all partitions. `special` gets those that are under way, not wholly in sync, or have a replica on a broker that does not live.

    Written out for those that are bytes and ordinary, for a million pass here.
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
    """Whether partitions come in order, as in every snapshot, so that each comes once."""
    expected = 0
    for _, partition_ids, _, _ in found:
        if partition_ids != list(range(expected, expected + len(partition_ids))):
            return False
        expected += len(partition_ids)
    return True
