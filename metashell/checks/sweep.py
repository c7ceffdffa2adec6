"""Whether partitions are sound, for many topics at once: columns of bytes are compared instead of one partition after the other.

Runs of partition records that have the same shape (see `runs`) are laid end to end, over many topics. Then all that one byte of each
record says is a slice with a step. What is not sound by these columns is judged by itself, so that the answers are those of `runs`;
a test compares both. A million partitions that are all placed differently take half a second.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Final

from metashell.checks.partitions import RACKS

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.checks.partitions import PartitionJudge
    from metashell.checks.runs import Layout, PartitionSurvey, Shape
    from metashell.image import TopicImage

_ROWS_MAX: Final = 1 << 16
"""Records that are laid end to end; each takes 130 bytes."""
_FEW: Final = 1 << 13
"""Different rows that a survey remembers before columns are worth their while."""
_ID_MAX: Final = (1 << 16) - 2
"""Ids are told by two bytes; the last such number stands for no broker."""
_RACKS_MAX: Final = 255
_CELL: Final = 4
"""Bytes of what a directory belongs to: a zero, two of the broker's id, the number of its rack."""


class SoundColumns:
    """Which rows of a plain shape are sound, for the brokers of one image."""

    def __init__(self, judge: PartitionJudge) -> None:
        racks: dict[str, int] = {}
        owners: dict[bytes, int] = _Owners()
        for id, directory, rack in judge.sound_places():
            # Of a directory that two brokers claim, the other's replicas are judged one by one.
            if 0 <= id <= _ID_MAX:
                owners[directory] = id << 8 | racks.setdefault(rack, len(racks))
        self._owners = owners
        self.is_possible = len(racks) <= _RACKS_MAX
        self._active = {divmod(id, 256) for id in judge.active if 0 <= id <= _ID_MAX}
        self._has_fenced = judge.has_fenced
        self._spread = _Spread(judge.rack_count) if judge.is_rack_aware else None
        self._directories: dict[Layout, Struct] = {}

    def judge(self, rows: bytes, layout: Layout) -> tuple[list[int], Collection[int]]:
        """The bits of each row, and the numbers of those of which they mean nothing, since they are not sound."""
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
    """The broker and rack of each sound directory; of any other, none that there is."""

    def __missing__(self, directory: bytes) -> int:
        return 0xFFFFFFFF


class _Spread(dict[tuple[int, ...], int]):
    """Whether the racks of a partition's replicas are as many as they could be, as bits."""

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
    """Asks for the bits of all partitions of many topics. `survey_of` gives what judges a topic where columns do not."""

    def __init__(self, survey_of: Callable[[TopicImage], PartitionSurvey[int]], columns: SoundColumns) -> None:
        self._survey_of = survey_of
        self._columns = columns

    def answers(self, topics: Iterable[TopicImage]) -> Iterator[tuple[TopicImage, Sequence[int]]]:
        """Each topic with the bits of its partitions; neither is in an order that means anything."""
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
            # Where few rows differ, as on a cluster that placed its partitions by itself, to remember them all is quicker.
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
                # Partitions that are not 0, 1, 2, ...: one of them may be there twice.
                yield topic, self._survey_of(topic).answers(topic)
            else:
                yield topic, bits
