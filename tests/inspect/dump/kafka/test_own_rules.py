"""Kafka's text under our own name."""

from __future__ import annotations

import io
import os
import pty
import re
import tty
from pathlib import Path
from typing import Any, Literal

import pytest

from metashell.common.errors import UsageError
from metashell.inspect.dump import DumpOptions, run_dump
from tests.inspect.dump.making import LOG_NAME, batch, dump, kafka_dump, log, metadata, topic, write

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
