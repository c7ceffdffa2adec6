"""Filters leave out what is not wanted, whichever way the records are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from metashell.codec.batch_writer import LEADER_CHANGE, write_batch
from metashell.codec.batches import Record
from metashell.common.errors import UsageError
from metashell.inspect.dump.inputs import Filters, logs_with_types
from metashell.inspect.dump.options import DumpOptions
from tests.inspect.dump.making import T0, batch, change, control_batch, dump, dumped_rows, log, metadata, topic, write


def offsets(path: Path, **options: Any) -> list[int]:
    return [row["offset"] for row in dumped_rows(path, **options)]


@pytest.mark.parametrize("per_batch", [1, 4, 7, 100])
@pytest.mark.parametrize("span", [(5, 20), (None, 9), (40, None), (8, 8), (90, None)])
def test_offsets_are_inclusive_and_may_cut_a_batch(tmp_path: Path, per_batch: int, span: tuple[int | None, int | None]) -> None:
    path = write(tmp_path, log(50, per_batch))
    first, last = span[0] or 0, 49 if span[1] is None else span[1]
    assert offsets(path, offsets=span) == list(range(first, min(last, 49) + 1))


def test_times_are_those_of_the_records(tmp_path: Path) -> None:
    records = [Record(index, T0 + 10 * index, None, topic(f"t{index}")) for index in range(9)]
    path = write(tmp_path, write_batch(0, records, leader_epoch=1))
    assert offsets(path, since_ms=T0 + 30, until_ms=T0 + 60) == [3, 4, 5, 6]
    assert offsets(path, since_ms=T0 + 81) == []


@pytest.mark.parametrize("word", ["TOPIC_RECORD", "topic", "TopicRecord", "2", "topic-record"])
def test_a_type_is_known_by_name_or_number(tmp_path: Path, word: str) -> None:
    path = write(tmp_path, log(30))
    assert offsets(path, types=(word,)) == [0, 5, 10, 15, 20, 25]


def test_several_types_are_all_wanted(tmp_path: Path) -> None:
    values = [topic("a"), change(0, 1), metadata("NoOpRecord")]
    path = write(tmp_path, batch(values))
    assert offsets(path, types=("TOPIC_RECORD,NO_OP_RECORD",)) == [0, 2]
    assert offsets(path, types=("TOPIC_RECORD", "20")) == [0, 2]


def test_control_records_have_types_too(tmp_path: Path) -> None:
    path = write(tmp_path, control_batch(0, LEADER_CHANGE, leader_id=1) + batch([topic("a")], 1))
    assert offsets(path, types=("LEADER_CHANGE",)) == [0]
    assert offsets(path, types=("TOPIC_RECORD",)) == [1]


def test_an_unknown_type_by_number_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, batch([topic("a"), b"\x01\x63\x00", b"\x01\xe3\x00\x00"]))
    assert offsets(path, types=("99",)) == [1, 2]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("TOPIK_RECORD", "TOPIC_RECORD"),
        ("TOPIC_RECORDS", "TOPIC_RECORD"),
        ("partion", "PARTITION_RECORD"),
        ("topics", "TOPIC_RECORD"),
        ("NoOpRecrd", "NO_OP_RECORD"),
    ],
)
def test_a_wrong_type_is_a_mistake_with_a_hint(word: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"'{word}' is no record type \(did you mean {meant}\?\)"):
        Filters(DumpOptions(files=(), cluster_metadata_decoder=True, types=(word,)))


def test_a_value_pattern_sees_the_text_that_is_printed(tmp_path: Path) -> None:
    path = write(tmp_path, log(30))
    assert offsets(path, value_pattern=re.compile(r'"name":"topic-(5|20)"')) == [5, 20]


def test_a_value_pattern_does_not_see_secrets(tmp_path: Path) -> None:
    secret = metadata("ConfigRecord", resource_type=4, resource_name="1", name="ssl.key.password", value="hunter2")
    path = write(tmp_path, batch([secret]))
    assert offsets(path, value_pattern=re.compile("hunter2")) == []
    assert offsets(path, value_pattern=re.compile("redacted")) == [0]


def test_a_key_pattern_asks_for_a_key(tmp_path: Path) -> None:
    records = [Record(0, T0, b"alpha", b"1"), Record(1, T0, None, b"2"), Record(2, T0, b"beta", b"3")]
    path = write(tmp_path, write_batch(0, records, leader_epoch=1))
    found = dumped_rows(path, key_pattern=re.compile("^a"), cluster_metadata_decoder=False, print_data_log=True)
    assert [row["offset"] for row in found if row["kind"] == "record"] == [0]


def test_batch_lines_are_given_beside_records_of_one_type(tmp_path: Path) -> None:
    found = dumped_rows(write(tmp_path, log(5)), types=("topic",), batches="also")
    assert [row["kind"] for row in found] == ["batch", "record"]


def test_a_filter_that_could_not_work_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"'GROUP_METADATA' is no record type"):
        Filters(DumpOptions(files=(), types=("GROUP_METADATA",), cluster_metadata_decoder=True))
    with pytest.raises(UsageError, match=r"'GROUPMETADAT' is no record type \(did you mean GROUP_METADATA\?\)"):
        logs_with_types(("TOPIC_RECORD,GROUPMETADAT",))


def test_filters_hide_no_damage(tmp_path: Path) -> None:
    data = bytearray(log(21, per_batch=7))
    data[len(log(7)) + 70] ^= 1
    path = write(tmp_path, bytes(data))
    assert dump(path, types=("TOPIC_RECORD",))[0] == 1
    # What a damaged header says is no reason to leave its batch out.
    assert [row["kind"] for row in dumped_rows(path, offsets=(0, 0))] == ["record", "corrupt"]
