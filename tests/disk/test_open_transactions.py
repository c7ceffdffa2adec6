"""Open transactions from the logs of partitions: made ones, and one that a real producer left open (tests/golden/groups/series)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metashell.codec.batch_writer import ABORT, COMMIT, write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.primitives import crc32c
from metashell.codec.registry import message_type
from metashell.disk.indexes import PRODUCER_ENTRY, PRODUCER_HEADER, StableEnd, heads_at, read_stable_end, unwalked_bytes
from metashell.disk.names import segment_name
from metashell.groups.log.log_dir import read_transaction_states
from tests.groups.log.series_golden import RECORDED

NOW = 1_760_000_000_000


def data(offset: int, producer: int = -1, *, count: int = 1) -> bytes:
    records = [Record(offset + number, NOW + offset + number, None, b"x") for number in range(count)]
    if producer < 0:
        return write_batch(offset, records, leader_epoch=0)
    return write_batch(offset, records, leader_epoch=0, producer_id=producer, producer_epoch=3, base_sequence=0, is_transactional=True)


def marker(offset: int, producer: int, kind: int = COMMIT) -> bytes:
    key, value = write_control_record(kind, message_type("control", "EndTxnMarker").cls(coordinator_epoch=0))
    record = Record(offset, NOW + offset, key, value)
    return write_batch(offset, [record], leader_epoch=0, producer_id=producer, producer_epoch=3, is_transactional=True, is_control=True)


def write(folder: Path, *segments: tuple[int, list[bytes]]) -> Path:
    folder.mkdir(exist_ok=True)
    for base, batches in segments:
        (folder / segment_name(base)).write_bytes(b"".join(batches))
    return folder


def snapshot(folder: Path, offset: int, open_at: dict[int, int], *, is_bad: bool = False) -> None:
    entries = b"".join(PRODUCER_ENTRY.pack(producer, 3, 0, start, 0, NOW, 0, start) for producer, start in open_at.items())
    body = len(open_at).to_bytes(4, "big") + entries
    head = PRODUCER_HEADER.pack(1, crc32c(body) ^ is_bad, len(open_at))
    (folder / f"{offset:020d}.snapshot").write_bytes(head[:6] + body)


def opened(end: StableEnd) -> list[tuple[int, int, int | None]]:
    return [(one.producer_id, one.start_offset, one.since_ms) for one in end.open]


@pytest.mark.parametrize("kind", [COMMIT, ABORT])
def test_a_marker_ends_its_producers_transaction_and_no_other(tmp_path: Path, kind: int) -> None:
    batches = [data(0, 1), data(1, 2), data(2, count=3), marker(5, 1, kind), data(6, 1), data(7)]
    end = read_stable_end(str(write(tmp_path / "t-0", (0, batches))))
    assert (end.end_offset, end.last_stable_offset, end.last_ms) == (8, 1, NOW + 7)
    assert opened(end) == [(2, 1, NOW + 1), (1, 6, NOW + 6)]


def test_without_open_transactions_the_stable_end_is_the_end(tmp_path: Path) -> None:
    end = read_stable_end(str(write(tmp_path / "t-0", (0, [data(0, 1), marker(1, 1)]))))
    assert (end.last_stable_offset, end.end_offset, end.open) == (2, 2, ())
    assert read_stable_end(str(write(tmp_path / "empty-0"))) == StableEnd(0, -1, ())


def test_a_snapshot_of_producers_saves_the_segments_before_it(tmp_path: Path) -> None:
    # In the first segment the transaction ends, so the snapshot alone can have said that it is open.
    folder = write(tmp_path / "t-0", (0, [data(0, 9), marker(1, 9)]), (2, [data(2, count=2), data(4, 1)]))
    snapshot(folder, 2, {9: 0})
    assert opened(read_stable_end(str(folder))) == [(9, 0, NOW), (1, 4, NOW + 4)]
    sizes = [(folder / segment_name(base)).stat().st_size for base in (0, 2)]
    assert unwalked_bytes(str(folder)) == sizes[1]
    snapshot(folder, 5, {})  # one of a clean stop, behind the newest segment
    assert len(read_stable_end(str(folder)).open) == 2
    snapshot(folder, 2, {9: 0}, is_bad=True)
    assert opened(read_stable_end(str(folder))) == [(1, 4, NOW + 4)]
    assert unwalked_bytes(str(folder)) == sum(sizes)


def test_the_walk_agrees_with_a_plain_one_for_any_log(tmp_path: Path) -> None:
    chance = random.Random(5)
    for number in range(30):
        batches, held, offset = [], dict[int, int](), 0
        for _ in range(40):
            producer = chance.randrange(-1, 4)
            if producer >= 0 and chance.random() < 0.4:
                batches.append(marker(offset, producer, chance.choice((COMMIT, ABORT))))
                held.pop(producer, None)
                offset += 1
                continue
            count = chance.randrange(1, 4)
            batches.append(data(offset, producer, count=count))
            if producer >= 0:
                held.setdefault(producer, offset)
            offset += count
        end = read_stable_end(str(write(tmp_path / f"t-{number}", (0, batches))))
        assert {one.producer_id: one.start_offset for one in end.open} == held
        assert (end.end_offset, end.last_stable_offset) == (offset, min(held.values(), default=offset))


def test_a_log_that_is_damaged_anywhere_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    whole = b"".join([data(0, 1), data(1), marker(2, 1), data(3, 2)])
    chance = random.Random(7)
    for number in range(60):
        at = chance.randrange(len(whole))
        bad = whole[:at] + bytes((chance.randrange(256),)) + whole[at + 1 :] if number % 2 else whole[:at]
        end = read_stable_end(str(write(tmp_path / "t-0", (0, [bad]))))
        assert end.last_stable_offset <= max(end.end_offset, 3)


def test_what_a_real_producer_left_open_is_found_with_its_transactional_id() -> None:
    end = read_stable_end(str(RECORDED / "held-0"))
    (one,) = end.open
    assert (one.producer_id, one.start_offset, end.end_offset) == (0, 2, 303)
    states = read_transaction_states([str(RECORDED / "__transaction_state-0")])
    assert (states["hung-1"].producer_id, states["hung-1"].state, states["hung-1"].timeout_ms) == (0, "ONGOING", 600_000)
    assert heads_at(str(RECORDED / "held-0"), (2,))[2].base_ms == one.since_ms


@pytest.mark.parametrize("seed", range(5))
def test_heads_are_those_of_the_first_batches_that_end_behind_their_offsets(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    segments, batches, heads, offset, base = [], list[bytes](), [], 0, 0
    for _ in range(60):
        offset += chance.choice((0, 0, 0, 3))  # compaction left a gap
        count = chance.randrange(1, 4)
        batches.append(data(offset, count=count))
        heads.append((offset, offset + count - 1))
        offset += count
        if chance.random() < 0.1:
            segments.append((base, batches))
            batches, base = [], offset
    folder = str(write(tmp_path / "t-0", *segments, (base, batches)))
    wanted = chance.sample(range(offset + 5), 30)
    expected = {one: head for one in wanted if (head := next((head for head in heads if head[1] >= one), None)) is not None}
    assert {one: (head.base_offset, head.last_offset) for one, head in heads_at(folder, wanted).items()} == expected
