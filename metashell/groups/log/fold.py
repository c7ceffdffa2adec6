"""The fold of one partition's log: groups by their replay, offsets by the newest bytes of each key.

Why not replay every record: nearly all records of the log are commits, and for each partition only the newest counts. So the fold does not
decode a commit when it reads it. It keeps the bytes of key and value if their sizes show that both decode, and decodes them on request. A
commit that does not decode is a finding, and the one before it stays.

All other records take the careful path: transactions, which hold offsets back until their marker, tombstones, and records of other types,
which `coordinator.replay` handles. A group of which the log holds commits only is a simple group and has no object; there may be a million
of them. `tests/groups/log/test_fold.py` compares this fold with the replay of every record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.batch_writer import ABORT, COMMIT, control_type
from metashell.codec.batches import CODEC_MASK, CONTROL, CRC_START, HEADER_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, RecordBatch
from metashell.codec.coordinator import int16_at
from metashell.codec.framing import MAGIC_MAX, BatchFrame
from metashell.codec.primitives import MAX_DECOMPRESSED, crc32c, kafka_text
from metashell.common.errors import DecodeError
from metashell.disk.segment import OrderCheck, TakesFrames
from metashell.groups.coordinator.replay import REPLAYS, make_state
from metashell.groups.decision import Place
from metashell.groups.log import COMMIT_TYPES, GROUP_METADATA, Decoder, UnknownTypeError, group_of_key, is_plain_commit
from metashell.groups.state import Committed, PartitionKey

_GAVE_UP: Final = -1
_COMMIT_PREFIX: Final = b"\0\1"
_GROUP_AT: Final = 4
"""A shorter key names no group."""


COMMITTED, ABORTED, OPEN = "committed", "aborted", "open"


class RawRecord(NamedTuple):
    """A record with undecoded key and value. `batch` is the base offset of its batch, `producer_id` -1 outside of transactions.

    `outcome` is that of its transaction: `committed`, also outside of one, `aborted`, or `open` where no marker of its producer follows.
    `after_gap`: the log has lost records before it, by compaction or damage, since the previous one in `Fold.records`.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    batch: int
    producer_id: int = -1
    after_gap: bool = False
    outcome: str = COMMITTED


Entry = tuple[int, bytes]
"""The offset of a commit's record, and the bytes of its value."""
_NOTHING: Final = (-1, b"")


