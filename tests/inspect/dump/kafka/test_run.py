"""Kafka's voice: dispatch by suffix, headings, where a run ends, diagnostics, and messages of magic 0 and 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.inspect.dump.kafka_records import int64, java_path, java_sequence
from tests.inspect.dump.making import LOG_NAME, T0, batch, change, checkpoint, kafka_dump, log, topic, write

LEGACY = Path(__file__).parents[3] / "golden" / "legacy"
MODES = {"shallow": {}, "deep": {"deep_iteration": True}, "print": {"print_data_log": True}}


@pytest.mark.parametrize("mode", MODES)
def test_messages_of_magic_0_and_1_print_as_kafka_prints_them(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(LEGACY)
    status, text, _ = kafka_dump(LOG_NAME, **{"cluster_metadata_decoder": False, **MODES[mode]})
    assert status == 0
    assert text == (LEGACY / f"{mode}.txt").read_bytes()


@pytest.mark.parametrize(("given", "printed"), [("a//b.log", "a/b.log"), ("a.log/", "a.log"), ("/", "/"), ("", ""), ("./x", "./x")])
def test_a_path_is_printed_as_java_prints_it(given: str, printed: str) -> None:
    assert java_path(given) == printed


def test_headings_come_from_the_names(tmp_path: Path) -> None:
    data = checkpoint([topic("a")])
    names = ["00000000000000000012.log", "00000000000000000012-0000000003.checkpoint", "bootstrap.checkpoint"]
    _, text, _ = kafka_dump(*(write(tmp_path, data, name) for name in names))
    headings = [line for line in text.decode().splitlines() if line.startswith(("Log", "Snap", "KRaft b"))]
    assert headings == ["Log starting offset: 12", "Snapshot end offset: 12, epoch: 3", "KRaft bootstrap snapshot"]


@pytest.mark.parametrize("name", ["x.log", "0000.checkpoint", ".log", "99999999999999999999.log"])
def test_a_name_that_does_not_fit_ends_the_run_before_the_next_file(tmp_path: Path, name: str) -> None:
    good = write(tmp_path, log(3))
    status, text, err = kafka_dump(write(tmp_path, log(3), name), good)
    assert (status, text) == (1, f"Dumping {tmp_path / name}\n".encode())
    assert err.count("\n") == 1
    assert name in err


def test_a_missing_file_ends_the_run_after_its_heading(tmp_path: Path) -> None:
    status, text, err = kafka_dump(tmp_path / LOG_NAME)
    assert status == 1
    assert text.endswith(b"\nLog starting offset: 0\n")
    assert err == f"kafka-dump-log: {tmp_path / LOG_NAME}: No such file or directory\n"


@pytest.mark.parametrize("name", ["log", "a.log.deleted", "00000000000000000012-0000000003-x.checkpoint.part", "a.txt"])
def test_an_unknown_file_is_ignored(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, log(3), name)
    assert kafka_dump(path) == (0, f"Dumping {path}\n".encode(), f"Ignoring unknown file {path}\n")


def test_offsets_that_do_not_follow_are_told_at_the_end(tmp_path: Path) -> None:
    path = write(tmp_path, batch([topic("a")], 4) + batch([topic("b")], 9) + batch([topic("c")], 2))
    status, _, err = kafka_dump(path)
    assert status == 0
    assert err == f"Non-consecutive offsets in {path}\n  -1 is followed by 4\n  4 is followed by 9\n  9 is followed by 2\n"


def test_a_zero_tail_ends_the_run(tmp_path: Path) -> None:
    status, text, err = kafka_dump(write(tmp_path, log(3) + bytes(18)), cluster_metadata_decoder=False)
    assert status == 1
    assert text.endswith(b"isvalid: true\n")
    assert "Found record size 0 smaller than minimum record overhead (14)" in err


def test_a_short_tail_is_counted_and_harmless(tmp_path: Path) -> None:
    status, text, err = kafka_dump(write(tmp_path, log(3) + bytes(17)))
    assert (status, err) == (0, "")
    assert text.endswith(b"\nFound 17 invalid bytes at the end of 00000000000000000000.log\n")


def test_max_bytes_says_nothing_of_what_is_left(tmp_path: Path) -> None:
    data = log(20, per_batch=5)
    status, text, _ = kafka_dump(write(tmp_path, data), max_bytes=len(data) // 2)
    assert status == 0
    assert text.count(b"\n| ") == 10
    assert b"invalid bytes" not in text


def test_records_with_keys_headers_and_sequences_are_printed_in_full(tmp_path: Path) -> None:
    records = [Record(0, T0, b"k", b"v", (("a", b""), ("b", None))), Record(1, T0 + 5, None, None)]
    path = write(tmp_path, write_batch(0, records, leader_epoch=0, producer_id=9, base_sequence=0x7FFFFFFF))
    _, text, _ = kafka_dump(path, cluster_metadata_decoder=False, print_data_log=True)
    assert text.decode().splitlines()[-2:] == [
        f"| offset: 0 CreateTime: {T0} keySize: 1 valueSize: 1 sequence: 2147483647 headerKeys: [a,b] key: k payload: v",
        f"| offset: 1 CreateTime: {T0 + 5} keySize: -1 valueSize: -1 sequence: 0 headerKeys: []",
    ]


def test_without_record_metadata_only_key_and_payload_are_left(tmp_path: Path) -> None:
    records = [Record(0, T0, b"k", b"v"), Record(1, T0, None, b"v"), Record(2, T0, None, None)]
    path = write(tmp_path, write_batch(0, records, leader_epoch=0))
    _, text, _ = kafka_dump(path, cluster_metadata_decoder=False, print_data_log=True, skip_record_metadata=True)
    assert text.decode().splitlines()[-3:] == ["| key: k payload: v", "| payload: v", ""]


def test_a_bad_record_in_a_compressed_batch_hides_the_whole_batch(tmp_path: Path) -> None:
    records = batch([topic("a"), change(1, 1)], codec_id=1)
    count = records[:57] + (3).to_bytes(4, "big") + records[61:]
    status, text, _ = kafka_dump(write(tmp_path, count))
    assert status == 1
    assert text.count(b"\n") == 3


def test_java_arithmetic_wraps() -> None:
    assert int64(1 << 63) == -(1 << 63)
    assert java_sequence(0x7FFFFFFF, 1) == 0
    assert java_sequence(7, -64) == 2147483591
