"""The loop that opens data batches: it replays most records without decoding them.

In snapshots nearly every record is a partition, in logs a change of one. Those, topics and no-ops are taken here as
bytes when they are framed as Kafka frames them; everything else, and whatever looks odd, goes to the sink, which
decodes it and says what is wrong.
"""

from __future__ import annotations

from typing import Any, Protocol

from metashell.codec.record_walk import RecordFields, read_record_header
from metashell.codec.registry import message_type
from metashell.codec.usual_records import record_headers
from metashell.errors import DecodeError
from metashell.image.faults import ReplayError
from metashell.image.overlay import RawChange
from metashell.image.partitions import check_change
from metashell.image.shapes import RunMatcher
from metashell.image.spans import Span
from metashell.image.topics import TopicImage
from metashell.image.topics_delta import TopicsDelta

_TOPIC = b"\x01\x02\x00"
_NO_OP = b"\x01\x14\x00\x00"
_PARTITIONS = (b"\x01\x03\x00", b"\x01\x03\x01", b"\x01\x03\x02")
_CHANGES = (b"\x01\x05\x00", b"\x01\x05\x01", b"\x01\x05\x02")
_KEY_END = 23
"""A value's frame, then the partition id and topic id with which partition records begin."""
_TAILS_MAX = 1 << 16
_HEADERS_MAX = 1 << 18
_RECORD_SIZE_MIN = 7
_HEAD_SIZE_MAX = 10
"""Sizes, attributes, timestamp and offset deltas and null key of a usual record."""


class RecordSink(Protocol):
    """What takes the records that are not plain."""

    @property
    def topics(self) -> TopicsDelta:
        """The topics of the delta that records go to now; another one after a transaction has begun or ended."""

    def replay_value(self, buf: bytes, fields: RecordFields) -> None:
        """Decode one record and replay it; what is wrong with it becomes a fault."""

    def note_topic_fault(self, index: int, error: ReplayError) -> None:
        """List what is odd about the topic that the batch's record `index` adds."""


class BrokenBatchError(DecodeError):
    """A batch whose records cannot be separated from `index` on."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class BatchScanner:
    """Replays data batches; it keeps what it learns of their records from one to the next."""

    def __init__(self) -> None:
        self._matcher = RunMatcher()
        self._tails: dict[bytes, dict[bytes, RawChange]] = {kind: {} for kind in _CHANGES}

    def replay_records(self, buf: bytes, start: int, count: int, sink: RecordSink) -> None:
        """Replay the `count` records that fill `buf` from `start`.

        Errors: BrokenBatchError where the framing of a record is broken, or bytes are left over; what precedes that has
        been replayed.
        """
        end = len(buf)
        headers = record_headers(min(count, (end - start) // _RECORD_SIZE_MIN + 1, _HEADERS_MAX))
        header_count = len(headers)
        tails_of = self._tails.get
        topics = sink.topics
        entry_of = topics.pending.get
        at = start
        index = 0
        while index < count:
            # The usual framing: the value is buf[value:stop], a header count of 0 follows at `stop`.
            value = 0
            if at + _HEAD_SIZE_MAX < end and index < header_count:
                first = buf[at]
                if first < 128:
                    body = at + 1
                    stop = at + (first >> 1)
                else:
                    body = at + 2
                    stop = at + 1 + ((first & 127 | buf[at + 1] << 7) >> 1)
                header = headers[index]
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
                    after, taken = self._take_topics(buf, at, value, stop, count - index, index, sink)
                    if taken:
                        at = after
                        index += taken
                        continue
                else:
                    change = tails.get(buf[value + _KEY_END : stop])
                    entry = entry_of(buf[value + 3 : value + _KEY_END])
                    if change is not None and entry is not None:
                        entry.append(change)
                        at = stop + 1
                        index += 1
                        continue
                    if self._take_change(buf, value, stop, change, topics):
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
        if at != end:
            raise BrokenBatchError(count, f"{end - at} bytes are left after the {count} records of the batch")

    def _take_topics(self, buf: bytes, at: int, value: int, stop: int, left: int, index: int, sink: RecordSink) -> tuple[int, int]:
        """Replay a topic with the partitions after it, more partitions of a topic, or a no-op.

        Returns where the record after them starts and how many they were; 0 for a record that is none of these.
        """
        kind = buf[value : value + 3]
        if kind == _TOPIC:
            return self._take_topic(buf, value, stop, left, index, sink)
        if kind in _PARTITIONS:
            return self._take_partitions(buf, at, value, left, sink.topics)
        if stop == value + 4 and buf.startswith(_NO_OP, value):
            return stop + 1, 1
        return at, 0

    def _take_topic(self, buf: bytes, value: int, stop: int, left: int, index: int, sink: RecordSink) -> tuple[int, int]:
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

    def _take_partitions(self, buf: bytes, at: int, value: int, left: int, topics: TopicsDelta) -> tuple[int, int]:
        topic_id = buf[value + 7 : value + _KEY_END]
        if topics.topic(topic_id) is None:
            return at, 0
        after, taken = self._matcher.run(buf, at, topic_id, left)
        if taken:
            topics.add_span(topic_id, Span(buf, at, after, taken))
        return after, taken

    def _take_change(self, buf: bytes, value: int, stop: int, change: RawChange | None, topics: TopicsDelta) -> bool:
        """Replay a partition change of a new kind, or of a partition that did not change before; whether it fits."""
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
    """A change that fits or not depending on the partition's state."""
