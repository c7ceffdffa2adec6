"""The loop that opens data batches: it replays most records without decoding them.

In snapshots nearly every record is a partition, in logs a change of one. The loop takes those, topics and no-ops as bytes when they are
framed as Kafka frames them. Every other record goes to the sink, which decodes it and reports its errors.

Why is this not a loop that decodes each record? Opening a large snapshot spends its time on partition records, and they come in a few
shapes: the same version, the same number of replicas and of in-sync replicas. All records of one shape have the same size, and the same
bytes in the same places (sizes, array lengths, tag numbers). So a shape, once a few records of it have been decoded and found valid,
becomes a regular expression that matches a whole run of records of one topic at once, at 0.1 us a record, a fiftieth of decoding it. A
record that it matches would decode; a record that it does not match is decoded to find out. `test_loader.py` compares the result with a
plain loader."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, Final, Protocol

from metashell.codec.batches import RecordFields, read_record_header
from metashell.codec.metadata_records import headers_between
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.metadata.image.partitions import Span, check_change, partition_from_record, partition_reader
from metashell.metadata.image.provenance import ReplayError
from metashell.metadata.image.topics import RawChange, TopicImage
from metashell.metadata.image.topics_delta import TopicsDelta

_TOPIC = b"\x01\x02\x00"
_NO_OP = b"\x01\x14\x00\x00"
_PARTITIONS = (b"\x01\x03\x00", b"\x01\x03\x01", b"\x01\x03\x02")
_CHANGES = (b"\x01\x05\x00", b"\x01\x05\x01", b"\x01\x05\x02")
_KEY_END = 23
"""The position where the key of a partition record ends in a value: after frame, type and version, partition id, topic id."""
_TAILS_MAX = 1 << 16
_RECORD_SIZE_MIN = 7
_HEAD_SIZE_MAX = 10
"""Sizes, attributes, timestamp and offset deltas and null key of a usual record."""
RECORDS_AT_ONCE: Final = 1000
"""The records of a step, at most: 1 to 2 ms of usual ones, 10 to 20 ms of records that are all decoded."""


class RecordSink(Protocol):
    """Takes the records that the scanner does not replay itself."""

    @property
    def topics(self) -> TopicsDelta:
        """The topics of the present delta; another one after a transaction has begun or ended."""

    def replay_value(self, buf: bytes, fields: RecordFields) -> None:
        """Decode one record and replay it; an error becomes a fault."""

    def note_topic_fault(self, index: int, error: ReplayError) -> None:
        """Note a fault of the topic that record `index` of the batch adds."""


class BrokenBatchError(DecodeError):
    """A batch whose records cannot be separated from `index` on."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class BatchScanner:
    """Replays data batches; the shapes and changes that it has learned serve the next batches too."""

    def __init__(self) -> None:
        self._matcher = RunMatcher()
        self._tails: dict[bytes, dict[bytes, RawChange]] = {kind: {} for kind in _CHANGES}

    def replay_steps(self, buf: bytes, start: int, count: int, sink: RecordSink) -> Generator[None, None, None]:
        """Replay the `count` records that fill `buf` from `start`, at most `RECORDS_AT_ONCE` of them a step.

        Errors: BrokenBatchError if the framing of a record is broken, or bytes are left over; the records before have been
        replayed.
        """
        at = start
        for first in range(0, count, RECORDS_AT_ONCE):
            if first:
                yield
            at = self._replay_piece(buf, at, first, min(count, first + RECORDS_AT_ONCE), sink)
        if at != len(buf):
            raise BrokenBatchError(count, f"{len(buf) - at} bytes are left after the {count} records of the batch")

    def _replay_piece(self, buf: bytes, at: int, index: int, count: int, sink: RecordSink) -> int:
        """Replay the records from `index` on, which begins at `at`, up to `count`; where the next one begins."""
        end = len(buf)
        first_index = index
        headers = headers_between(index, min(count, (end - at) // _RECORD_SIZE_MIN + 1 + index))
        header_end = index + len(headers)
        tails_of = self._tails.get
        topics = sink.topics
        entry_of = topics.pending.get
        while index < count:
            # The usual framing: the value is buf[value:stop], a header count of 0 follows at `stop`.
            value = 0
            if at + _HEAD_SIZE_MAX < end and index < header_end:
                first = buf[at]
                if first < 128:
                    body = at + 1
                    stop = at + (first >> 1)
                else:
                    body = at + 2
                    stop = at + 1 + ((first & 127 | buf[at + 1] << 7) >> 1)
                header = headers[index - first_index]
                if stop < end and buf.startswith(header, body):
                    value = body + len(header)
                    second = buf[value]
                    if second < 128:
                        value += 1
                        size = second >> 1
                    else:
                        size = (second & 127 | buf[value + 1] << 7) >> 1
                        value += 2
                    if value + size != stop or (first | second) & 1 or buf[stop]:
                        value = 0
            if value:
                tails = tails_of(buf[value : value + 3])
                if tails is None:
                    after, taken = self._replay_unchanged(buf, at, value, stop, count - index, index, sink)
                    if taken:
                        at = after
                        index += taken
                        continue
                else:
                    # After the key that names the partition few changes differ, so equal ones share one object: a leader election of
                    # 10 000 partitions has a handful of different tails.
                    change = tails.get(buf[value + _KEY_END : stop])
                    entry = entry_of(buf[value + 3 : value + _KEY_END])
                    if change is not None and entry is not None:
                        entry.append(change)
                        at = stop + 1
                        index += 1
                        continue
                    if self._replay_change(buf, value, stop, change, topics):
                        at = stop + 1
                        index += 1
                        continue
            if value:
                fields = (index, 0, value, -1, value, stop - value, stop, stop + 1)
            else:
                try:
                    fields = read_record_header(buf, at, end)
                except DecodeError as error:
                    raise BrokenBatchError(index, f"record {index} of the batch: {error}") from None
            sink.replay_value(buf, fields)
            topics = sink.topics
            entry_of = topics.pending.get
            at = fields[7]
            index += 1
        return at

    def _replay_unchanged(self, buf: bytes, at: int, value: int, stop: int, left: int, index: int, sink: RecordSink) -> tuple[int, int]:
        """Replay a topic with the partitions after it, more partitions of a topic, or a no-op.

        Returns where the record after them starts and how many they were; 0 for a record that is none of these.
        """
        kind = buf[value : value + 3]
        if kind == _TOPIC:
            return self._replay_topic(buf, value, stop, left, index, sink)
        if kind in _PARTITIONS:
            return self._replay_partitions(buf, at, value, left, sink.topics)
        if stop == value + 4 and buf.startswith(_NO_OP, value):
            return stop + 1, 1
        return at, 0

    def _replay_topic(self, buf: bytes, value: int, stop: int, left: int, index: int, sink: RecordSink) -> tuple[int, int]:
        name_start = value + 4
        name_end = stop - 17
        if buf[value + 3] != name_end - name_start + 1 or buf[value + 3] > 127 or buf[stop - 1]:
            return 0, 0
        try:
            name = buf[name_start:name_end].decode()
        except UnicodeDecodeError:
            return 0, 0
        topic_id = buf[name_end : stop - 1]
        start = stop + 1
        after, taken = self._matcher.run(buf, start, topic_id, left - 1)
        spans = (Span(buf, start, after, taken),) if taken else ()
        try:
            sink.topics.add_topic(TopicImage(name, topic_id, spans))
        except ReplayError as error:
            sink.note_topic_fault(index, error)
        return after, taken + 1

    def _replay_partitions(self, buf: bytes, at: int, value: int, left: int, topics: TopicsDelta) -> tuple[int, int]:
        topic_id = buf[value + 7 : value + _KEY_END]
        if topics.topic(topic_id) is None:
            return at, 0
        after, taken = self._matcher.run(buf, at, topic_id, left)
        if taken:
            topics.add_span(topic_id, Span(buf, at, after, taken))
        return after, taken

    def _replay_change(self, buf: bytes, value: int, stop: int, change: RawChange | None, topics: TopicsDelta) -> bool:
        """Replay a partition change with a new tail, or of a partition that did not change before; returns whether it fits."""
        try:
            if change is None:
                change = self._new_change(buf, value, stop)
            topics.open_entry(buf[value + 3 : value + _KEY_END]).append(change)
        except (DecodeError, ReplayError, _NeedsFoldingError):
            return False
        return True

    def _new_change(self, buf: bytes, value: int, stop: int) -> RawChange:
        version = buf[value + 2]
        record: Any = message_type("metadata", "PartitionChangeRecord").reader(version)(buf, value + 3, stop)
        if record.unknown_tags or not check_change(record):
            raise _NeedsFoldingError
        tails = self._tails[buf[value : value + 3]]
        if len(tails) >= _TAILS_MAX:
            tails.clear()
        tail = buf[value + _KEY_END : stop]
        change = tails[tail] = RawChange(version, tail)
        return change


class _NeedsFoldingError(Exception):
    """A change whose validity depends on the partition's state."""


# ---- runs of partition records


PARTITION_RECORD: Final = 3
NEWEST_PARTITION_VERSION: Final = 2

_SEEN_BEFORE_COMPILED = 3
_SEEN_MAX = 4096
_SHAPES_MAX = 256
_REPEATED = b"){0,1000}"
"""Bounded, since each repetition costs memory while it matches. (A possessive one would cost none, but up to CPython 3.11.4
it may end in the middle of the repetition that failed.)"""
_ANY_DELTA_BYTES = rb"[\x80-\xff]"
_LAST_DELTA_BYTE = rb"[\0-\x7f]"
_ELR_TAGS = (1, 2)
_RECOVERY_TAG = 0


class RunMatcher:
    """Finds where a run of usual, valid partition records of one topic ends; it learns shapes on the way."""

    def __init__(self) -> None:
        self._patterns: dict[int, tuple[re.Pattern[bytes], ...]] = {}
        self._seen: dict[bytes, int] = {}

    def run(self, buf: bytes, start: int, topic_id: bytes, count_max: int) -> tuple[int, int]:
        """The end of the run that starts at `start`, and how many records it has, at most `count_max`; 0 for none."""
        patterns = self._patterns
        at = start
        left = count_max
        try:
            while left > 0:
                first = buf[at]
                if first < 128:
                    body = at + 1
                    size = first >> 1
                else:
                    body = at + 2
                    size = (first & 127 | buf[at + 1] << 7) >> 1
                delta_end = body + 2
                while buf[delta_end] > 127:
                    delta_end += 1
                for pattern in patterns.get(size << 3 | delta_end - body, ()):
                    match = pattern.match(buf, at)
                    if match is not None:
                        if match[1] != topic_id:
                            return at, count_max - left
                        end = match.end()
                        stride = body + size - at
                        matched = (end - at) // stride
                        if matched > left:
                            end = at + left * stride
                            matched = left
                        left -= matched
                        at = end
                        break
                else:
                    value = delta_end + (3 if buf[delta_end + 2] < 128 else 4)
                    if buf[value + 1] != PARTITION_RECORD or not self._check_one(buf, at, body, size, delta_end, value, topic_id):
                        break
                    at = body + size
                    left -= 1
        except IndexError:
            pass  # The batch ends inside a record, which the general path reports.
        return at, count_max - left

    def _check_one(self, buf: bytes, at: int, body: int, size: int, delta_end: int, value: int, topic_id: bytes) -> bool:
        """Return whether the partition record at `at` is a usual one of this topic and decodes; its shape is remembered."""
        end = body + size
        if not is_usual(buf, at, body, size, delta_end, value):
            return False
        version = buf[value + 2]
        if version > NEWEST_PARTITION_VERSION or buf[value + 7 : value + _KEY_END] != topic_id:
            return False
        try:
            record = partition_reader(version)(buf, value + 3, end - 1)
            partition_from_record(record)
        except (DecodeError, ReplayError):
            return False
        if record.unknown_tags:
            return False  # A newer release wrote it; the general path notes that.
        self._learn(buf, at, value, end, size << 3 | delta_end - body)
        return True

    def _learn(self, buf: bytes, at: int, value: int, end: int, key: int) -> None:
        """Count a record's shape, and make a pattern of one that was seen often enough to be worth the 0.4 ms."""
        shape = run_pattern(buf, at, value, end - 1)
        if shape is None:
            return
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        seen = self._seen[shape] = self._seen.get(shape, 0) + 1
        if seen == _SEEN_BEFORE_COMPILED and len(self._patterns) < _SHAPES_MAX:
            self._patterns[key] = (*self._patterns.get(key, ()), re.compile(shape, re.DOTALL))


def run_pattern(buf: bytes, at: int, value: int, end: int) -> bytes | None:
    """The pattern of a run of records of one topic with the shape of the usual, valid one at `at`, whose value is `buf[value:end]`.

    Shape: group 1 is the topic id; DOTALL. None for a shape that is too rare to be worth a pattern.
    """
    tail = _tail_pattern(buf, value, end)
    if tail is None:
        return None
    body = at + (1 if buf[at] < 128 else 2)
    delta_end = body + 2
    while buf[delta_end] > 127:
        delta_end += 1
    head = (
        re.escape(buf[at : body + 2])
        + _ANY_DELTA_BYTES * (delta_end - body - 2)
        + _LAST_DELTA_BYTE
        + re.escape(buf[delta_end + 1 : value + 3])
        + b".{4}"
    )
    return head + b"(.{16})" + tail + b"(?:" + head + rb"\1" + tail + _REPEATED


def is_usual(buf: bytes, at: int, body: int, size: int, delta_end: int, value: int) -> bool:
    """Return whether a record is framed the way that Kafka frames metadata (see `partitions.py`).

    Shape: the record starts at `at`, after its size at `body`, its offset delta ends at index `delta_end`, its value
    starts at `value`.
    """
    end = body + size
    first_size_byte = buf[delta_end + 2]
    value_size = first_size_byte >> 1
    if value == delta_end + 4:
        if buf[delta_end + 3] > 127:
            return False
        value_size = (first_size_byte & 127 | buf[delta_end + 3] << 7) >> 1
    return (
        end <= len(buf)
        and buf[at] & 1 == 0
        and (body == at + 1 or buf[at + 1] < 128)
        and buf[body] == buf[body + 1] == buf[end - 1] == 0
        and delta_end < body + 6
        and buf[delta_end + 1] == 1
        and first_size_byte & 1 == 0
        and value + value_size + 1 == end
        and value_size >= _KEY_END
        and buf[value] == 1
    )


def _tail_pattern(buf: bytes, value: int, end: int) -> bytes | None:
    """The pattern of a valid partition record after its topic id: structure literally, values as anything.

    None for a structure that is too rare to be worth a pattern.
    """
    pattern = _PatternBuilder(buf, value + _KEY_END)
    try:
        for _ in range(4):  # replicas, in sync, removing, adding
            pattern.add_array(4)
        pattern.add_anything(12)  # leader, leader epoch, partition epoch
        if buf[value + 2] >= 1:
            pattern.add_array(16)  # directories
        for _ in range(pattern.add_literal(1)):
            pattern.add_tag()
    except _RareError:
        return None
    return b"".join(pattern.parts) + rb"\0" if pattern.at == end else None


class _PatternBuilder:
    """Walks over a valid record and gathers its pattern."""

    def __init__(self, buf: bytes, at: int) -> None:
        self.parts: list[bytes] = []
        self.at = at
        self._buf = buf

    def add_literal(self, size: int) -> int:
        """Add bytes as they are; returns the first of them."""
        first = self._buf[self.at]
        self.parts.append(re.escape(self._buf[self.at : self.at + size]))
        self.at += size
        return first

    def add_anything(self, size: int) -> None:
        if size:
            self.parts.append(b".{%d}" % size)
            self.at += size

    def add_array(self, item_size: int) -> None:
        size = self.add_literal(1)
        if not 0 < size < 128:
            raise _RareError
        self.add_anything((size - 1) * item_size)

    def add_tag(self) -> None:
        number = self.add_literal(1)
        size = self.add_literal(1)
        if number == _RECOVERY_TAG and size == 1:
            self.add_literal(1)
        elif number in _ELR_TAGS and size < 128:
            self.add_array(4)
        else:
            raise _RareError


class _RareError(Exception):
    """A structure that gets no pattern."""
