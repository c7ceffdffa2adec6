"""The files that arguments stand for, and the filters of records."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.inspect import dump_log
from metashell.codec.batch_writer import LEADER_CHANGE, write_batch
from metashell.codec.batches import Record
from metashell.common.errors import UsageError
from metashell.demo import demo_directory
from metashell.disk.inputs import named_file
from metashell.inspect.dump.inputs import Filters, inputs_of, logs_with_types
from metashell.inspect.dump.options import DumpOptions
from metashell.tables import plan_splits
from metashell.tables.input_files import input_files
from tests.inspect.dump.making import (
    LOG_NAME,
    T0,
    batch,
    change,
    checkpoint,
    control_batch,
    dump,
    dumped_rows,
    log,
    metadata,
    rows,
    topic,
    write,
)


def metadata_directory(folder: Path) -> Path:
    directory = folder / "data" / "__cluster_metadata-0"
    directory.mkdir(parents=True)
    return directory


def test_a_directory_stands_for_its_segments_in_order(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    second = write(directory, batch([topic("b")], 5), "00000000000000000005.log")
    first = write(directory, log(5))
    write(directory, b"not a log", "leader-epoch-checkpoint")
    for given in (directory, directory.parent, tmp_path):
        found = dumped_rows(given)
        assert [row["offset"] for row in found] == [0, 1, 2, 3, 4, 5]
        assert [row["file"] for row in (found[0], found[-1])] == [str(first), str(second)]


def test_a_log_that_does_not_begin_at_0_is_preceded_by_its_newest_complete_checkpoint(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, checkpoint([topic("old")]), "00000000000000000003-0000000003.checkpoint")
    whole = write(directory, checkpoint([topic("whole")]), "00000000000000000005-0000000003.checkpoint")
    write(directory, checkpoint([topic("torn")], footer=False), "00000000000000000006-0000000003.checkpoint")
    segment = write(directory, batch([topic("b")], 5), "00000000000000000005.log")
    status, text, err = dump(directory)
    assert (status, err) == (0, "")
    assert [row["file"] for row in rows(text)] == [str(whole)] * 3 + [str(segment)]


def test_a_directory_of_damaged_checkpoints_only_is_no_empty_answer(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    torn = write(directory, checkpoint([topic("torn")], footer=False), "00000000000000000006-0000000003.checkpoint")
    status, text, err = dump(directory)
    assert status == 1
    assert {row["file"] for row in rows(text)} == {str(torn)}
    assert "the checkpoint has no footer" in err
    with pytest.raises(UsageError, match="none of its checkpoints is complete, and there is no segment"):
        plan_splits(str(directory))


@pytest.mark.parametrize("first", [0, 5, 9])
@pytest.mark.parametrize("checkpoints", [(), (5,), (3, 5), (3, -5), (-5,), (-3, -5)], ids=str)
def test_a_directory_stands_for_the_same_files_as_for_tables(tmp_path: Path, first: int, checkpoints: tuple[int, ...]) -> None:
    """Checkpoints by the offset they end at, a negative one for one without a footer. What is damaged is in no table, but in a dump."""
    directory = metadata_directory(tmp_path)
    for end in checkpoints:
        write(directory, checkpoint([topic("a")], footer=end > 0), f"{abs(end):020d}-0000000003.checkpoint")
    for offset in (first, first + 1):
        write(directory, batch([topic("b")], offset), f"{offset:020d}.log")
    listed = [(entry.label, entry.may_end_early, entry.log) for entry in inputs_of(str(tmp_path))]
    if first > 0 and checkpoints and max(checkpoints) < 0:
        assert listed.pop(0) == (str(directory / "00000000000000000005-0000000003.checkpoint"), False, "metadata")
    assert listed == [(file.path, file.may_end_early, file.log) for file in input_files(str(tmp_path))]


@pytest.mark.parametrize("name", ["saved", "saved.gz"])
def test_a_checkpoint_under_another_name_is_one_for_dumps_and_tables(tmp_path: Path, name: str) -> None:
    data = checkpoint([topic("a")], footer=False)
    saved = write(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    assert named_file(str(saved)).checkpoint == name
    status, text, err = dump(saved, write(tmp_path, log(3)))
    assert (status, rows(text)[-1]["kind"], rows(text)[-1]["offset"]) == (1, "record", 2)
    assert "the checkpoint has no footer" in err
    assert len(err.splitlines()) == 1


def test_a_gap_between_checkpoint_and_log_is_a_fault(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, checkpoint([topic("a")]), "00000000000000000005-0000000003.checkpoint")
    write(directory, batch([topic("b")], 9), "00000000000000000009.log")
    status, _, err = dump(directory)
    assert status == 1
    assert "offsets 5 to 8 are missing" in err


def test_a_gap_between_two_segments_is_a_fault(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, log(5))
    write(directory, batch([topic("b")], 9), "00000000000000000009.log")
    status, _, err = dump(directory)
    assert status == 1
    assert "00000000000000000009.log: position 0: offsets 5 to 8 are missing" in err


@pytest.mark.parametrize("tail", [bytes(4000), log(7)[:50]], ids=["zeros", "half a batch"])
def test_the_torn_tail_of_the_last_segment_is_its_normal_end(tmp_path: Path, tail: bytes) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, log(5) + tail)
    assert dump(directory)[0] == 0
    status, text, err = dump(directory, verbose=True)
    assert status == 0
    assert {row["kind"] for row in rows(text)} == {"record"}
    assert f"{len(tail)} bytes" in err


def test_the_torn_tail_of_an_earlier_segment_is_a_fault(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, log(5) + log(7)[:50])
    write(directory, batch([topic("b")], 5), "00000000000000000005.log")
    status, text, _ = dump(directory)
    assert status == 1
    assert [row["kind"] for row in rows(text)][-2:] == ["truncated", "record"]


def test_a_directory_without_a_log_is_named(tmp_path: Path) -> None:
    status, text, err = dump(tmp_path)
    assert (status, text) == (1, b"")
    assert str(tmp_path) in err


@pytest.mark.parametrize("name", [f"{LOG_NAME}.deleted", f"{LOG_NAME}.swap", f"{LOG_NAME}.gz", "renamed"])
def test_a_renamed_file_is_read(tmp_path: Path, name: str) -> None:
    data = gzip.compress(log(9)) if name.endswith(".gz") else log(9)
    assert len(dumped_rows(write(tmp_path, data, name))) == 9


@pytest.mark.parametrize("tail", [b"", bytes(30)], ids=["whole", "zeros"])
def test_standard_input_is_read_front_to_back(tmp_path: Path, tail: bytes) -> None:
    saved = os.dup(0)
    read_end, write_end = os.pipe()
    os.write(write_end, log(9) + tail)
    os.close(write_end)
    try:
        os.dup2(read_end, 0)
        status, text, _ = dump("-")
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(read_end)
    assert [row["offset"] for row in rows(text)][:9] == list(range(9))
    assert status == (1 if tail else 0)


def test_nothing_is_written_beside_what_is_read(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    path = write(directory, log(5) + b"torn")
    os.chmod(path, 0o400)
    before = sorted(os.listdir(directory)), path.read_bytes(), path.stat().st_mtime_ns
    dump(directory)
    assert (sorted(os.listdir(directory)), path.read_bytes(), path.stat().st_mtime_ns) == before


def lost_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, keep: str, words: list[str]) -> tuple[int, str]:
    """Status and stderr of dump-log on the demo's directory, of which only the files whose name begins with `keep` are there."""
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    for path in Path(demo_directory()).glob("__cluster_metadata-0/*"):
        if path.name.startswith(keep) and not path.name.endswith(".snapshot"):
            shutil.copy(path, log / path.name)
    return dump_log.main([*words, str(tmp_path)]), capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--summary"], ["--cluster-metadata-decoder"], ["--print-data-log"]])
def test_offsets_that_a_metadata_directory_lacks_are_a_fault_with_any_decoder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    status, err = lost_offsets(tmp_path, capsys, keep="00000000000000000251.log", words=words)
    assert status == 1
    assert "position 0: offsets 0 to 250 are missing" in err


def test_a_metadata_directory_from_its_beginning_lacks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lost_offsets(tmp_path, capsys, keep="0000", words=[]) == (0, "")


# ---- filters leave out what is not wanted, whichever way the records are read


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


def test_a_dumped_directory_is_closed(tmp_path: Path) -> None:
    directory = metadata_directory(tmp_path)
    write(directory, log(5))
    for options in ({}, {"cluster_metadata_decoder": True}):
        dump(directory, **options)
        assert not [entry for entry in Path("/proc/self/fd").iterdir() if os.path.realpath(entry) == str(directory)]
