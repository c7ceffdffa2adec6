"""The parts of an image beside the metadata: its source, the voter set and the leader, the faults of replay, the losses of writing.

`disk.source` and the observer of a live quorum implement the Protocol of a source. A log cut at an offset has the batches before it and the
first records of the batch that holds it. The bytes that records take are counted by kind of record and by topic.

Voters and leader come from the control records of the Raft layer. A fault is a record that replay could not apply. A loss is information
that a record of an older metadata.version cannot hold; the caller's `LossHandler` decides whether that is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from metashell.codec.batches import LEAD_SIZE, BatchHeader, Record, walk_records
from metashell.codec.metadata_records import GAVE_UP, make_loop, record_type_name
from metashell.codec.primitives import read_uvarint
from metashell.common.errors import DecodeError, MetashellError
from metashell.common.values import OffsetAndEpoch


class Provenance(NamedTuple):
    """The position of an image in the log, in our own voice and in Kafka's.

    Shape: `offset` is the last offset that the image contains, `epoch` the leader epoch there; for a checkpoint they
    come from its name and its header. `file_*` are the numbers that Kafka's shell prints: the last data record's offset in the
    file's own numbering, its batch's epoch, and that batch's largest timestamp. All are -1 for nothing.
    `end_offset` is where reading ended. Records before `certain_to` are committed, None if none is known to be.
    `begins_at` is the offset of the first record if the records before it are neither in the log nor in a snapshot, so that the image
    lacks them, else 0. Units: timestamps are Unix milliseconds; ends are exclusive.
    Source: org.apache.kafka.image.MetadataProvenance.
    """

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    file_offset: int = -1
    file_epoch: int = -1
    file_timestamp_ms: int = -1
    source_kind: str = ""
    source: str = ""
    certain_to: int | None = None
    end_offset: int = 0
    begins_at: int = 0


class VoterEndpoint(NamedTuple):
    """One listener of a voter."""

    name: str
    host: str
    port: int


class Voter(NamedTuple):
    """A member of the quorum; a directory id of zeros is an unknown one."""

    id: int
    directory_id: bytes
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_supported_version: int = 0
    max_supported_version: int = 0


class VoterSet(NamedTuple):
    """The voters, ordered by id, and the offset of the record that names them.

    Shape: the offset is that of the log; a record inside a snapshot counts at the snapshot's last contained offset.
    """

    offset: int
    voters: tuple[Voter, ...]


class Leader(NamedTuple):
    """The winner of the newest election in the log, and the ids of its voters in order, which with kraft.version 0 stand nowhere else."""

    id: int
    epoch: int
    voter_ids: tuple[int, ...] = ()


def voter_set(record: Any, offset: int) -> VoterSet:
    """The voter set that a VotersRecord names."""
    voters = (
        Voter(
            voter.voter_id,
            voter.voter_directory_id,
            tuple(VoterEndpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in voter.endpoints),
            voter.k_raft_version_feature.min_supported_version,
            voter.k_raft_version_feature.max_supported_version,
        )
        for voter in record.voters
    )
    return VoterSet(offset, tuple(sorted(voters)))


class Fault(NamedTuple):
    """One thing in the input that is missing in the image, or that may be wrong there.

    Shape: `offset` is the log offset of the record (inside a checkpoint in the file's own numbering), `position` the byte of its batch in
    `file`; -1 if there is none. `record_type` is Kafka's upper-case name, empty for a fault of the file or the batch. `newer` names the
    part that is newer than this software (`record type 30`, `TOPIC_RECORD version 1`), so that nothing is damaged; it is empty for every
    other fault. `is_whole` says that all of such a record was read and applied. `record_count` is more than 1 if the fault stands for all
    records of its kind, of which it is the first.
    """

    file: str
    offset: int
    position: int
    record_type: str
    reason: str
    newer: str = ""
    is_whole: bool = False
    record_count: int = 1

    def __str__(self) -> str:
        words = [self.file] if self.file else []
        if self.offset >= 0:
            words.append(f"offset {self.offset}")
        elif self.position >= 0:
            words.append(f"byte {self.position}")
        words.append(f"{self.record_type}: {self.reason}" if self.record_type else self.reason)
        return ": ".join(words)


class ReplayError(MetashellError):
    """A record that does not fit the image it is replayed on.

    `applied` says that it changed the image all the same: a topic whose name was taken, for example, replaces the former one.
    """

    def __init__(self, message: str, *, applied: bool = False) -> None:
        super().__init__(message)
        self.applied = applied


VersionedRecord = tuple[Any, int]
"""A record's body and the version to write it in."""

Item = TypeVar("Item")
SORTED_AT_ONCE: Final = 2000


def in_order(items: Iterable[Item], key: Any = None) -> Iterator[Item | None]:
    """The items in order; None among them is a place to rest, for a server that must answer in between.

    At most `SORTED_AT_ONCE` are sorted in one step, some milliseconds; after that each item takes some microseconds. To sort 100 000 topics
    at once took 240 ms.
    """
    source = iter(items)
    runs: list[list[Item]] = []
    while run := list(islice(source, SORTED_AT_ONCE)):
        run.sort(key=key)
        runs.append(run)
        if len(run) == SORTED_AT_ONCE:
            yield None
    yield from runs[0] if len(runs) == 1 else merge(*runs, key=key)


LossHandler = Callable[[str], None]
"""Called once for each kind of information that does not fit; it raises, or the writer goes on without it."""


class ImageLossError(MetashellError):
    """Information that the wanted metadata.version cannot hold; `loss` says which."""

    def __init__(self, loss: str, level_name: str) -> None:
        super().__init__(f"metadata.version {level_name} cannot hold {loss}")
        self.loss = loss


class Batch(Protocol):
    """A record batch of version 2, from a file or fetched."""

    @property
    def header(self) -> BatchHeader: ...
    @property
    def position(self) -> int: ...
    @property
    def file(self) -> str: ...
    def crc_fault(self) -> str | None: ...
    def records_area(self, max_size: int) -> tuple[bytes, int, int]: ...
    def records(self) -> Iterable[Record]: ...


class SourceTrouble(Protocol):
    """A part of a source that could not be read; `disk.source.SourceFault` is one."""

    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def reason(self) -> str: ...
    @property
    def is_tail(self) -> bool: ...


class Source(Protocol):
    """A source of batches: those of a snapshot, then those of the log."""

    @property
    def kind(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def snapshot_id(self) -> OffsetAndEpoch | None: ...
    @property
    def certain_to(self) -> int | None: ...
    @property
    def end_offset(self) -> int | None: ...
    @property
    def faults(self) -> Iterable[SourceTrouble]: ...
    def snapshot_batches(self) -> Iterable[Batch]: ...
    def log_batches(self, from_offset: int) -> Iterable[Batch]: ...


def batches_before(batches: Iterable[Batch], end: int) -> Iterator[Batch]:
    """The batches before offset `end`; of the batch that holds it, the records before it.

    Why not stop at the first batch that reaches `end`? No checksum covers a base offset, so one flipped bit could end the log too early. A
    batch that does not follow the one before it is held back until the next one shows which of the two is right. With `end` 300, take
    batches of 50 records at 0, then 1050, then X:

        X = 1100   follows 1050: offsets 50 to 1049 are missing, and nothing more lies before 300
        X = 100    does not: the base 1050 was damaged, the batch holds offsets 50 to 99 and is given, as is X
    """
    held: Batch | None = None
    expected = by_place = -1
    for batch in batches:
        header = batch.header
        base, last = header.base_offset, header.last_offset
        if held is not None:
            if base != by_place and (base == expected or last >= end):
                # The held batch is where it says: offsets are missing before it.
                break
            if by_place - _length(held) >= end:
                return
            yield held
            held = None
        elif last >= end and expected >= 0 and base != expected:
            held, by_place, expected = batch, expected + last + 1 - base, last + 1
            continue
        if last >= end:
            if base < end:
                yield CutBatch(batch, end)
            return
        yield batch
        expected = last + 1
    if held is not None and held.header.base_offset < end:
        yield CutBatch(held, end)


def _length(batch: Batch) -> int:
    return batch.header.last_offset + 1 - batch.header.base_offset


class CutBatch:
    """A batch without its records from offset `end_offset` on; its checksum is still that of the whole batch."""

    def __init__(self, batch: Batch, end_offset: int) -> None:
        header = batch.header
        self._batch = batch
        self._end_offset = end_offset
        self.position = batch.position
        self.file = batch.file
        self.header = BatchHeader(
            header.base_offset,
            header.size_bytes - LEAD_SIZE,
            header.leader_epoch,
            header.magic,
            header.crc,
            header.attributes,
            end_offset - 1 - header.base_offset,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            min(header.count, end_offset - header.base_offset),
        )

    def crc_fault(self) -> str | None:
        """The fault of the whole batch; see RecordBatch."""
        return self._batch.crc_fault()

    def records_area(self, max_size: int) -> tuple[bytes, int, int]:
        """The buffer that holds the remaining records, and their start and end in it. Errors: DecodeError."""
        buf, start, end = self._batch.records_area(max_size)
        stop = start
        for _, fields in zip(range(self.header.count), walk_records(buf, start, end, self._batch.header.count), strict=False):
            stop = fields[7]
        return buf, start, stop

    def records(self) -> Iterator[Record]:
        """The remaining records. Errors: DecodeError."""
        return (record for record in self._batch.records() if record.offset < self._end_offset)


# ---- sizes


FRAMING: Final = "(framing of batches and records)"
CONTROL: Final = "(control records)"
NO_TYPE: Final = "(records without a type)"
_TOPIC: Final = 2
_ID_AT: Final = {3: 7, 5: 7, 9: 3}
"""The position of the topic id in a value, by record type: partitions, their changes, removals. A TopicRecord has the name first."""
_LONG: Final = 128
_ID_SIZE: Final = 16


class Sizes:
    """Bytes and counts of records of some batches.

    Shape: `bytes_of` and `count_of` are by the name of the record's type, with FRAMING and CONTROL; `topic_bytes` and `topic_counts`
    by the topic's 16-byte id. Values count by their record; FRAMING is the rest of the batches.
    """

    def __init__(self, *, by_topic: bool = False) -> None:
        self.topic_bytes: Counter[bytes] = Counter()
        self.topic_counts: Counter[bytes] = Counter()
        self._bytes: Counter[int | str] = Counter()
        self._counts: Counter[int | str] = Counter()
        self._by_topic = by_topic
        self._walk = make_loop("add((start, end))", parameters="add")

    @property
    def bytes_of(self) -> dict[str, int]:
        return {_name(key): size for key, size in self._bytes.items()}

    @property
    def count_of(self) -> dict[str, int]:
        return {_name(key): count for key, count in self._counts.items()}

    def add(self, batches: Iterable[Batch], max_size: int) -> None:
        """Count all batches. A batch whose records cannot be separated counts as framing."""
        for batch in batches:
            header = batch.header
            whole = header.size_bytes
            if header.is_control:
                self._bytes[CONTROL] += whole
                self._counts[CONTROL] += header.count
                continue
            try:
                buf, start, end = batch.records_area(max_size)
                values = self._values(buf, start, end, header.count)
            except DecodeError:
                values = []
            taken = 0
            for at, stop in values:
                kind: int | str = buf[at + 1] if stop - at > 1 else NO_TYPE
                if isinstance(kind, int) and kind >= _LONG:
                    kind = _long_type(buf[at + 1 : stop])
                size = stop - at
                taken += size
                self._bytes[kind] += size
                self._counts[kind] += 1
                if self._by_topic and (kind == _TOPIC or kind in _ID_AT):
                    self._add_topic(buf, at, stop, kind)
            self._bytes[FRAMING] += max(whole - taken, 0)

    def _values(self, buf: bytes, start: int, end: int, count: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        if self._walk(buf[:end], start, 0, count, found.append) != GAVE_UP:
            return found
        return [(fields[4], fields[4] + fields[5]) for fields in walk_records(buf, start, end, count) if fields[5] > 0]

    def _add_topic(self, buf: bytes, at: int, stop: int, kind: int) -> None:
        begin = _after_name(buf, at + 3, stop) if kind == _TOPIC else at + _ID_AT[kind]
        # A value that is too short for an id is a fault and belongs to no topic.
        if begin <= stop - _ID_SIZE:
            id = buf[begin : begin + _ID_SIZE]
            self.topic_bytes[id] += stop - at
            self.topic_counts[id] += 1


def _after_name(buf: bytes, at: int, stop: int) -> int:
    """Return the position where the name in a TopicRecord ends, `stop` if its size cannot be read."""
    try:
        size, at = read_uvarint(buf, at)
    except (DecodeError, IndexError):
        return stop
    return at + size - 1


def _long_type(buf: bytes) -> int | str:
    """The type of a record that takes more than one byte."""
    try:
        return read_uvarint(buf, 0)[0]
    except (DecodeError, IndexError):
        return NO_TYPE


def _name(key: int | str) -> str:
    return key if isinstance(key, str) else record_type_name(key)
