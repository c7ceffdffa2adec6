"""Kafka's voice: dispatch by suffix, headings, where a run ends, diagnostics, and messages of magic 0 and 1."""

from __future__ import annotations

import io
import os
import pty
import re
import tty
from pathlib import Path
from typing import Any, Literal

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.errors import UsageError
from metashell.inspect.dump import DumpOptions, run_dump
from metashell.inspect.dump.kafka_records import int64, java_path, java_sequence
from tests.inspect.dump.making import LOG_NAME, T0, batch, change, checkpoint, dump, kafka_dump, log, metadata, topic, write

LEGACY = Path(__file__).parents[2] / "golden" / "legacy"
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


# ---- kafka's text under our own name

SECRETS = [
    metadata("UserScramCredentialRecord", name="alice", salt=b"salty", stored_key=b"stored", server_key=b"server"),
    metadata("ConfigRecord", resource_type=4, resource_name="1", name="ssl.key.password", value="hunter2"),
]


def text_dump(*paths: Path | str, **options: Any) -> tuple[int, bytes, str]:
    return dump(*paths, **{"output": "kafka", **options})


def test_the_text_of_a_sound_file_is_that_of_kafkas_voice(tmp_path: Path) -> None:
    path = write(tmp_path, log(50))
    assert text_dump(path) == kafka_dump(path)


@pytest.mark.parametrize("compressed", [0, 1])
def test_secrets_are_redacted_unless_they_are_asked_for(tmp_path: Path, compressed: int) -> None:
    path = write(tmp_path, batch(SECRETS, codec_id=compressed))
    status, text, _ = text_dump(path)
    assert status == 0
    assert text.count(b"[redacted]") == 4
    assert not re.search(rb"hunter2|c2FsdHk=", text)
    shown = text_dump(path, show_secrets=True)
    assert re.search(rb"hunter2", shown[1])
    assert shown == kafka_dump(path)


def test_secrets_of_a_metadata_log_that_is_printed_without_its_decoder_are_redacted(tmp_path: Path) -> None:
    path = write(tmp_path, batch([*SECRETS, topic("orders")]))
    options = {"cluster_metadata_decoder": False, "print_data_log": True}
    status, text, _ = text_dump(path, **options)
    assert status == 0
    assert text.count(b"[redacted]") == 2
    assert not re.search(rb"hunter2|salty", text)
    assert b"orders" in text
    assert text_dump(path, show_secrets=True, **options) == kafka_dump(path, **options)


def test_a_directory_stands_for_its_segments(tmp_path: Path) -> None:
    first = write(tmp_path, log(7))
    second = write(tmp_path, batch([topic("a")], 7), f"{7:020d}.log")
    assert text_dump(tmp_path)[:2] == kafka_dump(first, second)[:2]
    assert text_dump(tmp_path)[2] == ""


def test_a_later_segment_alone_is_no_gap(tmp_path: Path) -> None:
    assert text_dump(write(tmp_path, batch([topic("a")], 7), f"{7:020d}.log"))[2] == ""


def test_a_file_that_ends_kafkas_run_does_not_end_ours(tmp_path: Path) -> None:
    path = write(tmp_path, log(7))
    status, text, err = text_dump("nope.log", path)
    assert status == 1
    assert b'"name":"topic-5"' in text
    assert err.count("\n") == 1


def test_a_bad_crc_and_a_torn_tail_are_told_and_make_the_status_1(tmp_path: Path) -> None:
    data = log(14)
    flipped = data[:-2] + bytes((data[-2] ^ 1,)) + data[-1:]
    bad = write(tmp_path, flipped)
    status, text, err = text_dump(bad)
    assert (status, text) == (1, kafka_dump(bad)[1])
    assert re.fullmatch(rf"dump-log: {re.escape(str(bad))}: offset 7, position \d+: the CRC is not 0x[0-9a-f]+\n", err)
    torn = write(tmp_path, data[:-1])
    status, text, err = text_dump(torn)
    assert (status, text) == (1, kafka_dump(torn)[1])
    assert "319 bytes is cut off, 318 bytes left" in err


def test_the_torn_tail_of_a_directorys_last_segment_is_no_fault(tmp_path: Path) -> None:
    write(tmp_path, log(14)[:-1])
    status, _, err = text_dump(tmp_path)
    assert (status, err) == (0, "")


def test_a_file_that_is_not_there_is_named_and_makes_the_status_1(tmp_path: Path) -> None:
    status, text, err = text_dump(tmp_path / "nope")
    assert (status, text) == (1, b"")
    assert err == f"dump-log: {tmp_path / 'nope'}: No such file or directory\n"


def test_of_many_faults_the_first_are_listed_and_the_others_counted(tmp_path: Path) -> None:
    bad = b"".join(data[:-3] + bytes((data[-3] ^ 1,)) + data[-2:] for data in (batch([topic("a")], offset) for offset in range(25)))
    status, _, err = text_dump(write(tmp_path, bad))
    assert status == 1
    lines = err.splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith(": 15 more faults")


def test_a_file_of_no_kind_makes_the_status_1(tmp_path: Path) -> None:
    status, _, err = text_dump(write(tmp_path, b"text", "notes.txt"))
    assert status == 1
    assert err == f"Ignoring unknown file {tmp_path / 'notes.txt'}\n"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("--type", {"types": ("TOPIC_RECORD",)}),
        ("--offset", {"offsets": (3, None)}),
        ("--until", {"until_ms": 5}),
        ("--value", {"value_pattern": re.compile("x")}),
        ("--batches", {"batches": "only"}),
        ("--follow", {"follow": True}),
    ],
)
def test_what_kafkas_text_has_no_form_for_is_refused(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{name} does not go with -o kafka"):
        text_dump(write(tmp_path, log(7), LOG_NAME), **options)


@pytest.mark.parametrize("voice", ["own", "kafka"])
def test_on_a_terminal_what_could_drive_it_is_escaped(tmp_path: Path, voice: Literal["own", "kafka"]) -> None:
    path = write(tmp_path, batch([b"\x1b[31mred", "a\u202eb\x9b".encode(), b"\xff"]))
    reader, writer = pty.openpty()
    tty.setraw(writer)
    run_dump(DumpOptions(files=(str(path),), voice=voice, output="kafka", print_data_log=True), writer, io.StringIO())
    os.write(writer, b"END")
    text = b""
    while not text.endswith(b"END"):
        text += os.read(reader, 65536)
    os.close(writer)
    os.close(reader)
    assert b"payload: \\x1b[31mred\n" in text
    assert b"payload: a\\u202eb\\x9b\n" in text
