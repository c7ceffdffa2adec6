"""`metashell verify` as a user runs it: lines, JSON, statuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from metashell.demo import demo_directory
from tests.cli.conftest import Run, command_line, environment

CHECKPOINT = "00000000000000000329-0000000001.checkpoint"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A copy of the demo directory in which one byte of the last segment is another."""
    folder = tmp_path / "copy"
    shutil.copytree(demo_directory(), folder)
    log = sorted((folder / "__cluster_metadata-0").glob("*.log"))[-1]
    os.chmod(log, 0o644)
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    return log


def test_a_sound_directory_has_status_0_and_a_summary(run: Run):
    done = run("metashell", "verify", "--deep", demo_directory())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(": fine\n")
    checks, _ = done.stdout.splitlines()
    assert " checks of what the files say of each other: found nothing; not run: " in checks


def test_findings_are_lines_with_place_and_severity_and_status_1(run: Run, damaged: Path):
    done = run("metashell", "verify", str(damaged.parent.parent))
    assert done.returncode == 1
    line, *_, summary = done.stdout.splitlines()
    assert line.startswith(f"{damaged}: byte 0: offset 251: error: CRC-32C ")
    assert summary.endswith(": 1 error, 0 warnings")


def test_json_is_one_value_and_jsonl_an_object_a_line(run: Run, damaged: Path):
    done = run("metashell", "verify", "-o", "json", "--digest", str(damaged), demo_directory())
    value = json.loads(done.stdout)
    assert done.returncode == 1
    assert set(value) == {"findings", "compared", "digests", "checks", "summary"}
    assert value["compared"] == {"offset": 329, "certain": True}  # the checkpoint of the demo; the segment beside it goes on to 521
    first = value["findings"][0]
    assert set(first) == {"kind", "file", "position", "offset", "severity", "what"}
    assert (first["file"], first["position"], first["offset"], first["severity"]) == (str(damaged), 0, 251, "error")
    assert set(value["digests"][0]) == {"kind", "file", "end_offset", "epoch", "digest"}
    assert set(value["summary"]) == {"fine", "directories", "files", "batches", "records", "index_entries", "findings"}
    rows = [json.loads(line) for line in run("metashell", "verify", "-o", "jsonl", "--digest", str(damaged)).stdout.splitlines()]
    assert rows[0] == first
    assert [row["kind"] for row in rows][-2:] == ["digest", "summary"]
    assert json.loads(run("metashell", "verify", "-o", "json", demo_directory()).stdout)["findings"] == []


def test_a_checkpoint_and_the_log_it_was_made_from_have_one_digest(run: Run):
    checkpoint = os.path.join(demo_directory(), "__cluster_metadata-0", CHECKPOINT)
    done = run("metashell", "verify", "--digest", "329", demo_directory(), checkpoint)
    assert done.returncode == 0
    first, second, *_ = done.stdout.splitlines()
    assert first.split("sha256:")[1] == second.split("sha256:")[1]
    assert first.endswith(" at offset 329")
    at_the_end = run("metashell", "verify", "--digest", demo_directory()).stdout
    assert at_the_end.split("sha256:")[1] != first.split("sha256:")[1]
    assert run("metashell", "verify", "--digest=329", demo_directory()).stdout.startswith(first)


def test_digests_that_differ_at_the_same_offset_are_a_finding(run: Run, tmp_path: Path):
    source = os.path.join(demo_directory(), "__cluster_metadata-0", CHECKPOINT)
    other = tmp_path / CHECKPOINT
    data = Path(source).read_bytes()
    other.write_bytes(without_one_batch(data))
    done = run("metashell", "verify", "--digest", source, str(other))
    assert done.returncode == 1
    assert f"{other}: offset 329: error: the image at offset 329 is not that of {source}" in done.stdout


def without_one_batch(data: bytes) -> bytes:
    """A checkpoint's header and footer alone."""
    starts = [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + 12 + int.from_bytes(data[starts[-1] + 8 : starts[-1] + 12], "big"))
    return data[: starts[1]] + data[starts[-2] :]


@pytest.mark.parametrize("offset", ("99999999", "3"))
def test_an_offset_that_is_not_there_is_a_finding(run: Run, offset: str):
    checkpoint = os.path.join(demo_directory(), "__cluster_metadata-0", CHECKPOINT)
    done = run("metashell", "verify", "--digest", offset, checkpoint)
    assert done.returncode == 1
    assert f"no image at offset {offset}" in done.stdout


def test_a_missing_path_is_a_finding_and_the_others_are_checked(run: Run):
    done = run("metashell", "verify", "nowhere", demo_directory())
    assert done.returncode == 1
    assert done.stdout.startswith("nowhere: error: No such file or directory\n")


def test_wrong_command_lines_have_status_2(run: Run):
    for words in ((), ("--digest=x", "."), ("-o", "csv", "."), ("--nope", ".")):
        done = run("metashell", "verify", *words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("metashell verify: ")
        assert done.stderr.count("\n") == 1


def test_standard_input_is_read_once(run: Run, segment: str):
    for words in (["verify", "-"], ["verify", "--digest", "-"]):
        with open(segment, "rb") as stdin:
            done = subprocess.run(
                command_line("metashell", *words), stdin=stdin, capture_output=True, env=environment(), check=False, timeout=60
            )
        assert b"Traceback" not in done.stderr
        assert done.stdout.count(b"\n") >= 1


def test_help_names_the_command_as_it_is_called(run: Run):
    assert run("metashell", "verify", "--help").stdout.startswith("metashell verify - ")


def test_hostile_names_do_not_reach_the_terminal(run: Run, tmp_path: Path):
    path = tmp_path / "a\x1b[31m\n.log"
    path.write_bytes(b"x")
    done = run("metashell", "verify", str(path))
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") == 2
