"""Files that no tool should be given: one line that names the thing and the place, a status, and all that is valid."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.cli.inspect import dump_log, kafka_shell
from metashell.cli.kafka import file_tools
from tests import plain_walk as plain
from tests.running import REPOSITORY, Outcome, command_line, run_main

LOG_NAME = "00000000000000000000.log"
CHECKPOINT_NAME = "00000000000000000008-0000000001.checkpoint"
MAINS: dict[str, Callable[[list[str]], int]] = {
    "dump-log": dump_log.main,
    "kafka-dump-log": dump_log.kafka_main,
    "kafka-shell": kafka_shell.main,
    "kafka-metadata-shell": file_tools.shell_main,
}


def dump(path: Path, *flags: str) -> Outcome:
    """Our own voice of dump-log on one path."""
    return run_main(dump_log.main, ["--cluster-metadata-decoder", *flags, str(path)], cwd=path.parent)


def look(path: Path, *command: str) -> Outcome:
    """Our own shell on one path."""
    return run_main(kafka_shell.main, ["--snapshot", str(path), *(command or ("find", "/"))], cwd=path.parent)


def both(path: Path) -> tuple[Outcome, Outcome]:
    return dump(path), look(path)


def lines(outcome: Outcome) -> list[dict]:
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def records(outcome: Outcome) -> list[dict]:
    return [line for line in lines(outcome) if line["kind"] == "record"]


def write(folder: Path, data: bytes, name: str = LOG_NAME) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def assert_one_line_names(outcome: Outcome, *words: str) -> None:
    """The fault is told in one line on standard error that holds the words, and the status is not 0."""
    assert outcome.status == 1, outcome
    assert outcome.stderr.count("\n") == 1, outcome.stderr
    for word in words:
        assert word in outcome.stderr


GOOD = plain.make_log(plain.small_values(), per_batch=3)
TREE_OF_GOOD = ("/image/topics/byName/orders/0", "/image/topics/byName/orders/1", "/image/topics/byName/prices/0")


def test_the_small_log_of_these_tests_is_good(tmp_path: Path) -> None:
    dumped, seen = both(write(tmp_path, GOOD))
    assert (dumped.status, dumped.stderr, seen.status, seen.stderr) == (0, "", 0, "")
    assert [record["offset"] for record in records(dumped)] == list(range(8))
    assert set(TREE_OF_GOOD) <= set(seen.stdout.decode().split("\n"))


@pytest.mark.parametrize("name", [LOG_NAME, CHECKPOINT_NAME, "folder/x.log"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    for outcome in (dump(tmp_path / name), look(tmp_path / name)) if "/" not in name else (dump_below(tmp_path, name),):
        assert outcome.stdout == b""
        assert_one_line_names(outcome, name)


def dump_below(folder: Path, name: str) -> Outcome:
    return run_main(dump_log.main, ["--cluster-metadata-decoder", name], cwd=folder)


def test_a_missing_file_does_not_keep_the_next_from_being_dumped(tmp_path: Path) -> None:
    good = write(tmp_path, GOOD)
    outcome = run_main(dump_log.main, ["--cluster-metadata-decoder", "missing.log", str(good)], cwd=tmp_path)
    assert len(records(outcome)) == 8
    assert_one_line_names(outcome, "missing.log")


@pytest.mark.parametrize("name", [LOG_NAME, CHECKPOINT_NAME, "bootstrap.checkpoint"])
def test_an_empty_file_is_a_fault_and_no_image(tmp_path: Path, name: str) -> None:
    dumped, seen = both(write(tmp_path, b"", name))
    assert records(dumped) == []
    assert seen.stdout == b""
    assert dumped.status == seen.status == 1
    assert name in dumped.stderr
    assert name in seen.stderr


@pytest.mark.parametrize("tool", MAINS)
def test_a_directory_without_metadata_is_named(tmp_path: Path, tool: str) -> None:
    flag = "--files" if "dump" in tool else "--snapshot"
    argv = [flag, str(tmp_path), *(() if "dump" in tool else ("ls", "/"))]
    outcome = run_main(MAINS[tool], argv, cwd=tmp_path)
    assert "Traceback" not in outcome.stderr
    assert str(tmp_path) in outcome.stderr or tmp_path.name in outcome.stderr
    # Kafka ignores what it does not know by its suffix, and tells so with status 0.
    assert outcome.status == 1 or tool == "kafka-dump-log"


@pytest.mark.parametrize("tool", MAINS)
def test_a_path_below_a_file_is_named(tmp_path: Path, tool: str) -> None:
    path = write(tmp_path, GOOD) / "00000000000000000001.log"
    flag = "--files" if "dump" in tool else "--snapshot"
    outcome = run_main(MAINS[tool], [flag, str(path), *(() if "dump" in tool else ("ls", "/"))], cwd=tmp_path)
    assert_one_line_names(outcome, "00000000000000000001.log")


FOREIGN = {
    "text": b"This is no log, but a page of text that goes on for a while.\n" * 20,
    "elf": Path(sys.executable).read_bytes()[:4096],
    "ones": b"\xff" * 1000,
    "zeros": bytes(1000),
    "java": struct.pack(">IHH", 0xCAFEBABE, 0, 61) * 40,
    "short": b"PK\x03\x04",
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("name", [LOG_NAME, CHECKPOINT_NAME, "bootstrap.checkpoint", "report.pdf"])
def test_a_foreign_file_is_a_fault_at_its_start(tmp_path: Path, kind: str, name: str) -> None:
    path = write(tmp_path, FOREIGN[kind], name)
    dumped, seen = both(path)
    assert records(dumped) == []
    for outcome in (dumped, seen):
        assert "Traceback" not in outcome.stderr
        assert name in outcome.stderr
    assert dumped.status == 1
    assert b"/image/topics/byName/" not in seen.stdout


@pytest.mark.parametrize("size", [1, 16, 17, 18, 61, 4096, 70_000])
def test_a_tail_of_zeros_is_a_fault_of_a_named_file(tmp_path: Path, size: int) -> None:
    dumped, seen = both(write(tmp_path, GOOD + bytes(size)))
    assert len(records(dumped)) == 8
    assert_one_line_names(dumped, LOG_NAME, str(len(GOOD)))
    assert set(TREE_OF_GOOD) <= set(seen.stdout.decode().split("\n"))
    assert LOG_NAME in seen.stderr


def compressed_batch(area: bytes, count: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return plain.make_batch(8, packer.compress(area) + packer.flush(), count, attributes=1)


def test_a_decompression_bomb_is_a_fault(tmp_path: Path) -> None:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(160)) + packer.flush()
    bomb = plain.make_batch(8, packed, 100, attributes=1)
    tail = plain.make_batch(108, plain.make_record(0, plain.topic("after", 9)), 1)
    dumped, seen = both(write(tmp_path, GOOD + bomb + tail))
    assert [record["offset"] for record in records(dumped)] == [*range(8), 108]
    assert dumped.status == 1
    assert_fault_at(dumped, 8)
    assert b"/image/topics/byName/after" in seen.stdout
    assert LOG_NAME in seen.stderr


def test_the_cap_of_decompression_is_an_option(tmp_path: Path) -> None:
    area = b"".join(plain.make_record(delta, plain.topic(f"t{delta}", delta)) for delta in range(100))
    path = write(tmp_path, compressed_batch(area, 100))
    assert len(records(dump(path))) == 100
    capped = dump(path, "--max-decompressed", "1000")
    assert records(capped) == []
    assert capped.status == 1


def assert_fault_at(outcome: Outcome, offset: int) -> None:
    """A line of the output, or of standard error, names the offset of a bad batch or record."""
    faults = [line for line in lines(outcome) if line["kind"] in ("corrupt", "truncated", "skipped") or "fault" in line]
    assert any(line.get("offset") == offset for line in faults), lines(outcome)[-3:]
    assert outcome.status == 1


AREA = plain.make_record(0, plain.topic("inside", 7))
TOO_LONG = plain.zigzag(10_000) + AREA[1:]
BAD_BATCHES = {
    "a record longer than the batch": plain.make_batch(8, TOO_LONG, 1),
    "a record of negative length": plain.make_batch(8, plain.zigzag(-5) + AREA[1:], 1),
    "a value longer than its record": plain.make_batch(8, b"\x10\0\0\0\x01\x7e\x01\x14\0", 1),
    "a count of 2^31-1": plain.make_batch(8, AREA, 2**31 - 1, last_delta=0),
    "a count of -1": plain.make_batch(8, AREA, -1, last_delta=0),
    "a count of -2^31": plain.make_batch(8, AREA, -(2**31), last_delta=0),
    "one record more than counted": plain.make_batch(8, AREA + AREA, 1),
    "one record less than counted": plain.make_batch(8, AREA, 2),
    "a length that does not end": plain.make_batch(8, b"\xff" * 40, 1),
    "no record at all": plain.make_batch(8, b"", 1),
    "a codec that does not exist": plain.make_batch(8, AREA, 1, attributes=5),
    "gzip that is none": plain.make_batch(8, AREA, 1, attributes=1),
    "snappy that is none": plain.make_batch(8, b"\xff" * 30, 1, attributes=2),
    "lz4 that is none": plain.make_batch(8, AREA, 1, attributes=3),
    "zstd that is none": plain.make_batch(8, AREA, 1, attributes=4),
    "2^31 headers": plain.make_batch(8, plain.zigzag(12) + b"\0\0\0\x01\x00" + plain.zigzag(2**31)[:5] + b"\0\0", 1),
}


@pytest.mark.parametrize("what", BAD_BATCHES)
def test_what_lies_around_a_bad_batch_is_still_given(tmp_path: Path, what: str) -> None:
    after = plain.make_batch(9, plain.make_record(0, plain.topic("after", 9)), 1)
    dumped, seen = both(write(tmp_path, GOOD + BAD_BATCHES[what] + after))
    offsets = [record["offset"] for record in records(dumped)]
    assert [offset for offset in offsets if offset != 8] == [*range(8), 9]
    assert_fault_at(dumped, 8)
    assert LOG_NAME in dumped.stderr
    assert {*TREE_OF_GOOD, "/image/topics/byName/after"} <= set(seen.stdout.decode().split("\n"))
    assert LOG_NAME in seen.stderr


HUGE = plain.uvarint(2**31)
BAD_VALUES = {
    "a string of 2^31 bytes": plain.frame(2, 0, HUGE, b"x" * 20),
    "an array of 2^31 replicas": plain.frame(3, 0, bytes(4), plain.topic_id(1), HUGE, bytes(40)),
    "an array of 2^32 replicas": plain.frame(3, 0, bytes(4), plain.topic_id(1), plain.uvarint(2**32 - 1), bytes(40)),
    "2^31 tagged fields": plain.frame(20, 0, tags=HUGE),
    "a tag of 2^31 bytes": plain.frame(20, 0, tags=b"\x01\x05" + HUGE),
    "a body that ends too soon": plain.frame(2, 0, plain.text("x"), tags=b""),
    "bytes after the body": plain.topic("x", 5) + b"more",
    "a type that does not exist": plain.frame(9000, 0, b"abc"),
    "a frame version that does not exist": b"\x07" + plain.topic("x", 5)[1:],
    "no bytes": b"",
    "a name that is null": plain.frame(2, 0, b"\0", plain.topic_id(5)),
}


@pytest.mark.parametrize("what", BAD_VALUES)
def test_a_bad_record_costs_only_itself(tmp_path: Path, what: str) -> None:
    values = [*plain.small_values(), BAD_VALUES[what], plain.topic("after", 9)]
    dumped, seen = both(write(tmp_path, plain.make_log(values, per_batch=len(values))))
    offsets = [record["offset"] for record in records(dumped)]
    assert [offset for offset in offsets if offset != 8] == [*range(8), 9]
    assert dumped.status == 1
    assert {*TREE_OF_GOOD, "/image/topics/byName/after"} <= set(seen.stdout.decode().split("\n"))
    assert LOG_NAME in seen.stderr
    assert "8" in seen.stderr


def test_a_null_value_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    area = plain.make_record(0, None) + plain.make_record(1, plain.topic("after", 9))
    dumped, seen = both(write(tmp_path, GOOD + plain.make_batch(8, area, 2)))
    assert 9 in [record["offset"] for record in records(dumped)]
    assert dumped.status == 1
    assert b"/image/topics/byName/after" in seen.stdout


HOSTILE_NAMES = {
    "escape": b"\x1b]0;owned\x07",
    "clear screen": b"\x1b[2J\x1b[H",
    "c1": "x\u009b31m".encode(),
    "bidi": "x\u202etxt".encode(),
    "newline": b"two\nlines",
    "slash": b"a/b",
    "dots": b"..",
    "percent": b"100%",
    "nul": b"a\0b",
    "empty": b"",
    "bad utf-8": b"caf\xe9",
    "surrogate": b"x\xed\xa0\x80y",
}


@pytest.mark.parametrize("what", HOSTILE_NAMES)
def test_hostile_names_are_kept_escaped_and_resolve(tmp_path: Path, what: str) -> None:
    values = [*plain.small_values(), plain.topic(HOSTILE_NAMES[what], 9), plain.partition(0, 9)]
    path = write(tmp_path, plain.make_log(values))
    dumped, seen = both(path)
    assert dumped.status == 0
    expected = HOSTILE_NAMES[what].replace(b"\xed\xa0\x80", b"\xff").decode("utf-8", "replace")
    assert records(dumped)[8]["data"]["name"] == expected
    for outcome in (dumped, seen):
        assert not {byte for byte in outcome.stdout if byte < 32} - {10}, outcome.stdout
    listed = look(path, "ls", "-1", "/image/topics/byName").stdout.decode().splitlines()
    assert len(listed) == 3
    (name,) = set(listed) - {"orders", "prices"}
    shown = look(path, "cat", f"/image/topics/byName/{name}/id")
    assert (shown.status, shown.stderr) == (0, ""), shown
    assert "AAAAAAAAAAAAAAAAAAAQCQ" in shown.stdout.decode()


def test_a_newer_metadata_version_is_a_fault_and_the_rest_is_read(tmp_path: Path) -> None:
    values = [plain.feature("metadata.version", 99), *plain.small_values()[1:]]
    dumped, seen = both(write(tmp_path, plain.make_log(values)))
    assert len(records(dumped)) == 8
    assert set(TREE_OF_GOOD) <= set(seen.stdout.decode().split("\n"))
    assert "99" in seen.stderr
    assert LOG_NAME in seen.stderr


def test_a_change_of_an_unknown_topic_is_a_fault_at_its_offset(tmp_path: Path) -> None:
    change = plain.frame(5, 0, (3).to_bytes(4, "big"), plain.topic_id(77), tags=b"\x01\x01\x04" + (2).to_bytes(4, "big"))
    values = [*plain.small_values(), change, plain.partition(0, 78), plain.topic("after", 9)]
    dumped, seen = both(write(tmp_path, plain.make_log(values)))
    assert dumped.status == 0
    assert len(records(dumped)) == 11
    assert {*TREE_OF_GOOD, "/image/topics/byName/after"} <= set(seen.stdout.decode().split("\n"))
    status = look(tmp_path / LOG_NAME, "status")
    told = status.stdout.decode() + status.stderr
    assert "offset 8" in told, told
    assert "2 " in seen.stderr, seen.stderr


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_read_ends_with_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, plain.make_log([plain.topic(f"topic-{n}", n) for n in range(60_000)], per_batch=500))
    child = subprocess.Popen(
        command_line("metashell.cli.inspect.dump_log", "--cluster-metadata-decoder", "--jobs", "1", str(path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        bufsize=0,
    )
    assert child.stdout is not None
    # The reader has begun, and the pipe is full long before the end of the file: the rest is cut away now.
    first = child.stdout.read(1)
    os.truncate(path, 200_000)
    rest, stderr = child.communicate(timeout=60)
    assert b"Traceback" not in stderr
    whole = (first + rest).splitlines()
    offsets = [row["offset"] for row in map(json.loads, whole) if row["kind"] == "record"]
    assert offsets == list(range(len(offsets)))
    assert offsets
    if child.returncode:
        assert LOG_NAME.encode() in stderr


def test_a_file_that_vanishes_before_it_is_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    write(folder, GOOD)
    gone = write(folder, GOOD, "00000000000000000008.log")
    opened = os.open

    def vanish(path: object, *rest: object, **more: object) -> int:
        if str(path).endswith("0008.log") and gone.exists():
            gone.unlink()
        return opened(path, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", vanish)
    seen = look(folder)
    assert "Traceback" not in seen.stderr
    assert set(TREE_OF_GOOD) <= set(seen.stdout.decode().split("\n"))
    dumped = dump(folder)
    assert "Traceback" not in dumped.stderr
    assert len(records(dumped)) == 8


@pytest.mark.parametrize("tool", MAINS)
@pytest.mark.parametrize("flag", ["--no-such-flag", "--max-bytes=x", "--files", "--snapshot", "--output=pdf"])
def test_wrong_flags_end_with_status_one_and_no_trace(tmp_path: Path, tool: str, flag: str) -> None:
    outcome = run_main(MAINS[tool], [flag], cwd=tmp_path)
    assert outcome.status != 0
    assert outcome.stderr
    assert "Traceback" not in outcome.stderr
