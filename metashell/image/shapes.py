"""Runs of partition records, found and checked without decoding: what opening a large snapshot spends its time on.

Partition records of a cluster come in a few shapes: the same version, so many replicas, so many of them in sync. All
records of one shape have the same size and the same bytes in the same places (sizes, array lengths, tag numbers),
between them anything goes. So a shape, once one record of it has been decoded and found good, is a regular expression
that matches a whole run of records of one topic at once, 0.1 us a record. What it matches decodes; what it does not
match is decoded to see.
"""

from __future__ import annotations

import re
from typing import Final

from metashell.errors import DecodeError
from metashell.image.faults import ReplayError
from metashell.image.partitions import partition_from_record
from metashell.image.spans import partition_reader

PARTITION_RECORD: Final = 3
NEWEST_PARTITION_VERSION: Final = 2

_SEEN_BEFORE_COMPILED = 3
_SEEN_MAX = 4096
_SHAPES_MAX = 256
_REPEATED = b"){0,1000}"
"""Bounded, since each repetition costs memory while it matches. (A possessive one would cost none, but up to CPython 3.11.4
it may end in the middle of the repetition that failed.)"""
_PREFIX_SIZE = 23
"""Frame, type and version, partition id, topic id."""
_ANY_DELTA_BYTES = rb"[\x80-\xff]"
_LAST_DELTA_BYTE = rb"[\0-\x7f]"
_ELR_TAGS = (1, 2)
_RECOVERY_TAG = 0


class RunMatcher:
    """Finds where a run of usual, valid partition records of one topic ends; it learns shapes as it goes."""

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
            pass  # The batch ends inside a record; the general path says so.
        return at, count_max - left

    def _check_one(self, buf: bytes, at: int, body: int, size: int, delta_end: int, value: int, topic_id: bytes) -> bool:
        """Whether the partition record at `at` is a usual one of this topic and decodes; its shape is remembered."""
        end = body + size
        if not is_usual(buf, at, body, size, delta_end, value):
            return False
        version = buf[value + 2]
        if version > NEWEST_PARTITION_VERSION or buf[value + 7 : value + _PREFIX_SIZE] != topic_id:
            return False
        try:
            record = partition_reader(version)(buf, value + 3, end - 1)
            partition_from_record(record)
        except (DecodeError, ReplayError):
            return False
        if record.unknown_tags:
            return False  # A newer release wrote it, which is noted where it is decoded.
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
    """What matches a run of records of one topic that have the shape of the usual, valid one at `at`, whose value is `buf[value:end]`.

    Shape: group 1 is the topic id; DOTALL. None where the shape is of a kind that is too rare to be worth a pattern.
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
    """Whether a record is framed the way that Kafka frames metadata (see `spans.py`).

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
        and value_size >= _PREFIX_SIZE
        and buf[value] == 1
    )


def _tail_pattern(buf: bytes, value: int, end: int) -> bytes | None:
    """What follows the topic id in a valid partition record, as a pattern: its structure literally, the rest as anything.

    None where the structure is of a kind that is too rare to be worth a pattern.
    """
    pattern = _PatternBuilder(buf, value + _PREFIX_SIZE)
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
    """Follows a valid record and gathers the pattern of what it passes."""

    def __init__(self, buf: bytes, at: int) -> None:
        self.parts: list[bytes] = []
        self.at = at
        self._buf = buf

    def add_literal(self, size: int) -> int:
        """Take bytes as they are; the first of them."""
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
    """A structure that no pattern is made for."""
