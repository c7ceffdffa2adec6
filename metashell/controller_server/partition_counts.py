"""How many topics and partitions there are, how many without a leader, and how many led by another than the preferred replica.

A million partitions are not walked for each question. What is replayed notes the partitions that it touches; they are looked up in the
stable image when somebody asks, and only those. Where nobody asks for long, or a snapshot took the place of everything, all are counted
anew, once. Either way in steps, so that the loop is not held: on a busy machine a million partitions took 4 s in pieces of 2 to 8 ms,
after that 10 000 changes 40 ms, and a question when nothing had changed some microseconds.
Source: org.apache.kafka.controller.metrics.ControllerMetadataMetricsPublisher.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from metashell.checks.partitions import is_leaderless, is_unpreferred
from metashell.image import MetadataImage, PartitionRegistration
from metashell.image.loss import VersionedRecord

TOUCHED_MAX: Final = 200_000
"""Partitions that are noted at most until somebody asks; beyond that, all are counted anew."""
STEP: Final = 500
"""Partitions of a step that counts all."""
LOOKED_UP: Final = 100
"""Partitions that are looked up in a step."""
_NONE: Final = -1


class PartitionCounts:
    """The counts as of the last `follow` that was run to its end.

    Shape: `offline` and `unpreferred` are kept by topic, so that one that is removed takes its own along. `offset` is -1 before the first
    count, else the last one that counts. `stable_offset` gives the last offset of the stable image.
    """

    def __init__(self, stable_offset: Callable[[], int]) -> None:
        self.topics = 0
        self.partitions = 0
        self.offset = -1
        self._stable_offset = stable_offset
        self._total = 0
        self._sizes: dict[bytes, int] = {}
        self._offline: dict[bytes, set[int]] = {}
        self._unpreferred: dict[bytes, set[int]] = {}
        self._touched: deque[tuple[int, bytes, int, bool]] = deque()
        self._is_whole = False

    @property
    def offline(self) -> int:
        """Partitions without a leader."""
        return sum(map(len, self._offline.values()))

    @property
    def unpreferred(self) -> int:
        """Partitions that another than their first replica leads; those without a leader are among them, as in Kafka."""
        return sum(map(len, self._unpreferred.values()))

    def note(self, records: Sequence[VersionedRecord], base_offset: int) -> None:
        """Records were replayed; nothing is looked at yet."""
        touched = self._touched
        if not self._is_whole:
            # Whoever counts all begins with the stable image: what is replayed and not stable comes on top of it.
            stable_offset = self._stable_offset()
            while touched and touched[0][0] <= stable_offset:
                touched.popleft()
        for offset, (record, _) in enumerate(records, base_offset):
            kind = type(record).__name__
            if kind == "PartitionChangeRecord":
                touched.append((offset, record.topic_id, record.partition_id, False))
            elif kind == "PartitionRecord":
                touched.append((offset, record.topic_id, record.partition_id, True))
            elif kind == "RemoveTopicRecord":
                touched.append((offset, record.topic_id, _NONE, False))
        if len(touched) > TOUCHED_MAX:
            self._is_whole = False

    def reset(self) -> None:
        """A snapshot took the place of everything: all has to be counted anew."""
        self._touched.clear()
        self._is_whole = False

    def follow(self, image: MetadataImage, stable_offset: int) -> Iterator[None]:
        """Bring the counts to the stable image, which has all up to `stable_offset`; in steps, to be taken to the end."""
        yield from self._look_up(image, stable_offset) if self._is_whole else self._count_all(image)
        if self._is_whole:
            self.topics = len(image.topics)
            self.partitions = self._total
            self.offset = stable_offset

    def _count_all(self, image: MetadataImage) -> Iterator[None]:
        # From here on all that is replayed is noted; it comes on top of this image, whatever is committed meanwhile.
        self._is_whole = True
        self._sizes, self._offline, self._unpreferred = {}, {}, {}
        self._total = 0
        room = STEP
        for topic in image.topics:
            count = 0
            for number, partition in topic.partitions.items():
                count += 1
                self._put(topic.id, number, partition)
                room -= 1
                if room <= 0:
                    room = STEP
                    yield
                    if not self._is_whole:
                        return
            self._sizes[topic.id] = count
            self._total += count

    def _look_up(self, image: MetadataImage, stable_offset: int) -> Iterator[None]:
        """Look at what was touched and is stable; a change that is aborted, or was of a lost leader, is looked at in vain."""
        touched, by_id = self._touched, image.topics.by_id
        while touched and touched[0][0] <= stable_offset:
            grown: set[bytes] = set()
            for _ in range(LOOKED_UP):
                if not touched or touched[0][0] > stable_offset:
                    break
                _, topic_id, number, is_new = touched.popleft()
                topic = by_id.get(topic_id)
                if topic is None:
                    self._total -= self._sizes.pop(topic_id, 0)
                    self._offline.pop(topic_id, None)
                    self._unpreferred.pop(topic_id, None)
                elif number != _NONE and topic.has_partition(number):
                    self._put(topic_id, number, topic.partitions[number])
                    if is_new:
                        grown.add(topic_id)
            for topic_id in grown:
                count = by_id[topic_id].partition_count
                self._total += count - self._sizes.get(topic_id, 0)
                self._sizes[topic_id] = count
            yield

    def _put(self, topic_id: bytes, number: int, partition: PartitionRegistration) -> None:
        _keep(self._offline, topic_id, number, is_leaderless(partition))
        _keep(self._unpreferred, topic_id, number, is_unpreferred(partition))


def _keep(kept: dict[bytes, set[int]], topic_id: bytes, number: int, belongs: bool) -> None:
    numbers = kept.get(topic_id)
    if belongs:
        if numbers is None:
            numbers = kept[topic_id] = set()
        numbers.add(number)
    elif numbers is not None:
        numbers.discard(number)
        if not numbers:
            del kept[topic_id]
