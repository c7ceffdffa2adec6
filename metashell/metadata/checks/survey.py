"""Answers one question for every partition without decoding the many that are alike.

In a snapshot, runs of partition records of a topic have one shape: the same sizes and array lengths at the same places. A struct cuts a
run into rows; a row is a record without its id and epochs. The question is asked once for each different row and its answer is kept: a
cluster has far fewer different rows than partitions. A partition outside such runs, or changed by a later record, is decoded, and the
same function answers for it, so that both ways agree.

`Sweep` answers whether partitions are sound, for many topics at once: runs of one shape are laid end to end, and columns of bytes are
compared instead of partitions. Rows that the columns do not show to be sound are judged one by one; a test compares both ways. A million
partitions that are all placed differently take half a second."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from metashell.metadata.checks.partitions import RACKS, is_plain
from metashell.metadata.image.partitions import (
    PartitionRegistration,
    Span,
    partition_from_record,
    partition_reader,
    read_partition,
    walk_span,
)
from metashell.metadata.image.scanner import run_pattern
from metashell.metadata.image.topics import fold_entry

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.metadata.checks.partitions import PartitionJudge
    from metashell.metadata.image import TopicImage


Answer = TypeVar("Answer", bound=Hashable)
Question = Callable[[PartitionRegistration], Answer]
QuickQuestion = Callable[[tuple[bytes, bytes]], Answer | None] | None

_KEY_SIZE: Final = 20
_FRAME_SIZE: Final = 3
_EPOCHS_SIZE: Final = 8
_REMEMBERED_MAX: Final = 1 << 16
"""Rows whose answers are kept; each costs 300 bytes."""
_ID_SIZE: Final = 4
_SEEN_BEFORE_LEARNT: Final = 3
_SHAPES_MAX: Final = 256
_SEEN_MAX: Final = 4096


class _Answers(dict[tuple[bytes, bytes], Answer], Generic[Answer]):
    """The answers for the rows of one record version; a new row is decoded and the question asked."""

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
    """The offsets of the fields in each record of a plain shape; see `is_plain`."""

    stride: int
    replica_count: int
    replicas_at: int
    leader_at: int
    directories_at: int


class Shape(NamedTuple, Generic[Answer]):
    """The tools for records of one shape: to find them, cut them into rows and ids, and answer them. `layout` is that of a plain one."""

    pattern: re.Pattern[bytes]
    stride: int
    rows: Struct
    ids: Struct
    heads: Struct
    answers: Callable[[tuple[bytes, bytes]], Answer]
    layout: Layout | None


class PartitionColumns(NamedTuple, Generic[Answer]):
    """The partitions of a topic in columns, each partition once, in any order."""

    ids: tuple[int, ...]
    leader_epochs: Sequence[int]
    partition_epochs: Sequence[int]
    answers: Sequence[Answer]


class PartitionSurvey(Generic[Answer]):
    """Asks one question of all partitions of a topic.

    Shape: the question gets a partition and may use all of its fields but the epochs, which are 0 for a row.
    Answers are kept, so a survey serves one image only. `quick` may answer for a row, which is the bytes from the replicas to the leader
    and those after the epochs; if it gives None, the question is asked.
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
        """For how many different rows the answers are kept."""
        return sum(map(len, self._answers.values()))

    def answers(self, topic: TopicImage) -> list[Answer]:
        """One answer for each partition, in any order."""
        spans = topic.spans
        if len(spans) == 1 and not topic.overlay:
            ids: list[tuple[int, ...]] = []
            answers = self._span(spans[0], ids)
            if len(set(ids)) == len(ids):
                topic.remember_count(len(ids))
                return answers
        # A partition whose record is repeated counts once, by its last record.
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

    def with_epochs(self, topic: TopicImage) -> PartitionColumns[Answer]:
        """The answers beside the epochs, which the question cannot see."""
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
            return PartitionColumns((), (), (), ())
        ids, leader_epochs, partition_epochs = zip(*heads, strict=True)
        if len(set(ids)) == len(ids):
            return PartitionColumns(ids, leader_epochs, partition_epochs, answers)
        last = {id: (*epochs, answer) for (id, *epochs), answer in zip(heads, answers, strict=True)}
        return PartitionColumns(tuple(last), *zip(*last.values(), strict=True))

    def runs(self, topic: TopicImage) -> list[tuple[Shape[Answer], memoryview]] | None:
        """The records of a topic as runs of known shapes; None if some record is in no such run."""
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
        """The answers of the partitions in a span; `heads` gets the id of each, and with `with_epochs` its epochs too."""
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
        """Answer for the one record at `at`, count its shape, and return where the next record begins."""
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
    """Return the number of replicas of a topic's first partition, without those that a reassignment adds; 0 without partitions."""
    if not topic.spans:
        partition = next(iter(topic.partitions.values()), None)
        return 0 if partition is None else len(partition.replicas) - len(partition.adding_replicas)
    buf, at, end, _ = topic.spans[0]
    if not topic.overlay:
        # `walk_span` would do the same; for one record it takes three times as long.
        at += 3 if buf[at] < 128 else 4
        while buf[at] > 127:
            at += 1
        at += (3 if buf[at + 2] < 128 else 4) + _FRAME_SIZE + _KEY_SIZE
        count = buf[at]
        # From 127 replicas on the count takes two bytes. After the ISR stand the replicas that are removed and added.
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
    """Return the position where the leader in a partition record ends, whose arrays begin at `at`."""
    for _ in range(4):
        at += 1 + (buf[at] - 1) * 4
    return at + 4