class Fold:
    """The content of a log, up to the batch that was added last.

    Shape: `state` has the groups that have records of their own; `is_simple` recognizes the others, and `committed` returns offsets. With
    `wants`, `records` are those for which it returns true, in order. `mark` are bytes that all wanted records contain: batches without
    them skip `wants`, which makes it quick to look for one group among a million.
    """

    def __init__(
        self,
        decoder: Decoder,
        wants: Callable[[RawRecord], bool] | None = None,
        max_decompressed: int = MAX_DECOMPRESSED,
        mark: bytes | None = None,
    ) -> None:
        self.state = make_state()
        self.unknown_types: Counter[int] = Counter()
        self.records: list[RawRecord] = []
        self._decoder = decoder
        self._wants = wants
        self._mark = mark
        self._max_decompressed = max_decompressed
        self._newest: dict[bytes, Entry] = {}
        self._pending: dict[int, dict[bytes, Entry]] = {}
        self._unmarked: dict[int, list[int]] = {}
        """Producers -> the places in `records` of those whose marker has not come."""
        self._touched: dict[bytes, int] = {}
        """Groups with a commit that was deleted or is pending -> the offset of the last such commit: that alone may have made the group."""
        self._gone: dict[bytes, int] = {}
        """Deleted groups -> the offset of the tombstone."""
        self._by_group: dict[bytes, list[bytes]] | None = None
        self._held_by_group: dict[bytes, list[tuple[int, bytes]]] | None = None
        self._expected_offset = 0
        self._has_gap = False

    # ---- reading

    def add(self, batch: RecordBatch) -> None:
        """Add a batch. Errors: DecodeError if its records cannot be read; those before the bad one are added."""
        header = batch.header
        self._by_group = self._held_by_group = None
        if header.magic == 2 and not header.attributes & _WITH_CARE and (self._wants is None or self._mark is not None):
            buf, start, end = batch.records_area(self._max_decompressed)
            others: _Others = []
            may_pass = self._wants is None or self._passes(buf, header.base_offset, header.last_offset, header.count)
            if may_pass and _fold_usual(buf, start, header.count, header.base_offset, self._newest, others) == end:
                self._fold_others(others, header.base_timestamp, header.base_offset)
                self._expected_offset = header.last_offset + 1
                return
            del buf  # which may be large, and is expanded once more
        if header.is_control:
            self._has_gap |= header.base_offset > self._expected_offset
            self._expected_offset = header.last_offset + 1
            self._end_transaction(batch)
        else:
            self._add_with_care(batch)

    def quick(self, order: OrderCheck) -> TakesFrames | None:
        """Return a function that reads frames without making batches of them, None if `wants` must see every record.

        It stops at the first frame that is not a plain batch in sequence, which `add` then gets.
        """
        if self._wants is not None and self._mark is None:
            return None

        passes = None if self._wants is None else self._passes
        newest, follows = self._newest, order.follows
        others: _Others = []

        def read_frames(buf: bytes, frames: list[BatchFrame], first: int) -> int:
            expected, now = order.expected_offset, order.epoch
            taken = first
            for at, size in frames[first:] if first else frames:
                if size < HEADER_SIZE:
                    break
                base, epoch, magic, crc, attributes, delta, time_ms, count = unpack_some(buf, at)
                if magic != MAGIC_MAX or attributes & _WITH_MORE_CARE:
                    break
                if base != expected or epoch != now:
                    order.expected_offset, order.epoch = expected, now
                    if not follows(base, epoch):
                        break
                data = buf[at : at + size]
                if crc32c(data, CRC_START) != crc:
                    break
                if passes is not None and not passes(data, base, base + delta, count):
                    break
                is_usual = _fold_usual(data, HEADER_SIZE, count, base, newest, others) == size
                if others:
                    found, others[:] = others[:], ()
                    if is_usual:
                        self._fold_others(found, time_ms, base)
                if not is_usual:
                    break
                expected, now = base + delta + 1, epoch
                if passes is not None:
                    self._expected_offset = expected
                taken += 1
            order.expected_offset, order.epoch = expected, now
            return taken

        self._by_group = self._held_by_group = None
        return read_frames

    def _passes(self, data: bytes, base_offset: int, last_offset: int, count: int) -> bool:
        """Return whether no record of a batch is wanted, and there is no gap before or in it."""
        assert self._mark is not None, "without a mark every record is looked at"
        return base_offset == self._expected_offset and last_offset - base_offset + 1 == count and self._mark not in data

    def _fold_others(self, others: _Others, timestamp_ms: int, batch: int) -> None:
        for offset, key, value in others:
            self._fold_record(RawRecord(offset, timestamp_ms, key, value, batch))

    def _add_with_care(self, batch: RecordBatch) -> None:
        header = batch.header
        producer_id = header.producer_id if header.is_transactional else -1
        for record in batch.records(self._max_decompressed):
            raw = RawRecord(record.offset, record.timestamp, record.key, record.value, header.base_offset, producer_id)
            if self._wants is not None:
                self._has_gap |= record.offset > self._expected_offset
                self._expected_offset = record.offset + 1
                if self._wants(raw):
                    outcome = OPEN if producer_id >= 0 else COMMITTED
                    if producer_id >= 0:
                        self._unmarked.setdefault(producer_id, []).append(len(self.records))
                    self.records.append(raw._replace(after_gap=self._has_gap, outcome=outcome))
                    self._has_gap = False
            self._fold_record(raw)
        self._has_gap |= self._expected_offset <= header.last_offset
        self._expected_offset = header.last_offset + 1

    def _end_transaction(self, batch: RecordBatch) -> None:
        """Commit or drop a producer's pending offsets. Of two commits for a partition the one with the later record stays."""
        for record in batch.records(self._max_decompressed):
            kind = control_type(record.key)
            if kind not in (ABORT, COMMIT):
                continue
            for number in self._unmarked.pop(batch.header.producer_id, ()):
                self.records[number] = self.records[number]._replace(outcome=COMMITTED if kind == COMMIT else ABORTED)
            held = self._pending.pop(batch.header.producer_id, {})
            if kind == COMMIT:
                for key, entry in held.items():
                    known = self._newest.get(key)
                    if known is None or known[0] < entry[0]:
                        self._newest[key] = entry

    # ---- single records

    def _fold_record(self, raw: RawRecord) -> None:
        key = raw.key or b""
        type_id = int16_at(key, 0) if len(key) > 1 else -1
        if type_id in COMMIT_TYPES:
            try:
                self._fold_commit(self._decoder.plain_key(_COMMIT_PREFIX + key[2:]), raw)
            except DecodeError as error:
                self._find("BAD_RECORD", key, str(error), raw)
            return
        try:
            record = self._decoder.record(raw.key, raw.value)
        except UnknownTypeError:
            self.unknown_types[type_id] += 1
            return
        except DecodeError as error:
            self._find("BAD_RECORD", key, str(error), raw)
            return
        replay = REPLAYS.get(type_id)
        if replay is None:
            return
        count = len(self.state.groups)
        replay(self.state, record, Place(raw.offset, raw.timestamp_ms, raw.producer_id))
        # A simple group has no object, so its tombstone does not change the number of groups.
        if len(self.state.groups) < count or (
            type_id == GROUP_METADATA and record.value is None and record.key.group not in self.state.groups
        ):
            self._gone[group_of_key(key)] = raw.offset

    def _fold_commit(self, key: bytes, raw: RawRecord) -> None:
        """Errors: DecodeError; the commit before it stays."""
        value = raw.value
        if value is None:
            self._forget(key, raw.offset)
            return
        if not is_plain_commit(value):
            self._decoder.committed(value, raw.offset)
        if raw.producer_id >= 0:
            self._pending.setdefault(raw.producer_id, {})[key] = (raw.offset, value)
            self._touch(key, raw.offset)
        elif self._newest.get(key, _NOTHING)[0] < raw.offset:
            self._newest[key] = (raw.offset, value)

    def _forget(self, key: bytes, before: int) -> None:
        """Delete the commits for a key before an offset, and only those: the quick loop may have read later ones of the same batch."""
        for entries in (self._newest, *self._pending.values()):
            known = entries.get(key)
            if known is not None and known[0] < before:
                del entries[key]
                self._touch(key, known[0])

    def _touch(self, key: bytes, offset: int) -> None:
        group = group_of_key(key)
        if self._touched.get(group, -1) < offset:
            self._touched[group] = offset

    def _find(self, kind: str, key: bytes, text: str, raw: RawRecord) -> None:
        place = Place(raw.offset, raw.timestamp_ms, raw.producer_id)
        self.state.find(kind, kafka_text(group_of_key(key)) if len(key) >= _GROUP_AT else None, text, place)

    # ---- what is there

    def offset_counts(self) -> Counter[bytes]:
        """Count the committed partitions of each group, by the bytes of its id."""
        return Counter({group: len(keys) for group, keys in self._keys_by_group().items()})

    def offset_count(self, group: bytes) -> int:
        """Count the committed partitions of one group."""
        return len(self._keys_by_group().get(group, ()))

    def pending_count(self, group: bytes) -> int:
        """Count the partitions of one group with offsets that open transactions hold back."""
        return len(self._held().get(group, ()))

    def pending_counts(self) -> Counter[bytes]:
        """Count them for each group."""
        return Counter({group: len(held) for group, held in self._held().items()})

    @property
    def has_pending(self) -> bool:
        """Return whether any transaction is open."""
        return any(self._pending.values())

    def is_simple(self, group: bytes) -> bool:
        """Return whether commits made this group and nothing has deleted it since. As far as the log shows, it never had members."""
        if not self._gone:
            return group in self._keys_by_group() or group in self._touched
        gone = self._gone.get(group, -1)
        if self._touched.get(group, -1) > gone:
            return True
        return any(self._newest[key][0] > gone for key in self._keys_by_group().get(group, ()))

    def groups(self) -> Iterator[bytes]:
        """Yield the ids of all groups with commits, deleted ones too."""
        yield from dict.fromkeys((*self._keys_by_group(), *self._touched))

    def committed(self, group: bytes) -> Iterator[tuple[PartitionKey, Committed]]:
        """Yield the offsets of a group in the order in which they were first committed."""
        for key in self._keys_by_group().get(group, ()):
            yield self._decoded(key, self._newest[key])

    def pending(self, group: bytes) -> Iterator[tuple[int, PartitionKey, Committed]]:
        """Yield the offsets of a group that open transactions hold back, with the producer's id."""
        for producer_id, key in self._held().get(group, ()):
            yield producer_id, *self._decoded(key, self._pending[producer_id][key])

    def _decoded(self, key: bytes, entry: Entry) -> tuple[PartitionKey, Committed]:
        """Decode an entry. This cannot fail: an entry that does not decode was never stored."""
        offset, value = entry
        return self._decoder.committed_key(key)[1], self._decoder.committed(value, offset)

    def _held(self) -> dict[bytes, list[tuple[int, bytes]]]:
        """Return producers and keys of pending offsets, by group."""
        if self._held_by_group is None:
            found: dict[bytes, list[tuple[int, bytes]]] = {}
            for producer_id, held in self._pending.items():
                for key in held:
                    found.setdefault(group_of_key(key), []).append((producer_id, key))
            self._held_by_group = found
        return self._held_by_group

    def _keys_by_group(self) -> dict[bytes, list[bytes]]:
        if self._by_group is None:
            found: dict[bytes, list[bytes]] = {}
            for key in self._newest:
                group = key[4 : 4 + (key[2] << 8 | key[3])] if len(key) > 3 else b""
                keys = found.get(group)
                if keys is None:
                    found[group] = [key]
                else:
                    keys.append(key)
            self._by_group = found
        return self._by_group


