"""Every command that reads logs knows what it was given, and answers nothing where it could not look."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest

from metashell.cli.inspect import dump_log, kafka_shell
from metashell.cli.tables import export, report, sql
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from tests.cli.conftest import command_line, environment
from tests.golden_cases import SUBSET_ROOT
from tests.quick import quick
from tests.running import Outcome, run_main

STOPPED = SUBSET_ROOT / "4.3.1/main/data/stopped"
METADATA = STOPPED / "node-1/d1/__cluster_metadata-0"
GROUPS = STOPPED / "node-4/d1/__consumer_offsets-0"
LOG = "00000000000000000000.log"
GROUP_LOG = "the log of groups (__consumer_offsets)"

COMMANDS: dict[str, Callable[[str], tuple[Callable[..., int], list[str]]]] = {
    "kafka-shell": lambda path: (kafka_shell.main, ["-s", path, "ls", "/image/topics/byName"]),
    "dump-log": lambda path: (dump_log.main, ["--type", "TOPIC_RECORD", path]),
    "dump-log with a decoder": lambda path: (dump_log.main, ["--cluster-metadata-decoder", path]),
    "dump-log in Kafka's text": lambda path: (dump_log.main, ["--cluster-metadata-decoder", "-o", "kafka", path]),
    "summary": lambda path: (dump_log.main, ["--summary", path]),
    "export": lambda path: (export.main, [path, "--out", "OUT", "--jobs", "1", "--tables", "topic"]),
    "sql": lambda path: (sql.main, ["select name from topic order by 1", path, "-o", "csv"]),
    "report": lambda path: (report.main, ["metadata_growth", path, "--out", "OUT", "--format", "csv"]),
}
SELDOM = ("summary", "dump-log in Kafka's text")


def out_of(folder: Path) -> Path:
    """Where tables go that are made in a folder: beside it, since nothing is written among logs."""
    return folder.parent / f"out of {folder.name}"


def run(command: str, path: Path | str, cwd: Path) -> Outcome:
    main, words = COMMANDS[command](str(path))
    return run_main(main, [str(out_of(cwd)) if word == "OUT" else word for word in words], cwd=cwd)


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    shutil.copytree(METADATA, tmp_path / "saved metadata")
    return tmp_path / "saved metadata"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_metadata_log_is_read_under_any_name_and_from_within(renamed: Path, command: str) -> None:
    outside = run(command, renamed, renamed.parent)
    assert (outside.status, outside.stderr) == (0, "")
    inside = run(command, ".", renamed)
    assert (inside.status, inside.stderr) == (0, "")
    assert outside.stdout and inside.stdout
    if command == "report":
        rows = [(out_of(folder) / "metadata_growth.csv").read_text().splitlines() for folder in (renamed.parent, renamed)]
        assert len(rows[0]) > 5
        # Without a meta.properties the cluster is called by its folder.
        assert [line.rpartition(",")[0] for line in rows[0]] == [line.rpartition(",")[0] for line in rows[1]]


@pytest.mark.parametrize("pattern", ["*.log", "*"])
def test_a_report_reads_the_files_of_a_pattern(renamed: Path, pattern: str) -> None:
    words = ["metadata_growth", str(renamed / pattern), "--out", "out", "--format", "csv"]
    done = run_main(report.main, words, cwd=renamed.parent)
    if pattern == "*":
        # What is no log was named too.
        assert done.status != 0 and done.stderr.count("\n") == 1
    else:
        assert (done.status, done.stderr) == (0, "")
        assert len((renamed.parent / "out/metadata_growth.csv").read_text().splitlines()) > 5


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "summary"])
def test_the_log_of_groups_is_one_line_where_metadata_was_wanted(command: str, tmp_path: Path) -> None:
    for path in (GROUPS, GROUPS / LOG):
        done = run(command, path, tmp_path)
        assert done.status != 0
        assert done.stderr.count("\n") == 1 and str(path) in done.stderr
        assert "groups (__consumer_offsets)" in done.stderr or "no metadata log here" in done.stderr
        assert done.stdout in (b"", b"name\n")


HOPELESS = {
    "nothing": lambda folder: None,
    "an empty segment": lambda folder: (folder / LOG).write_bytes(b""),
    "zeros": lambda folder: (folder / LOG).write_bytes(bytes(4096)),
    "a torn first batch": lambda folder: (folder / LOG).write_bytes((METADATA / LOG).read_bytes()[:40]),
    "small files": lambda folder: shutil.copy(METADATA / "quorum-state", folder),
}


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in SELDOM])
@pytest.mark.parametrize("what", HOPELESS)
def test_a_folder_in_which_nothing_is_found_is_one_line_and_no_answer(command: str, what: str, tmp_path: Path) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    HOPELESS[what](folder)
    done = run(command, folder, tmp_path)
    assert done.status != 0
    assert done.stdout == b""
    assert done.stderr.count("\n") == 1 and str(folder) in done.stderr
    assert not (tmp_path / "out").exists()


PACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: bytes(cramjam.zstd.compress(data)),
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
}


@pytest.mark.parametrize("suffix", quick(PACKED, 2))
def test_every_command_reads_what_is_packed_as_what_it_was(suffix: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain" / LOG, tmp_path / "packed" / f"{LOG}.{suffix}"
    for path in (plain, packed):
        path.parent.mkdir()
    plain.write_bytes((METADATA / LOG).read_bytes())
    packed.write_bytes(PACKED[suffix](plain.read_bytes()))
    for command in ("kafka-shell", "dump-log", "dump-log in Kafka's text", "sql"):
        want = run(command, plain, tmp_path)
        for path in (packed, packed.parent):
            done = run(command, path, tmp_path)
            assert (done.status, done.stderr) == (want.status, want.stderr.replace(str(plain), str(packed))), (command, path)
            assert done.stdout.replace(str(packed).encode(), str(plain).encode()) == want.stdout
    packed.write_bytes(packed.read_bytes()[:-20])
    for command in ("kafka-shell", "dump-log", "sql", "export", "report"):
        done = run(command, packed, tmp_path)
        assert done.status == 1, command
        assert f"stream is cut off at byte {packed.stat().st_size} of the compressed file" in done.stderr, command


@pytest.mark.parametrize("command", ["kafka-shell", "dump-log", "sql", "export", "report"])
@pytest.mark.parametrize("suffix", ["", ".zst"])
def test_a_file_without_anything_in_it_is_an_error(command: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"{LOG}{suffix}"
    path.write_bytes(PACKED["zst"](b"") if suffix else b"")
    for given in (path, "/dev/null"):
        done = run(command, given, tmp_path)
        assert done.status != 0 and done.stderr.count("\n") == 1 and str(given) in done.stderr
        assert done.stdout == b""


@pytest.mark.parametrize("command", ["export", "sql", "report"])
def test_a_log_that_is_damaged_where_it_begins_is_not_left_out(command: str, renamed: Path) -> None:
    damaged = renamed.parent / "damaged" / LOG
    damaged.parent.mkdir()
    damaged.write_bytes(b"\xff" * 100 + (METADATA / LOG).read_bytes())
    done = run(command, renamed.parent, renamed.parent)
    assert done.status == 1
    assert done.stderr.count("\n") == 1 and f"{damaged}: offset" in done.stderr


def test_a_table_or_report_of_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = run_main(sql.main, ["select topic from offset_commit", str(METADATA)], cwd=tmp_path)
    assert done.status == 1
    assert done.stderr == (
        f"metashell sql: {METADATA}: no log of groups (__consumer_offsets) here, which the table offset_commit is made from\n"
    )
    # A column may be called as a table that is not there.
    done = run_main(sql.main, ["select count(topic) > 0 as found from offset_commit", str(GROUPS), "-o", "csv"], cwd=tmp_path)
    assert (done.status, done.stdout) == (0, b"found\ntrue\n")
    done = run_main(export.main, [str(METADATA), "--out", "out", "--tables", "topic,offset_commit"], cwd=tmp_path)
    assert done.status == 1 and "which the table offset_commit is made from" in done.stderr
    assert not (tmp_path / "out").exists()
    done = run_main(report.main, ["group_commits", str(METADATA), "--out", "out"], cwd=tmp_path)
    assert done.status == 1
    assert done.stderr == f"metashell report: {METADATA}: no log of groups (__consumer_offsets) here, which group_commits is about\n"


def test_a_wrong_kind_of_log_is_one_line_whatever_becomes_of_faults(tmp_path: Path) -> None:
    for words in (["--on-error", "skip"], []):
        done = run_main(export.main, [str(METADATA / LOG), "--out", "out", "--log", "offsets", *words], cwd=tmp_path)
        assert (done.status, done.stderr) == (2, f"metashell export: {METADATA / LOG}: the metadata log, not {GROUP_LOG}\n")
        assert not (tmp_path / "out").exists()


def test_records_say_of_which_log_and_checkpoint_they_are(tmp_path: Path) -> None:
    text = "select distinct log, checkpoint from records order by all"
    done = run_main(sql.main, [text, str(STOPPED / "node-4"), str(STOPPED / "node-2"), "-o", "csv"], cwd=tmp_path)
    rows = done.stdout.decode().splitlines()[1:]
    assert {row.partition(",")[0] for row in rows} == {"metadata", "offsets", "share", "transactions"}
    assert all(row.startswith("metadata,") for row in rows if not row.endswith(","))


@pytest.mark.slow
def test_standard_input_is_known_by_its_content() -> None:
    line = command_line("metashell", "sql", "select log, count(*) > 0 as some from records group by all", "-", "-o", "csv")
    with open(GROUPS / LOG, "rb") as file:
        done = subprocess.run(line, stdin=file, capture_output=True, env=environment(), timeout=60, check=True)
    assert done.stdout == b"log,some\noffsets,true\n"
    line = command_line("dump-log", "--type", "OFFSET_COMMIT", "-")
    done = subprocess.run(line, input=(GROUPS / LOG).read_bytes(), capture_output=True, env=environment(), timeout=60, check=True)
    assert {json.loads(row)["type"] for row in done.stdout.splitlines()} == {"OFFSET_COMMIT"}
    line = command_line("dump-log", "--cluster-metadata-decoder", "-")
    done = subprocess.run(line, input=(GROUPS / LOG).read_bytes(), capture_output=True, env=environment(), timeout=60, check=False)
    want = f"dump-log: -: {GROUP_LOG}, not the metadata log: dump-log --offsets-decoder reads it\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", want)


@pytest.mark.parametrize(
    ("words", "types"),
    [
        (["--type", "TOPIC_RECORD", str(STOPPED / "node-4")], {"TOPIC_RECORD"}),
        (["--type", "OFFSET_COMMIT", str(STOPPED / "node-4")], {"OFFSET_COMMIT"}),
        (["--offsets-decoder", str(STOPPED / "node-4/d1")], None),
        (["--value", "isr", str(METADATA)], None),
    ],
)
def test_dump_log_finds_the_logs_and_the_decoder_that_are_meant(words: list[str], types: set[str] | None, tmp_path: Path) -> None:
    done = run_main(dump_log.main, words, cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.status, done.stderr) == (0, "")
    assert rows and {row["kind"] for row in rows} <= {"record", "control"}
    assert types is None or {row["type"] for row in rows} == types


def test_a_type_that_the_log_does_not_have_is_one_line(tmp_path: Path) -> None:
    done = run_main(dump_log.main, ["--type", "GROUP_METADATA", str(METADATA / LOG)], cwd=tmp_path)
    assert (done.status, done.stdout) == (1, b"")
    assert done.stderr == f"dump-log: {METADATA / LOG}: the metadata log has no record type GROUP_METADATA\n"
    done = run_main(dump_log.main, ["--type", "GROUP_METADATA", str(METADATA)], cwd=tmp_path)
    assert (done.status, done.stdout) == (1, b"")
    done = run_main(dump_log.main, ["--type", "GRUOP_METADATA", str(METADATA)], cwd=tmp_path)
    assert (done.status, done.stderr) == (2, "dump-log: --type: 'GRUOP_METADATA' is no record type (did you mean GROUP_METADATA?)\n")


def test_a_log_of_users_data_is_named_with_its_topic(tmp_path: Path) -> None:
    topic = tmp_path / "orders-3"
    topic.mkdir()
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (topic / LOG).write_bytes(write_batch(0, [Record(0, 5, b"k", b"v")], leader_epoch=1))
    want = "the log of topic orders, partition 3, not the metadata log: dump-log --print-data-log reads it"
    for path in (topic, topic / LOG):
        done = run_main(kafka_shell.main, ["-s", str(path), "ls"], cwd=tmp_path)
        assert (done.status, done.stdout, done.stderr) == (1, b"", f"kafka-shell: {path}: {want}\n")
    done = run_main(dump_log.main, ["--cluster-metadata-decoder", str(topic)], cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr) == (1, b"", f"dump-log: {topic / LOG}: {want}\n")
    done = run_main(dump_log.main, ["--value", "v", str(topic)], cwd=tmp_path)
    assert (done.status, json.loads(done.stdout)["value"]) == (0, "v")
    done = run_main(export.main, [str(tmp_path), "--out", str(out_of(tmp_path))], cwd=tmp_path)
    assert (done.status, done.stderr.count("\n")) == (1, 1)
    assert "no log whose records are known here, but 1 log of other topics" in done.stderr


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "dump-log in Kafka's text"])
def test_a_file_that_is_no_log_is_called_that(tmp_path: Path, command: str) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PNG)
    outcome = run(command, path, tmp_path)
    assert (outcome.status, outcome.stdout) == (1, b"")
    assert f"{path}: neither a log nor a checkpoint: byte 0: batch length 13 is below 14, 33 bytes left\n" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_log_under_another_name_whose_first_length_is_damaged_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    path.write_bytes(PNG[:12] + METADATA.joinpath(LOG).read_bytes()[12:])
    outcome = run("dump-log with a decoder", path, tmp_path)
    assert b'"kind":"corrupt"' in outcome.stdout
    assert "neither" not in outcome.stderr
