"""What each partition comes to under a question, without decoding the many that are alike.

In a snapshot, runs of partition records of a topic have one shape: the same sizes and array lengths at the same places.
A run is cut into rows by a struct: what a record says without its id and epochs. The question is asked once for each
different row, and its answer is remembered; a cluster has far fewer rows than partitions. What is no run, or what a later
record changed, is decoded: the question is the same function then, so that both ways cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from struct import Struct
from typing import Final, Generic, NamedTuple, TypeVar

from metashell.checks.partitions import is_plain
from metashell.image.overlay import fold_entry
from metashell.image.partitions import PartitionRegistration, partition_from_record
from metashell.image.shapes import run_pattern
from metashell.image.spans import Span, partition_reader, read_partition, walk_span
from metashell.image.topics import TopicImage

Answer = TypeVar("Answer", bound=Hashable)
Question = Callable[[PartitionRegistration], Answer]
QuickQuestion = Callable[[tuple[bytes, bytes]], Answer | None] | None

_KEY_SIZE: Final = 20
_FRAME_SIZE: Final = 3
_EPOCHS_SIZE: Final = 8
_REMEMBERED_MAX: Final = 1 << 16
"""Rows that are remembered; each costs 300 bytes."""
_ID_SIZE: Final = 4
_SEEN_BEFORE_LEARNT: Final = 3
_SHAPES_MAX: Final = 256
_SEEN_MAX: Final = 4096


class _Answers(dict[tuple[bytes, bytes], Answer], Generic[Answer]):
    """The answers for the rows of one version; a new row is decoded and asked."""

    __slots__ = ("_question", "_quick", "_reader")

    def __init__(self, question: Question[Answer], quick: QuickQuestion[Answer], version: int) -> None:
        super().__init__()
        self._quick = quick
        self._question = question
        self._reader = partition_reader(version)

    def __missing__(self, row: tuple[bytes, bytes]) -> Answer:
        answer = None if self._quick is None else self._quick(row)
        if answer is None:
            body = bytes(_KEY_SIZE) + row[0] + bytes(_EPOCHS_SIZE) + row[1]
            answer = self._question(partition_from_record(self._reader(body, 0, len(body))))
        if len(self) >= _REMEMBERED_MAX:
            self.clear()
        self[row] = answer
        return answer


class Layout(NamedTuple):
    """Where things begin in each record of a plain shape: as many in sync as replicas, none added or removed, a directory each, no tags."""

    stride: int
    replica_count: int
    replicas_at: int
    leader_at: int
    directories_at: int


class Shape(NamedTuple, Generic[Answer]):
    """How records of one shape are found, cut into rows and ids, and answered; `layout` is that of a plain one."""

    pattern: re.Pattern[bytes]
    stride: int
    rows: Struct
    ids: Struct
    heads: Struct
    answers: Callable[[tuple[bytes, bytes]], Answer]
    layout: Layout | None


class Told(NamedTuple, Generic[Answer]):
    """What was found out about the partitions of a topic, in columns: each partition once, in no order that means anything."""

    ids: tuple[int, ...]
    leader_epochs: Sequence[int]
    partition_epochs: Sequence[int]
    answers: Sequence[Answer]


class PartitionSurvey(Generic[Answer]):
    """Asks one question of all partitions of a topic.

    Shape: the question gets a partition and may look at all of it but its epochs, which are 0 where nobody decoded them.
    A survey is good for as long as the question means the same, so for one image. `quick` may answer for a row, which is the bytes
    from the replicas to the leader and those after the epochs; where it gives None, the question is asked.
    """

    def __init__(self, question: Question[Answer], quick: QuickQuestion[Answer] = None) -> None:
        self._question = question
        self._quick: QuickQuestion[Answer] = quick
        self._answers: dict[int, _Answers[Answer]] = {}
        self._shapes: dict[bytes, list[Shape[Answer]]] = {}
        self._shape_count = 0
        self._seen: dict[bytes, int] = {}

    @property
    def remembered(self) -> int:
        """How many different rows are remembered."""
        return sum(map(len, self._answers.values()))

    def answers(self, topic: TopicImage) -> list[Answer]:
        """One answer for each partition, in no order that means anything."""
        spans = topic.spans
        if len(spans) == 1 and not topic.overlay:
            ids: list[tuple[int, ...]] = []
            answers = self._span(spans[0], ids)
            if len(set(ids)) == len(ids):
                topic.remember_count(len(ids))
                return answers
        # A partition whose record is repeated counts once, by the last.
        return list(self.by_id(topic).values())

    def by_id(self, topic: TopicImage) -> dict[int, Answer]:
        """The answer of each partition by its id, in the order of the records."""
        found: dict[int, Answer] = {}
        for span in topic.spans:
            ids: list[tuple[int, ...]] = []
            answers = self._span(span, ids)
            found.update(zip(chain.from_iterable(ids), answers, strict=True))
        if topic.overlay:
            index = topic.scan()
            for partition_id in topic.overlay:
                found[partition_id] = self._question(topic.read(partition_id, index))
        return found

    def with_epochs(self, topic: TopicImage) -> Told[Answer]:
        """The answers with what they know nothing of."""
        heads: list[tuple[int, ...]] = []
        answers: list[Answer] = []
        for span in topic.spans:
            answers += self._span(span, heads, with_epochs=True)
        if topic.overlay:
            index = topic.scan()
            for partition_id in topic.overlay:
                partition = topic.read(partition_id, index)
                heads.append((partition_id, partition.leader_epoch, partition.partition_epoch))
                answers.append(self._question(partition))
        if not heads:
            return Told((), (), (), ())
        ids, leader_epochs, partition_epochs = zip(*heads, strict=True)
        if len(set(ids)) == len(ids):
            return Told(ids, leader_epochs, partition_epochs, answers)
        last = {id: (*epochs, answer) for (id, *epochs), answer in zip(heads, answers, strict=True)}
        return Told(tuple(last), *zip(*last.values(), strict=True))

    def runs(self, topic: TopicImage) -> list[tuple[Shape[Answer], memoryview]] | None:
        """The records of a topic as runs of known shapes; None where it is not all of that."""
        if len(topic.spans) != 1 or topic.overlay:
            return None
        buf, at, end, _ = topic.spans[0]
        found: list[tuple[Shape[Answer], memoryview]] = []
        while at < end:
            for shape in self._shapes.get(buf[at : at + 2], ()):
                match = shape.pattern.match(buf, at, end)
                if match is not None:
                    stop = match.end()
                    found.append((shape, memoryview(buf)[at:stop]))
                    at = stop
                    break
            else:
                return None
        return found

    def _span(self, span: Span, heads: list[tuple[int, ...]], *, with_epochs: bool = False) -> list[Answer]:
        """The answers of the partitions in a span; `heads` gets the id of each, or what `with_epochs` says."""
        buf, at, end, count = span
        found: list[Answer] = []
        while at < end:
            for shape in self._shapes.get(buf[at : at + 2], ()):
                match = shape.pattern.match(buf, at, end)
                if match is not None:
                    stop = match.end()
                    piece = memoryview(buf)[at:stop]
                    found += map(shape.answers, shape.rows.iter_unpack(piece))
                    heads += (shape.heads if with_epochs else shape.ids).iter_unpack(piece)
                    at = stop
                    break
            else:
                at = self._one(buf, at, end, found, heads, with_epochs)
        assert len(found) == count, "a span holds its partition records and nothing else"
        return found

    def _one(self, buf: bytes, at: int, end: int, found: list[Answer], heads: list[tuple[int, ...]], with_epochs: bool) -> int:
        """Answer for the one record at `at`, and learn its shape if more like it come; where the next one begins."""
        (id,), (value,), (stop,) = walk_span(Span(buf, at, end, 1))
        partition = read_partition(buf, value, stop)
        found.append(self._question(partition))
        heads.append((id, partition.leader_epoch, partition.partition_epoch) if with_epochs else (id,))
        self._learn(buf, at, value, stop)
        return stop + 1

    def _learn(self, buf: bytes, at: int, value: int, stop: int) -> None:
        pattern = run_pattern(buf, at, value, stop)
        if pattern is None or self._shape_count >= _SHAPES_MAX:
            return
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        seen = self._seen[pattern] = self._seen.get(pattern, 0) + 1
        if seen != _SEEN_BEFORE_LEARNT:
            return
        start = value + _FRAME_SIZE + _KEY_SIZE
        middle = _end_of_leader(buf, start)
        stride = stop + 1 - at
        head, first, second = start - at, middle - start, stop - middle - _EPOCHS_SIZE
        version = buf[value + 2]
        answers = self._answers.get(version)
        if answers is None:
            answers = self._answers[version] = _Answers(self._question, self._quick, version)
        shape = Shape(
            re.compile(pattern, re.DOTALL),
            stride,
            Struct(f"{head}x{first}s{_EPOCHS_SIZE}x{second}s1x"),
            Struct(f">{start - _KEY_SIZE - at}xi{stride - head + _KEY_SIZE - 4}x"),
            Struct(f">{start - _KEY_SIZE - at}xi{_KEY_SIZE - 4 + first}xii{second + 1}x"),
            answers.__getitem__,
            _plain_layout(buf[start:middle], buf[middle + _EPOCHS_SIZE : stop], head, stride),
        )
        self._shapes.setdefault(buf[at : at + 2], []).append(shape)
        self._shape_count += 1


def first_factor(topic: TopicImage) -> int:
    """How many replicas the first partition of a topic has, without those that a move adds; 0 for a topic without partitions."""
    if not topic.spans:
        partition = next(iter(topic.partitions.values()), None)
        return 0 if partition is None else len(partition.replicas) - len(partition.adding_replicas)
    buf, at, end, _ = topic.spans[0]
    if not topic.overlay:
        # As `walk_span` goes to the value of a record, which takes three times as long for one.
        at += 3 if buf[at] < 128 else 4
        while buf[at] > 127:
            at += 1
        at += (3 if buf[at + 2] < 128 else 4) + _FRAME_SIZE + _KEY_SIZE
        count = buf[at]
        # Of more replicas the count takes two bytes. Behind those in sync stand those that are removed and added.
        if count < 128:
            at += 4 * count - 3
            at += 4 * buf[at] - 3
            if buf[at] == buf[at + 1] == 1:
                return count - 1
    (id,), (value,), (stop,) = walk_span(Span(buf, topic.spans[0].start, end, 1))
    partition = read_partition(buf, value, stop)
    entry = topic.overlay.get(id)
    if entry is not None:
        partition = fold_entry(entry, partition)
    return len(partition.replicas) - len(partition.adding_replicas)


def _plain_layout(first: bytes, second: bytes, head: int, stride: int) -> Layout | None:
    """The layout of records whose replicas to leader are `first` and whose directories to the end are `second`, if they are plain."""
    if not is_plain(first, second):
        return None
    count = first[0] - 1
    leader_at = head + len(first) - _ID_SIZE
    return Layout(stride, count, head + 1, leader_at, head + len(first) + _EPOCHS_SIZE + 1)


def _end_of_leader(buf: bytes, at: int) -> int:
    """Where the leader of a partition record ends, whose arrays begin at `at`."""
    for _ in range(4):
        at += 1 + (buf[at] - 1) * 4
    return at + 4
