"""The quick fold of a log is the replay of all its records, one by one."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.batch_writer import ABORT, COMMIT, control_type, write_batch, write_control_record
from metashell.codec.batches import Record, RecordBatch
from metashell.codec.framing import checked_batches
from metashell.codec.messages import GroupMetadataValue, OffsetCommitValue
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.disk.segment import OrderCheck
from metashell.groups.coordinator.replay import make_state, replay
from metashell.groups.decision import Place
from metashell.groups.log import Decoder, fold, group_of_key
from metashell.groups.log.fold import Fold, RawRecord
from metashell.groups.state import State, end_transaction

GROUPS = ("g", "h", "ä", "")
ENDS = ("commits", "aborts", "nothing")
Step = tuple[str, int, int, int, int]
"""What is written (commit, one with other bytes, its tombstone, group, its tombstone, end of a transaction); group, partition, producer,
number."""


def offset_key(group: int, partition: int, type: int = 1) -> bytes:
    message = message_type("offsets", "OffsetCommitKey")
    return type.to_bytes(2, "big") + message.write(message.cls(group=GROUPS[group], topic="t", partition=partition), 0)


def group_key(group: int) -> bytes:
    message = message_type("offsets", "GroupMetadataKey")
    return b"\0\2" + message.write(message.cls(group=GROUPS[group]), 0)


def record_of(step: Step, offset: int) -> Record:
    kind, group, partition, _, number = step
    time_ms = 1000
    if kind == "commit":
        version = number % 5
        value = OffsetCommitValue(offset=number, leader_epoch=-1, metadata="m" * (number % 3), commit_timestamp=time_ms)
        raw = version.to_bytes(2, "big") + message_type("offsets", "OffsetCommitValue").write(value, version)
        # The oldest brokers wrote type 0, for the same partitions.
        return Record(offset, time_ms, offset_key(group, partition, 0 if version == 0 and number % 2 else 1), raw)
    if kind == "spoilt":
        return spoilt(record_of(("commit", group, partition, 0, number), offset), number)
    if kind == "tombstone":
        return Record(offset, time_ms, offset_key(group, partition), None)
    if kind == "group":
        value = GroupMetadataValue(
            protocol_type="", generation=number, protocol=None, leader=None, current_state_timestamp=time_ms, members=()
        )
        return Record(offset, time_ms, group_key(group), b"\0\3" + message_type("offsets", "GroupMetadataValue").write(value, 3))
    return Record(offset, time_ms, group_key(group), None)


def spoilt(record: Record, number: int) -> Record:
    """A commit whose key or value was cut, grew or has another byte; its type stays."""
    key, value = record.key or b"", record.value or b""
    at = number // 5
    match number % 5:
        case 0:
            value = value[: at % len(value)]
        case 1:
            value = with_byte(value, at % len(value), at)
        case 2:
            key = key[: max(at % len(key), 2)]
        case 3:
            key = with_byte(key, 2 + at % (len(key) - 2), 255 - at)
        case _:
            key, value = key + b"k" * (at % 2), value + b"v" * (1 + at % 3)
    return Record(record.offset, record.timestamp, key, value)


def with_byte(data: bytes, at: int, byte: int) -> bytes:
    return data[:at] + bytes((byte & 255,)) + data[at + 1 :]


def log_of(batches: list[list[Step]], gaps: list[int]) -> bytes:
    """Batches as a coordinator writes them, with offsets missing as after a compaction."""
    out = bytearray()
    offset = 0
    for steps, gap in zip(batches, gaps, strict=False):
        producer = steps[0][3]
        base = offset
        if steps[0][0] in ENDS:
            marker = message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)
            key, value = write_control_record(COMMIT if steps[0][0] == "commits" else ABORT, marker)
            if steps[0][0] == "nothing":
                key = b"\0\0\0\7"  # a type of a release to come, which ends no transaction
            out += write_batch(
                base, [Record(base, 1000, key, value)], leader_epoch=1, producer_id=producer - 1, is_control=True, is_transactional=True
            )
            offset = base + 1
            continue
        records = []
        for step in steps:
            if step[0] in ENDS:
                continue
            offset += gap
            records.append(record_of(step, offset))
            offset += 1
        # The first producer of a cluster has the id 0; -1 stands for none.
        out += write_batch(base, records, leader_epoch=1, producer_id=producer - 1, is_transactional=producer > 0, codec_id=gap)
    return bytes(out)


def replayed(batches: list[RecordBatch]) -> State:
    """The state by the plain replay of every record."""
    state, decoder = make_state(), Decoder()
    for batch in batches:
        header = batch.header
        producer_id = header.producer_id if header.is_transactional else -1
        for record in batch.records():
            if header.is_control:
                if control_type(record.key) in (ABORT, COMMIT):
                    end_transaction(state, header.producer_id, control_type(record.key) == COMMIT)
            else:
                try:
                    decoded = decoder.record(record.key, record.value)
                except DecodeError as error:
                    group = group_of_key(record.key).decode() if record.key is not None and len(record.key) >= 4 else None
                    state.find("BAD_RECORD", group, str(error), Place(record.offset, record.timestamp, producer_id))
                    continue
                replay(state, decoded, Place(record.offset, record.timestamp, producer_id))
    return state


def as_replayed(fold: Fold) -> tuple[object, ...]:
    groups = {*fold.state.groups, *(group.decode() for group in fold.groups() if fold.is_simple(group))}
    offsets = {group.decode(): dict(fold.committed(group)) for group in fold.groups()}
    pending = {(producer, group.decode(), *key): found for group in fold.groups() for producer, key, found in fold.pending(group)}
    return groups, {group: found for group, found in offsets.items() if found}, pending, findings_of(fold.state)


def as_state(state: State) -> tuple[object, ...]:
    pending = {
        (producer, group, *key): found
        for group, by_producer in state.pending.items()
        for producer, held in by_producer.items()
        for key, found in held.items()
    }
    return set(state.groups), {group: found for group, found in state.offsets.items() if found}, pending, findings_of(state)


def findings_of(state: State) -> list[tuple[str, str | None, int]]:
    return [(finding.kind, finding.group_id, finding.place.offset) for finding in state.findings]


KINDS = st.sampled_from(["commit"] * 6 + ["spoilt"] * 4 + ["tombstone"] * 2 + ["group", "group-gone", *ENDS])
STEPS = st.tuples(KINDS, st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 999))


@settings(max_examples=max(30, settings.default.max_examples))
@given(st.lists(st.lists(STEPS, min_size=1, max_size=6), max_size=12), st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_the_quick_fold_is_the_replay_of_every_record(batches: list[list[Step]], gaps: list[int]) -> None:
    for others_max in (fold._OTHERS_MAX, 1):  # of a large batch not all tombstones are kept
        with patch.object(fold, "_OTHERS_MAX", others_max):
            _check_quick_fold(log_of(batches, gaps))


def _check_quick_fold(data: bytes) -> None:
    whole = list(checked_batches(data, "log"))
    by_batch, quick = Fold(Decoder()), Fold(Decoder())
    takes = quick.quick(OrderCheck(None, may_skip=True))
    assert takes is not None
    for batch in whole:
        by_batch.add(batch)
        if not takes(data, [(batch.position, len(batch.data))], 0):
            quick.add(batch)
    expected = as_state(replayed(whole))
    assert as_replayed(by_batch) == expected
    assert as_replayed(quick) == expected


@given(st.lists(st.lists(STEPS, min_size=1, max_size=6), max_size=12), st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_with_a_mark_the_same_records_are_found_and_the_state_is_the_same(batches: list[list[Step]], gaps: list[int]) -> None:
    data = log_of(batches, gaps)
    whole = list(checked_batches(data, "log"))
    mark = offset_key(1, 0)[2:5]

    def wants(raw: RawRecord) -> bool:
        return (raw.key or b"").startswith(mark, 2)

    every, by_batch, quick = Fold(Decoder(), wants), Fold(Decoder(), wants, mark=mark), Fold(Decoder(), wants, mark=mark)
    takes = quick.quick(OrderCheck(None, may_skip=True))
    assert takes is not None
    for batch in whole:
        every.add(batch)
        by_batch.add(batch)
        if not takes(data, [(batch.position, len(batch.data))], 0):
            quick.add(batch)
    assert by_batch.records == quick.records == every.records
    assert as_replayed(by_batch) == as_replayed(quick) == as_replayed(every)
