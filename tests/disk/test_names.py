"""Names of files in a log directory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.common.values import OffsetAndEpoch
from metashell.disk.names import LogFileName, checkpoint_name, classify, parse_name, segment_name

SEGMENT = "00000000000000000012.log"
CHECKPOINT = "00000000000000000012-0000000003.checkpoint"
OFFSETS = st.integers(0, 2**63 - 1)
EPOCHS = st.integers(0, 2**31 - 1)


@given(OFFSETS, EPOCHS)
def test_names_are_read_as_they_are_written(offset: int, epoch: int) -> None:
    assert parse_name(segment_name(offset)) == LogFileName("segment", offset)
    snapshot_id = OffsetAndEpoch(offset, epoch)
    assert parse_name(checkpoint_name(snapshot_id)) == LogFileName("checkpoint", None, snapshot_id)


@pytest.mark.parametrize(
    ("name", "state", "is_compressed"),
    [
        (SEGMENT + ".deleted", "deleted", False),
        (SEGMENT + ".swap", "swap", False),
        (SEGMENT + ".cleaned", "cleaned", False),
        (SEGMENT + ".gz", "", True),
        (SEGMENT + ".deleted.gz", "deleted", True),
        (CHECKPOINT + ".deleted", "deleted", False),
        ("00000000000000000012-0000000003-8127312.checkpoint.part", "part", False),
        (CHECKPOINT + ".gz", "", True),
        ("bootstrap.checkpoint.gz", "", True),
    ],
)
def test_suffixes_tell_what_a_file_is_no_longer_or_not_yet(name: str, state: str, is_compressed: bool) -> None:
    parsed = parse_name(name)
    assert parsed is not None
    assert (parsed.state, parsed.is_compressed) == (state, is_compressed)
    assert not parsed.is_in_use


@pytest.mark.parametrize(
    "name",
    [
        *("", "x.log", "12.log", "gz", ".gz", "bootstrap", "00000000000000000012.index"),
        *("0000000000000000001٢.log", "99999999999999999999.log", "99999999999999999999-0000000003.checkpoint"),
        *(SEGMENT + "~", SEGMENT + ".", SEGMENT + ".part", SEGMENT + ".deleted.swap", CHECKPOINT + ".swap"),
    ],
)
def test_other_names_say_nothing(name: str) -> None:
    assert parse_name(name) is None


def test_a_file_of_no_telling_name_is_what_its_first_record_is(batch, checkpoint) -> None:
    def first(data: bytes) -> RecordBatch:
        header = read_batch_header(data)
        return RecordBatch(header, 0, data[: header.size_bytes])

    assert classify("saved", first(checkpoint())) == "checkpoint"
    assert classify("saved", first(batch(0))) == "segment"
    assert classify("saved", None) == "segment"
    assert classify("bootstrap.checkpoint", None) == "bootstrap"
    assert classify(SEGMENT, first(checkpoint())) == "segment"
