"""Index entries are compared with the log, in a directory and as named files."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from metashell.codec.batch_writer import ABORT, write_batch, write_control_record
from metashell.codec.batches import Record
from metashell.codec.registry import message_type
from tests.inspect.verify.making import NO_OP, T0, MetadataLog, data_batch, findings_in, indexes_of, only

INDEX = "00000000000000000000.index"
TIMES = "00000000000000000000.timeindex"


@pytest.fixture
def made(tmp_path: Path) -> MetadataLog:
    return MetadataLog(tmp_path / "node")


def offset_entries(made: MetadataLog) -> list[bytes]:
    index, _ = indexes_of(0, made.first)
    return [index[at : at + 8] for at in range(0, len(index), 8)]


def time_entries(made: MetadataLog) -> list[bytes]:
    _, times = indexes_of(0, made.first)
    return [times[at : at + 12] for at in range(0, len(times), 12)]


@pytest.mark.parametrize(
    ("number", "entry", "what"),
    (
        (1, pack(">ii", 4, 81), "does not ascend"),
        (1, pack(">ii", 3, -1), "offsets 3 to 4"),
        (0, pack(">ii", 2, 79), "is not where a batch starts"),
        (4, pack(">ii", 7, 1 << 30), "has no batch: it ends at byte"),
        (4, pack(">ii", 9, -1), "is not the last offset of a batch of the log"),
    ),
)
def test_an_offset_entry_that_does_not_hold_is_found(made: MetadataLog, number: int, entry: bytes, what: str):
    entries = offset_entries(made)
    if entry[4:] == b"\xff" * 4:
        entry = entry[:4] + entries[number][4:]  # the right place, under another offset
    entries[number] = entry
    made.write(INDEX, b"".join(entries))
    for found in (made.findings(), findings_in(made.path / INDEX)):
        assert found
        assert all(Path(finding.file).name == INDEX for finding in found)
        assert any(what in finding.what and finding.position == 8 * number for finding in found), [str(f) for f in found]


def test_an_offset_entry_may_name_the_last_offset_of_batches_appended_together(made: MetadataLog):
    """Up to 3.x one append of several batches made one entry, with the last offset of them all."""
    entries = offset_entries(made)
    made.write(INDEX, pack(">ii", 5, int.from_bytes(entries[0][4:], "big")))
    assert not made.findings()


@pytest.mark.parametrize(
    ("number", "entry", "what"),
    (
        (1, pack(">qi", T0 + 1, 4), "does not ascend"),
        (1, pack(">qi", T0 + 2, 4), f"timestamp {T0 + 2} is not that of its batch, {T0 + 3}"),
        (1, pack(">qi", T0 + 3, 3), "is not the last offset of its batch, 4"),
        (4, pack(">qi", T0 + 99, 90), "is not in the log, which ends at offset 8"),
    ),
)
def test_a_time_entry_that_does_not_hold_is_found(made: MetadataLog, number: int, entry: bytes, what: str):
    entries = time_entries(made)
    entries[number] = entry
    made.write(TIMES, b"".join(entries))
    for found in (made.findings(), findings_in(made.path / TIMES)):
        assert any(what in finding.what and finding.position == 12 * number for finding in found), [str(f) for f in found]


def test_a_time_entry_below_an_earlier_timestamp_is_found(made: MetadataLog):
    made.first[1] = data_batch(1, [NO_OP, NO_OP], timestamp=T0 + 50)
    made.write_segments()
    made.write(TIMES, pack(">qi", T0 + 3, 4))
    assert only(findings_in(made.path / TIMES)).what == f"timestamp {T0 + 3} is not the largest up to there, {T0 + 50}"


@pytest.mark.parametrize("zeros", (8, 24, 1 << 20))
def test_zeros_are_what_is_preallocated_in_the_active_segment_only(made: MetadataLog, zeros: int):
    name = "00000000000000000008.index"
    data = (made.path / name).read_bytes()
    made.write(name, data + bytes(zeros))
    assert not made.findings()
    assert "bytes at the end are zero" in only(findings_in(made.path / name)).what
    made.write(INDEX, b"".join(offset_entries(made)) + bytes(zeros))
    assert "bytes at the end are zero" in only(made.findings()).what
    made.write(name, data + bytes(zeros) + data)
    assert any("zero in the middle" in finding.what for finding in made.findings())


def test_a_piece_of_an_entry_is_found(made: MetadataLog):
    made.write(INDEX, b"".join(offset_entries(made)) + b"\1")
    found = only(made.findings())
    assert (found.position, found.what) == (40, "41 bytes are not a multiple of an entry's 8")


def test_an_index_of_no_log_is_checked_by_itself(tmp_path: Path):
    path = tmp_path / INDEX
    path.write_bytes(pack(">iiii", 5, 100, 4, 200))
    assert [finding.severity for finding in findings_in(path)] == ["warning", "error"]


def test_entries_that_name_a_bad_batch_are_not_blamed_for_it(made: MetadataLog):
    position = len(made.first[0])
    data = bytearray(b"".join(made.first))
    data[position + 70] ^= 1
    made.write("00000000000000000000.log", bytes(data))
    assert Path(only(made.findings()).file).suffix == ".log"


# ---- transactions


def transaction_log(folder: Path) -> Path:
    """A topic's log with a transaction of producer 7, offsets 0 and 1, aborted at 2."""
    folder = folder / "orders-0"
    folder.mkdir()
    records = [Record(n, T0, b"k", b"v") for n in range(2)]
    data = write_batch(
        0, records, leader_epoch=0, base_timestamp=T0, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    marker = Record(2, T0, *write_control_record(ABORT, message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)))
    end = write_batch(
        2, [marker], leader_epoch=0, base_timestamp=T0, producer_id=7, producer_epoch=0, is_transactional=True, is_control=True
    )
    (folder / "00000000000000000000.log").write_bytes(data + end)
    return folder


