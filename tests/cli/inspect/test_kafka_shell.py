"""kafka-shell and kafka-metadata-shell from argv to status."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.demo import demo_directory
from tests.cli.conftest import Run, command_line, environment
from tests.plain_walk import topic

IMAGE = ["acls", "clientQuotas", "cluster", "configs", "delegationToken", "features", "producerIds", "scram", "topics"]


@pytest.mark.parametrize(
    "words",
    [
        ("--demo", "ls", "-l", "/image"),
        ("--demo", "ls", "/image", "-l"),
        ("ls", "/image", "-l", "--demo"),
        ("ls", "--demo", "/image", "--long"),
        ("--demo", "--", "ls", "-l", "/image"),
    ],
)
def test_options_stand_before_and_after_the_command_and_its_paths(run: Run, words: tuple[str, ...]) -> None:
    result = run("kafka-shell", *words)
    assert (result.returncode, result.stderr) == (0, "")
    assert set(IMAGE) <= {line.split()[1] for line in result.stdout.splitlines()}


PATH_FIRST = [
    ("{dir}", "ls", "/image"),
    ("{dir}", "ls", "/image", "--certain-only"),
    ("-v", "{dir}", "ls", "/image"),
    ("{dir}", "--", "ls", "/image"),
    ("--", "{dir}", "ls", "/image"),
]


@pytest.mark.parametrize("words", PATH_FIRST)
def test_the_source_may_be_the_first_word(run: Run, words: tuple[str, ...]) -> None:
    result = run("kafka-shell", *(word.format(dir=demo_directory()) for word in words))
    assert result.returncode == 0
    assert set(IMAGE) <= set(result.stdout.split())


def test_a_command_is_a_command_whatever_files_there_are(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ls").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run("kafka-shell", "--demo", "ls", "/local").stdout == "commitId\nversion\n"
    assert "nothing to open" in run("kafka-shell", "ls", "/").stderr


def test_a_word_that_is_nothing_is_named(run: Run) -> None:
    result = run("kafka-shell", "nope", "ls")
    assert (result.returncode, result.stderr) == (1, "kafka-shell: nope: No such file or directory, and not a shell command\n")


def test_two_sources_exclude_each_other_also_where_one_is_the_first_word(run: Run) -> None:
    result = run("kafka-shell", demo_directory(), "ls", "--demo")
    assert (result.returncode, result.stderr) == (2, "kafka-shell: --snapshot and --demo exclude each other\n")


@pytest.mark.parametrize(
    ("words", "name"), [(("--demo",), "demo"), (("-s", demo_directory()), "snapshot"), (("-C", "127.0.0.1:1"), "bootstrap-controller")]
)
def test_a_path_besides_another_source_is_named(run: Run, words: tuple[str, ...], name: str) -> None:
    result = run("kafka-shell", *words, demo_directory(), "ls", "/")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"kafka-shell: --{name} and a path exclude each other\n")


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    """A log directory whose leader and voters only quorum-state holds."""
    log = tmp_path / "node" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    source = Path(demo_directory()) / "__cluster_metadata-0"
    (log / "00000000000000000000.log").write_bytes(
        write_batch(0, [Record(offset=0, timestamp=0, key=None, value=topic("orders", 1))], leader_epoch=1)
    )
    shutil.copy(source / "quorum-state", log)
    return log


def test_the_leader_of_a_compacted_log_comes_from_quorum_state(run: Run, compacted: Path) -> None:
    result = run("kafka-shell", str(compacted), "status")
    assert (result.returncode, result.stderr) == (0, "")
    assert "(from quorum-state)" in result.stdout


def test_a_quorum_state_that_cannot_be_read_is_reported_once_and_the_rest_is_shown(run: Run, compacted: Path) -> None:
    (compacted / "quorum-state").write_text("junk")
    result = run("kafka-shell", str(compacted), "status")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"status: {compacted}/quorum-state: ")
    assert "leader            unknown\n" in result.stdout


def test_the_status_as_a_table_has_a_row_for_each_value(run: Run) -> None:
    lines = run("kafka-shell", "--demo", "-o", "table", "status").stdout.splitlines()
    assert lines[0].split() == ["NAME", "VALUE"]
    assert ["topics", "15"] in [line.split() for line in lines]


@pytest.mark.parametrize(
    "words", [("-o", "json", "ls", "/"), ("ls", "/", "-o", "json"), ("ls", "-ojson", "/"), ("ls", "--output=json", "/")]
)
def test_the_form_may_be_given_to_the_tool_or_to_the_command(run: Run, words: tuple[str, ...]) -> None:
    result = run("kafka-shell", "--demo", *words)
    assert {entry["path"] for entry in json.loads(result.stdout)} >= {"/image", "/local"}


def test_a_directory_a_log_directory_and_a_file_are_opened(run: Run, checkpoint: str) -> None:
    inner = os.path.join(demo_directory(), "__cluster_metadata-0")
    for path in (demo_directory(), inner, checkpoint):
        result = run("kafka-shell", "--snapshot", path, "cat", "/image/topics/byName/plain-topic/name")
        assert (result.returncode, result.stdout, result.stderr) == (0, "plain-topic\n", "")


def test_certain_only_stops_at_the_newest_checkpoint(run: Run) -> None:
    whole = json.loads(run("kafka-shell", "--demo", "cat", "/image/provenance", "-o", "json").stdout)
    certain = json.loads(run("kafka-shell", "--demo", "--certain-only", "cat", "/image/provenance", "-o", "json").stdout)
    assert whole["certain_to"] == certain["certain_to"] == 329
    assert (whole["end_offset"], certain["end_offset"]) == (521, 329)


def test_verbose_tells_what_was_read(run: Run) -> None:
    result = run("kafka-shell", "--demo", "-v", "pwd")
    assert result.stderr == f"kafka-shell: {demo_directory()}: directory, committed to offset 329, end offset 521\n"


def test_standard_input_is_a_script_that_stops_at_the_first_failure(run: Run) -> None:
    result = run("kafka-shell", "--demo", stdin="cd /image\nnonsense\npwd\n")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "nonsense: unknown command; `help` lists them\n"


def test_a_script_goes_on_when_told_to(run: Run) -> None:
    result = run("kafka-shell", "--demo", "--keep-going", stdin="cd /image\nnonsense\npwd\n")
    assert (result.returncode, result.stdout) == (2, "/image\n")


def test_a_metadata_log_can_be_the_standard_input(segment: str) -> None:
    first = Path(segment).with_name("00000000000000000000.log").read_bytes()
    result = subprocess.run(
        command_line("kafka-shell", "-s", "-", "ls", "/image/topics/byName"),
        input=first,
        capture_output=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert result.returncode == 0
    assert b"plain-topic\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ls", "/"], "nothing to open: name a file or directory first (kafka-shell DIR ls /), a quorum with -C, or try --demo"),
        (["--demo", "-s", "x", "ls"], "--snapshot and --demo exclude each other"),
        (["--snapsot", "x"], "unknown option --snapsot (did you mean --snapshot?)"),
        (
            ["--demo", "-o", "jsom", "ls"],
            "option --output: 'jsom' is not one of text, json, jsonl, table, csv, csv-raw, kafka (did you mean json?)",
        ),
        (["-s"], "option -s needs a value"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(run: Run, words: list[str], message: str) -> None:
    result = run("kafka-shell", *words)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"kafka-shell: {message}\n")


@pytest.mark.parametrize(("name", "status"), [("kafka-shell", 1), ("kafka-metadata-shell", 1)])
def test_a_missing_file_is_one_line_and_status_1(run: Run, name: str, status: int) -> None:
    result = run(name, "-s", "nowhere", "ls", "/")
    assert (result.returncode, result.stdout, result.stderr) == (status, "", f"{name}: nowhere: No such file or directory\n")


def test_what_is_there_is_shown_and_the_fault_is_told(run: Run, tmp_path: Path, checkpoint: str) -> None:
    torn = tmp_path / Path(checkpoint).name
    torn.write_bytes(Path(checkpoint).read_bytes()[:-10])
    result = run("kafka-shell", "-s", str(torn), "cat", "/image/topics/byName/plain-topic/name")
    assert (result.returncode, result.stdout) == (1, "plain-topic\n")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"kafka-shell: {torn}: ")


def test_a_foreign_file_is_one_line_and_status_1(run: Run, tmp_path: Path) -> None:
    foreign = tmp_path / "holiday.jpg"
    foreign.write_bytes(bytes(range(256)) * 40)
    result = run("kafka-shell", "-s", str(foreign), "status")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1


def test_a_later_segment_alone_is_advised_against(run: Run, segment: str) -> None:
    result = run("kafka-shell", "-s", segment, "pwd")
    assert result.returncode == 1
    assert result.stderr.endswith("; a later segment lacks what came before it: open its directory instead)\n")


def test_a_batch_that_grows_too_large_is_a_fault(run: Run, tmp_path: Path) -> None:
    record = Record(offset=0, timestamp=0, key=None, value=bytes(100_000))
    name = tmp_path / "00000000000000000000.log"
    name.write_bytes(write_batch(0, [record], leader_epoch=1, codec_id=1))
    result = run("kafka-shell", "-s", str(name), "--max-decompressed", "64k", "pwd")
    assert result.returncode == 1
    assert "65536" in result.stderr


def test_a_packed_segment_is_read(run: Run, tmp_path: Path, segment: str) -> None:
    packed = tmp_path / "00000000000000000000.log.gz"
    packed.write_bytes(gzip.compress(Path(segment).with_name("00000000000000000000.log").read_bytes()))
    result = run("kafka-shell", "-s", str(packed), "cat", "/image/topics/byName/plain-topic/name")
    assert (result.returncode, result.stdout) == (0, "plain-topic\n")


def test_nothing_in_the_directory_is_touched(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "node"
    shutil.copytree(demo_directory(), copy)
    (copy / ".lock").touch()

    def state() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in copy.rglob("*")}

    before = state()
    run("kafka-shell", "-s", str(copy), "find", "/")
    run("dump-log", "--cluster-metadata-decoder", str(copy))
    run("kafka-metadata-shell", "-s", str(copy / "__cluster_metadata-0" / "00000000000000000000.log"), "find", "/")
    assert state() == before


@pytest.mark.parametrize("words", [["find", "/"], ["tree", "/image"]])
def test_a_reader_that_goes_away_ends_it_quietly(words: list[str]) -> None:
    with subprocess.Popen(
        command_line("kafka-shell", "--demo", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


def test_the_version_is_told_among_other_options_too(run: Run) -> None:
    assert run("kafka-shell", "--demo", "--version").stdout.startswith("kafka-shell ")


def test_kafkas_one_shot_knows_four_commands_and_tells_on_stdout(run: Run, checkpoint: str) -> None:
    result = run("kafka-metadata-shell", "--snapshot", checkpoint, "pwd")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "invalid choice: 'pwd' (choose from 'cat', 'find', 'ls', 'tree')\n"


def test_kafkas_local_node_shows_the_release_whose_voice_it_speaks(run: Run, checkpoint: str) -> None:
    result = run("kafka-metadata-shell", "--snap", checkpoint, "tree", "/local")
    assert result.stdout == "commitId:\n  1156b2752aaa28ea\nversion:\n  4.4.0\n"


def test_kafkas_missing_target_is_told_on_stdout_with_status_0(run: Run, checkpoint: str) -> None:
    result = run("kafka-metadata-shell", "-s", checkpoint, "cat", "/nope")
    assert (result.returncode, result.stdout, result.stderr) == (0, "cat: /nope: No such file or directory.\n", "")


def test_kafkas_prompt_on_a_pipe_goes_on_after_errors(run: Run, checkpoint: str) -> None:
    result = run("kafka-metadata-shell", "-s", checkpoint, stdin="cd /image\nnope\npwd\n")
    assert result.returncode == 0
    lines = result.stdout.split("\n")
    assert lines[:3] == ["Loading...", "Starting...", "[ Kafka Metadata Shell ]"]
    assert lines[3].startswith(">> >> invalid choice: 'nope'")
    assert lines[4:] == [">> /image", ">> "]


def test_our_forms_work_on_kafkas_shell(run: Run, checkpoint: str) -> None:
    result = run("kafka-metadata-shell", "-s", checkpoint, "-o", "json", "ls", "/")
    assert [entry["path"] for entry in json.loads(result.stdout)] == ["/image", "/local"]


@pytest.mark.parametrize("words", [[], ["--bogus"], ["--version"], ["-s"], ["-s", "F", "ls", "-l"]])
def test_kafkas_usage_errors_are_on_stderr_with_status_1(run: Run, words: list[str]) -> None:
    result = run("kafka-metadata-shell", *words)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("usage: kafka-metadata-shell [-h] --snapshot SNAPSHOT\n")
    assert "kafka-metadata-shell: error: " in result.stderr


def test_kafkas_help_is_on_stdout_with_status_1(run: Run) -> None:
    result = run("kafka-metadata-shell", "-h")
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.endswith("  --snapshot SNAPSHOT, -s SNAPSHOT\n                         The metadata snapshot file to read.\n")


def test_kafkas_shell_opens_no_directories(run: Run) -> None:
    result = run("kafka-metadata-shell", "-s", demo_directory(), "ls")
    assert (result.returncode, result.stdout) == (1, "")
    assert "Is a directory" in result.stderr