# ---- the loop

_WITH_CARE: Final = TRANSACTIONAL | CONTROL | LOG_APPEND_TIME
_WITH_MORE_CARE: Final = _WITH_CARE | CODEC_MASK
unpack_some: Final = Struct(">q4xibIhiq22xi").unpack_from
"""Reads of a batch's header: base offset, epoch, magic, CRC, attributes, last offset delta, base timestamp and count."""
_Others = list[tuple[int, bytes, bytes | None]]
_OTHERS_MAX: Final = 1 << 14
"""The most records of a batch that are kept beside its commits: one of millions is read record by record."""


def _fold_usual(buf: bytes, at: int, count: int, base_offset: int, newest: dict[bytes, Entry], others: _Others) -> int:
    """Read `count` records from index `at` on: commits into `newest`, all others into `others`. Returns the index after the last, or -1.

    It reads records without headers, with the batch's timestamp and sizes below 16384. For anything else it gives up, and the careful path
    reads the batch again from its start. The commits that it has stored by then are stored once more, which changes nothing.
    """
    try:
        for _ in range(count):
            size = buf[at]
            at += 1
            if size > 127:
                if buf[at] > 127:
                    return _GAVE_UP
                size = size & 127 | buf[at] << 7
                at += 1
            if size & 1 or buf[at] or buf[at + 1]:
                return _GAVE_UP
            end = at + (size >> 1)
            delta = buf[at + 2]
            at += 3
            if delta > 127:
                if buf[at] > 127:
                    if buf[at + 1] > 127:
                        return _GAVE_UP
                    delta = delta & 127 | (buf[at] & 127) << 7 | buf[at + 1] << 14
                    at += 2
                else:
                    delta = delta & 127 | buf[at] << 7
                    at += 1
            if delta & 1:
                return _GAVE_UP
            size = buf[at]
            at += 1
            if size > 127:
                if buf[at] > 127:
                    return _GAVE_UP
                size = size & 127 | buf[at] << 7
                at += 1
            if size & 1:
                return _GAVE_UP
            start = at
            at += size >> 1
            key = buf[start:at]
            size = buf[at]
            at += 1
            if size > 127:
                if buf[at] > 127:
                    return _GAVE_UP
                size = size & 127 | buf[at] << 7
                at += 1
            if size & 1:
                if size > 1:
                    return _GAVE_UP
                value = None
            else:
                value = buf[at : at + (size >> 1)]
                at += size >> 1
            if at != end - 1 or buf[at]:
                return _GAVE_UP
            at = end
            # `is_plain_key` and `is_plain_commit`, inlined for speed.
            group_end = 4 + (key[2] << 8 | key[3])
            if (
                value is not None
                and key[1] == 1
                and not key[0]
                and key[:-4].isascii()
                and len(key) == group_end + 6 + (key[group_end] << 8 | key[group_end + 1])
                and (
                    (len(value) > 23 and value[1] == 3 and not value[0] and len(value) == 24 + (value[14] << 8 | value[15]))
                    or is_plain_commit(value)
                )
            ):
                newest[key] = base_offset + (delta >> 1), value
            elif len(others) >= _OTHERS_MAX:
                return _GAVE_UP
            else:
                others.append((base_offset + (delta >> 1), key, value))
    except IndexError:
        return _GAVE_UP
    return at