def transaction_entry(*numbers: int, version: int = 0) -> bytes:
    return pack(">bxqqqq", version, *numbers)


def test_a_transaction_index_is_compared_with_the_markers(tmp_path: Path):
    folder = transaction_log(tmp_path)
    index = folder / "00000000000000000000.txnindex"
    index.write_bytes(transaction_entry(7, 0, 2, 0))
    assert not findings_in(folder)
    for entry, what in (
        ((8, 0, 2, 0), "the log has no marker here that aborts a transaction of producer 8"),
        ((7, 0, 1, 0), "the log has no marker here that aborts a transaction of producer 7"),
        ((7, 3, 2, 3), "entry (7, 3, 2, 3) does not ascend, or ends before it begins"),
        ((7, 0, 50, 0), "is not in the log, which ends at offset 3"),
    ):
        index.write_bytes(transaction_entry(*entry))
        assert only(findings_in(folder)).what == what
        assert only(findings_in(index)).what == what
    for version in (3, -1):
        index.write_bytes(transaction_entry(7, 0, 2, 0, version=version))
        assert only(findings_in(folder)).severity == "warning"


def test_the_last_stable_offset_may_be_that_of_an_older_transaction_which_is_still_open(tmp_path: Path):
    """Two producers: the first began at 0 and goes on, the second ran from 1 to 3, so that 0 is what is stable after it."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    data = b"".join(
        write_batch(
            offset,
            [record],
            leader_epoch=0,
            base_timestamp=T0,
            producer_id=producer_id,
            producer_epoch=0,
            is_transactional=True,
            is_control=offset == 2,
        )
        for offset, producer_id, record in (
            (0, 6, Record(0, T0, b"k", b"v")),
            (1, 7, Record(1, T0, b"k", b"v")),
            (2, 7, Record(2, T0, *write_control_record(ABORT, message_type("control", "EndTxnMarker").cls(coordinator_epoch=0)))),
        )
    )
    (folder / "00000000000000000000.log").write_bytes(data)
    index = folder / "00000000000000000000.txnindex"
    index.write_bytes(transaction_entry(7, 1, 2, 0))
    assert not findings_in(folder)
    index.write_bytes(transaction_entry(7, 1, 2, 0) * 2)
    assert only(findings_in(folder)).what == "entry (7, 1, 2, 0) does not ascend, or ends before it begins"