# ---- many topics at once


_ROWS_MAX: Final = 1 << 16
"""Records that are laid end to end; each takes 130 bytes."""
_FEW: Final = 1 << 13
"""Up to so many different rows, keeping their answers is quicker than comparing columns."""
_ID_MAX: Final = (1 << 16) - 2
"""A column holds an id in two bytes; the last such number stands for no broker."""
_RACKS_MAX: Final = 255
_CELL: Final = 4
"""The bytes of a directory's owner: a zero, two of the broker's id, the number of its rack."""


class SoundColumns:
    """The test of which rows of a plain shape are sound, for the brokers of one image."""

    def __init__(self, judge: PartitionJudge) -> None:
        racks: dict[str, int] = {}
        owners: dict[bytes, int] = _Owners()
        for id, directory, rack in judge.sound_places():
            # If two brokers claim a directory, the replicas of the first one are judged one by one.
            if 0 <= id <= _ID_MAX:
                owners[directory] = id << 8 | racks.setdefault(rack, len(racks))
        self._owners = owners
        self.is_possible = len(racks) <= _RACKS_MAX
        self._active = {divmod(id, 256) for id in judge.active if 0 <= id <= _ID_MAX}
        self._has_fenced = judge.has_fenced
        self._spread = _Spread(judge.rack_count) if judge.is_rack_aware else None
        self._directories: dict[Layout, Struct] = {}

    def judge(self, rows: bytes, layout: Layout) -> tuple[list[int], Collection[int]]:
        """The bits of each row, and the numbers of the rows that have to be judged by themselves because they are not sound."""
        stride, count = layout.stride, layout.replica_count
        reader = self._directories.get(layout)
        if reader is None:
            rest = stride - layout.directories_at - 16 * count
            reader = self._directories[layout] = Struct(f"{layout.directories_at}x{'16s' * count}{rest}x")
        owners = array("I", map(self._owners.__getitem__, chain.from_iterable(reader.iter_unpack(rows))))
        if sys.byteorder == "little":
            owners.byteswap()
        owned = owners.tobytes()
        odd: set[int] = set()
        for place in range(count):
            for byte in range(4):
                of_replica = rows[layout.replicas_at + 4 * place + byte :: stride]
                if byte < 2:
                    _note_difference(odd, of_replica, bytes(len(of_replica)))
                else:
                    _note_difference(odd, of_replica, owned[_CELL * place + byte - 1 :: _CELL * count])
        for byte in range(4):
            _note_difference(odd, rows[layout.replicas_at + byte :: stride], rows[layout.leader_at + byte :: stride])
        if self._has_fenced:
            leaders = list(zip(rows[layout.leader_at + 2 :: stride], rows[layout.leader_at + 3 :: stride], strict=True))
            if not self._active.issuperset(leaders):
                odd.update(index for index, leader in enumerate(leaders) if leader not in self._active)
        if self._spread is None:
            return [0] * (len(rows) // stride), odd
        racks = (owned[_CELL * place + 3 :: _CELL * count] for place in range(count))
        return list(map(self._spread.__getitem__, zip(*racks, strict=True))), odd


class _Owners(dict[bytes, int]):
    """The broker and rack of each sound directory; for any other directory a number that no broker has."""

    def __missing__(self, directory: bytes) -> int:
        return 0xFFFFFFFF


class _Spread(dict[tuple[int, ...], int]):
    """The bit RACKS for replicas on fewer racks than possible, by the racks of a partition's replicas."""

    def __init__(self, rack_count: int) -> None:
        super().__init__()
        self._rack_count = rack_count

    def __missing__(self, racks: tuple[int, ...]) -> int:
        bits = self[racks] = RACKS if len(set(racks)) < min(len(racks), self._rack_count) else 0
        return bits


def _note_difference(odd: set[int], left: bytes, right: bytes) -> None:
    if left != right:
        odd.update(index for index, (one, other) in enumerate(zip(left, right, strict=True)) if one != other)


class Sweep:
    """Finds the bits of all partitions of many topics. `survey_of` gives the survey of a topic that columns cannot judge."""

    def __init__(self, survey_of: Callable[[TopicImage], PartitionSurvey[int]], columns: SoundColumns) -> None:
        self._survey_of = survey_of
        self._columns = columns

    def answers(self, topics: Iterable[TopicImage]) -> Iterator[tuple[TopicImage, Sequence[int]]]:
        """Each topic with the bits of its partitions, both in any order."""
        columns = self._columns
        if not columns.is_possible:
            yield from ((topic, self._survey_of(topic).answers(topic)) for topic in topics)
            return
        pending: list[tuple[TopicImage, list[int]]] = []
        pieces: dict[int, tuple[Shape[int], list[memoryview], list[tuple[int, int, int]]]] = {}
        rows = 0
        scattered: set[int] = set()
        for topic in topics:
            survey = self._survey_of(topic)
            # Few different rows are usual on a cluster that placed its partitions itself; then keeping their answers is quicker.
            if id(survey) not in scattered:
                if survey.remembered < _FEW:
                    yield topic, survey.answers(topic)
                    continue
                scattered.add(id(survey))
            runs = survey.runs(topic)
            if runs is None:
                yield topic, survey.answers(topic)
                continue
            first = 0
            for shape, piece in runs:
                count = len(piece) // shape.stride
                _, found, places = pieces.setdefault(id(shape), (shape, [], []))
                found.append(piece)
                places.append((len(pending), first, count))
                first += count
            pending.append((topic, []))
            rows += first
            if rows >= _ROWS_MAX:
                yield from self._finish(pending, pieces.values())
                pending, pieces, rows = [], {}, 0
        yield from self._finish(pending, pieces.values())

    def _finish(
        self,
        pending: list[tuple[TopicImage, list[int]]],
        groups: Iterable[tuple[Shape[int], list[memoryview], list[tuple[int, int, int]]]],
    ) -> Iterator[tuple[TopicImage, Sequence[int]]]:
        repeating: set[int] = set()
        for shape, pieces, places in groups:
            rows = b"".join(pieces)
            stride = shape.stride
            if shape.layout is None:
                bits = list(map(shape.answers, shape.rows.iter_unpack(rows)))
            else:
                bits, odd = self._columns.judge(rows, shape.layout)
                for index in odd:
                    bits[index] = shape.answers(shape.rows.unpack_from(rows, index * stride))
            ids = list(chain.from_iterable(shape.ids.iter_unpack(rows)))
            is_usual = ids == list(chain.from_iterable(range(first, first + count) for _, first, count in places))
            at = 0
            for number, first, count in places:
                pending[number][1].extend(bits[at : at + count])
                if not is_usual and ids[at : at + count] != list(range(first, first + count)):
                    repeating.add(number)
                at += count
        for number, (topic, bits) in enumerate(pending):
            if number in repeating:
                # The ids are not 0, 1, 2, ..., so one of them may be repeated.
                yield topic, self._survey_of(topic).answers(topic)
            else:
                yield topic, bits
