"""The tight loop may give up, but it never reads anything that the careful way reads otherwise."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.batches import HEADER_SIZE
from metashell.codec.metadata_records import GAVE_UP, usual_headers
from metashell.codec.primitives import crc32c
from metashell.disk.files import RegularFile
from metashell.inspect.dump import DumpOptions, run_dump
from metashell.inspect.dump.inputs import Filters
from metashell.inspect.dump.kafka_text import KafkaWriter
from metashell.inspect.dump.own_lines import JsonWriter
from metashell.inspect.dump.writer import Halt, Writer
from tests.inspect.dump.making import T0, batch, change, dumped_rows, log, topic, write

VALUES = [topic("orders", 1), change(0, 2), topic("x" * 80, 2), change(1, 1), change(2, 0)]
BATCH = batch(VALUES, 40)


def kafka_writer() -> Writer:
    return KafkaWriter(DumpOptions(files=(), cluster_metadata_decoder=True), RegularFile(-1, "f"), "f", "f")


def own_writer() -> Writer:
    options = DumpOptions(files=(), cluster_metadata_decoder=True)
    return JsonWriter(options, Filters(options), RegularFile(-1, "f"), "f")


def texts_of(writer: Writer, data: bytes, is_fast: bool) -> tuple[bytes, str]:
    """What a writer makes of one batch, and how it ended; without the tight loop unless `is_fast`."""
    if not is_fast:
        writer.loop = None
    ending = ""
    try:
        writer.batch(data + bytes(20), 0, len(data), 0)
    except Halt as halt:
        ending = str(halt)
    return b"".join(writer.take_text()), ending


def with_crc(data: bytes) -> bytes:
    return data[:17] + crc32c(data, 21).to_bytes(4, "big") + data[21:]


@pytest.mark.parametrize("make", [kafka_writer, own_writer])
@given(
    changes=st.lists(st.tuples(st.integers(57, len(BATCH) - 1), st.integers(0, 255)), max_size=4),
    count=st.sampled_from([5, 5, 5, 4, 6, 0]),
)
def test_a_damaged_batch_reads_the_same_with_and_without_it(make, changes: list[tuple[int, int]], count: int) -> None:  # type: ignore[no-untyped-def]
    data = bytearray(BATCH)
    data[57:61] = count.to_bytes(4, "big")
    for place, byte in changes:
        data[place] = byte
    damaged = with_crc(bytes(data))
    assert texts_of(make(), damaged, is_fast=True) == texts_of(make(), damaged, is_fast=False)


@pytest.mark.slow
@pytest.mark.parametrize("make", [kafka_writer, own_writer])
def test_every_flipped_bit_of_the_records_reads_the_same_with_and_without_it(make) -> None:  # type: ignore[no-untyped-def]
    for place in range(HEADER_SIZE, len(BATCH)):
        for bit in range(8):
            data = bytearray(BATCH)
            data[place] ^= 1 << bit
            damaged = with_crc(bytes(data))
            assert texts_of(make(), damaged, is_fast=True) == texts_of(make(), damaged, is_fast=False), (place, bit)


def test_a_usual_batch_is_read_by_it() -> None:
    writer = own_writer()
    assert writer.loop is not None
    made = writer.loop(BATCH, HEADER_SIZE, 0, 5, 40, ",", writer.texts, writer.lines.append)
    assert made == len(BATCH)
    assert len(writer.lines) == 5


def test_it_gives_up_on_a_null_value() -> None:
    data = batch([VALUES[0], None])
    writer = own_writer()
    assert writer.loop is not None
    assert writer.loop(data, HEADER_SIZE, 0, 2, 0, ",", writer.texts, writer.lines.append) == GAVE_UP


def test_headers_from_the_middle_of_a_batch_are_those_of_its_later_records() -> None:
    headers, sizes, overheads = usual_headers(300, 2)
    assert list(headers)[:2] == [b"\0\0\xd8\x04\1", b"\0\0\xda\x04\1"]
    assert list(sizes)[:2] == [5, 5]
    assert list(overheads)[:2] == [14, 14]


def test_a_batch_of_more_records_than_a_segment_comes_whole_and_in_order(tmp_path: Path) -> None:
    count = 40_000
    path = write(tmp_path, log(count, per_batch=count))
    assert [row["offset"] for row in dumped_rows(path)] == list(range(count))


def test_one_odd_record_in_a_large_batch_costs_only_its_own_line(tmp_path: Path) -> None:
    values = [change(number, 1) for number in range(20_000)]
    values[17_000] = b"\x01\x7f\x00\x00"
    found = dumped_rows(write(tmp_path, batch(values)))
    assert [row["offset"] for row in found] == list(range(20_000))
    assert [row["offset"] for row in found if "fault" in row] == [17_000]


def test_log_append_time_gives_every_record_the_time_of_the_batch(tmp_path: Path) -> None:
    path = write(tmp_path, batch(VALUES, is_log_append_time=True, max_timestamp=T0 + 9))
    assert {row["timestamp"] for row in dumped_rows(path)} == {T0 + 9}
    out = io.BytesIO()
    run_dump(DumpOptions(files=(str(path),), output="kafka", cluster_metadata_decoder=True), out, io.StringIO())
    assert out.getvalue().count(b"LogAppendTime: %d keySize" % (T0 + 9)) == 5
