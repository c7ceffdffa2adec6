"""dump-log and kafka-dump-log from argv to status."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from metashell.codec.releases import NEWEST_RELEASE
from tests.cli.conftest import Run, command_line, environment

DECODE = "--cluster-metadata-decoder"


def test_every_line_is_an_object_with_its_kind_and_file(run: Run, segment: str) -> None:
    result = run("dump-log", DECODE, segment)
    assert (result.returncode, result.stderr) == (0, "")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["kind"] for line in lines} == {"record", "control"}
    assert {line["file"] for line in lines} == {segment}


def test_flags_work_after_the_file(run: Run, segment: str) -> None:
    assert run("dump-log", segment, "--offset", "300..301", DECODE).stdout == run("dump-log", "--offset=300..301", DECODE, segment).stdout


def test_files_of_both_spellings_are_dumped_in_order(run: Run, segment: str, checkpoint: str) -> None:
    result = run("dump-log", "--batches=only", "--files", f"{segment},{checkpoint}")
    names = list(dict.fromkeys(json.loads(line)["file"] for line in result.stdout.splitlines()))
    assert names == [segment, checkpoint]


def test_standard_input_is_read_where_no_file_is_named(segment: str) -> None:
    data = Path(segment).read_bytes()
    result = subprocess.run(command_line("dump-log", DECODE), input=data, capture_output=True, env=environment(), timeout=60, check=False)
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 270


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fiels", "a"], "dump-log: unknown option --fiels (did you mean --files?)\n"),
        (["--offset", "9..1", "a"], "dump-log: option --offset: '9..1' is an empty range\n"),
        (
            ["--key", "(", "a"],
            "dump-log: option --key: '(' is not a regular expression: missing ), unterminated subpattern at position 0\n",
        ),
        (["--max-bytes", "-1", "a"], "dump-log: option --max-bytes: '-1' is not a size such as 5242880, 64k or 128M\n"),
        (["-o", "xml", "a"], "dump-log: option --output: 'xml' is not one of jsonl, json, kafka, table\n"),
        (["--files", ""], "dump-log: option --files: no file is named\n"),
        (
            ["--key-decoder-class", "Foo", "a"],
            "dump-log: option --key-decoder-class: 'Foo' is not one of String, Integer, Long, Default\n",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(run: Run, words: list[str], message: str) -> None:
    result = run("dump-log", *words)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_a_missing_file_is_one_line_and_status_1_and_the_next_is_still_dumped(run: Run, segment: str) -> None:
    result = run("dump-log", DECODE, "nowhere.log", segment)
    assert result.returncode == 1
    assert result.stderr == "dump-log: nowhere.log: No such file or directory\n"
    assert len(result.stdout.splitlines()) == 270


def test_a_name_that_could_drive_a_terminal_is_escaped(run: Run) -> None:
    assert run("dump-log", "a\x1b[31m\u202eb.log").stderr == "dump-log: a\\x1b[31m\\u202eb.log: No such file or directory\n"


@pytest.mark.parametrize("name", ["dump-log", "kafka-dump-log"])
def test_a_reader_that_goes_away_ends_it_quietly(name: str, segment: str) -> None:
    with subprocess.Popen(
        command_line(name, DECODE, "--files", segment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "Broken" not in errors


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
def test_a_full_disk_is_one_line_and_status_1(segment: str) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command_line("dump-log", DECODE, segment), stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert result.returncode == 1
    assert result.stderr.decode() == "dump-log: standard output: No space left on device\n"


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_output_is_utf8_under_any_locale(run: Run, locale: dict[str, str], segment: str, tmp_path: Path) -> None:
    named = tmp_path / "日本.log"
    named.write_bytes(Path(segment).read_bytes())
    plain = run("dump-log", DECODE, str(named))
    assert "日本.log" in plain.stdout
    assert run("dump-log", DECODE, str(named), env=locale).stdout == plain.stdout


def test_help_is_on_stdout_with_status_0(run: Run) -> None:
    result = run("dump-log", "--help")
    assert result.returncode == 0
    assert result.stdout.startswith("dump-log - ")
    assert result.stderr == ""


def test_kafkas_name_prints_its_help_on_stderr_with_status_1(run: Run) -> None:
    for words in ([], ["--help"], ["--files", "x", "--help"]):
        result = run("kafka-dump-log", *words)
        assert (result.returncode, result.stdout) == (1, "")
        assert "--cluster-metadata-decoder" in result.stderr


def test_kafkas_name_prints_the_version_whose_voice_it_speaks(run: Run) -> None:
    result = run("kafka-dump-log", "--version")
    assert (result.returncode, result.stdout) == (0, f"{NEWEST_RELEASE.patch}\n")


@pytest.mark.parametrize(
    "words", [["--bogus"], ["-h"], ["--print-data-log"], ["--files"], ["--file", "x"], ["--max-bytes", "x", "--files", "y"]]
)
def test_kafkas_name_refuses_a_wrong_command_line_with_status_1(run: Run, words: list[str]) -> None:
    result = run("kafka-dump-log", *words)
    assert (result.returncode, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1


def test_our_forms_work_on_kafkas_name(run: Run, segment: str) -> None:
    kafka = run("kafka-dump-log", DECODE, "--files", segment, "-o", "jsonl", "--max-bytes", "700")
    assert json.loads(kafka.stdout.splitlines()[0])["kind"] == "record"


def test_kafkas_text_can_be_had_from_our_name(run: Run, segment: str) -> None:
    ours = run("dump-log", DECODE, segment, "-o", "kafka", "--show-secrets")
    assert ours.stdout == run("kafka-dump-log", DECODE, "--files", segment).stdout
