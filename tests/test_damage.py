"""Every damaged file of the golden set in our own voice: all that decodes before and after the fault, and the fault.

What must be given is found by a walk that shares no code with ours: the records of all batches that the sizes still frame
and whose bytes the CRC vouches for. What they say is compared with the same records in the undamaged file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from metashell.cli.inspect import dump_log, kafka_shell
from metashell.cli.kafka import file_tools
from tests import plain_walk as plain
from tests.golden_cases import PREVIOUS, VERSIONS, golden_root
from tests.running import Outcome, run_main

pytestmark = pytest.mark.golden

ROOT = golden_root()
FILES = [
    path
    for version in VERSIONS
    for path in sorted((ROOT / version / "damage" / "data").glob("*/*"))
    if ".log" in path.name or ".checkpoint" in path.name or path.name == "log"
]


@dataclass(frozen=True, slots=True)
class Intact:
    """What a file holds that can be trusted: the offsets of data records that parse, and whether that is all of it."""

    offsets: tuple[int, ...]
    batches: tuple[plain.PlainBatch, ...]
    is_whole: bool


@cache
def intact_part(path: Path) -> Intact:
    """Walk the damaged file plainly."""
    data = path.read_bytes()
    good: list[plain.PlainBatch] = []
    offsets: list[int] = []
    is_whole = plain.framed_size(data) == len(data)
    for batch in plain.batches(data):
        try:
            found = [record.offset for record in batch.records()] if batch.is_intact and not batch.data[22] & 7 else None
        except (IndexError, AssertionError):
            found = None
        if found is None or len(found) != batch.counted:
            is_whole = False
            continue
        good.append(batch)
        if not batch.is_control:
            offsets += found
    return Intact(tuple(offsets), tuple(good), is_whole)


def label(path: Path) -> str:
    return "/".join((path.parts[-5], path.parts[-2], path.name[-15:]))


@cache
def dump(path: Path) -> Outcome:
    return run_main(dump_log.main, ["--cluster-metadata-decoder", str(path)], cwd=path.parent)


def rows(outcome: Outcome) -> list[dict]:
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def assert_named(outcome: Outcome, path: Path) -> None:
    """Standard error names the file and a place in it, and the status is that of a fault."""
    assert outcome.status == 1
    assert re.search(rf"{re.escape(path.name)}: .*(offset|position|byte) -?\d+", outcome.stderr), outcome.stderr


@pytest.mark.parametrize("path", FILES, ids=label)
def test_dump_log_gives_all_that_is_intact(path: Path) -> None:
    outcome = dump(path)
    assert "Traceback" not in outcome.stderr
    expected = intact_part(path)
    given = [row["offset"] for row in rows(outcome) if row["kind"] in ("record", "corrupt")]
    missing = [offset for offset in expected.offsets if offset not in given]
    assert not missing, outcome.stderr
    if not expected.is_whole:
        assert_named(outcome, path)


@pytest.mark.parametrize("path", [path for path in FILES if path.parts[-2].startswith(("cut", "flip", "zero-tail"))], ids=label)
def test_intact_records_say_what_they_said_in_the_undamaged_file(path: Path) -> None:
    base = next((path.parents[1] / ("base-checkpoint" if path.suffix == ".checkpoint" else "base-log")).iterdir())
    before = {batch.data for batch in plain.batches(base.read_bytes())}
    unchanged = [batch for batch in intact_part(path).batches if batch.data in before and not batch.is_control]
    original = {row["offset"]: {**row, "file": path.name} for row in rows(dump(base)) if row["kind"] == "record"}
    given = [{**row, "file": path.name} for row in rows(dump(path)) if row["kind"] == "record"]
    assert unchanged or path.suffix == ".checkpoint" or path.stat().st_size < 4000
    for batch in unchanged:
        for record in batch.records():
            assert original[record.offset] in given


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_shell_shows_what_the_intact_batches_say(path: Path, tmp_path: Path) -> None:
    argv = ["--snapshot", str(path), "find", "/image/topics", "/image/cluster", "/image/configs", "/image/acls"]
    outcome = run_main(kafka_shell.main, argv, cwd=path.parent)
    assert "Traceback" not in outcome.stderr
    assert b"Traceback" not in outcome.stdout
    expected = intact_part(path)
    if not expected.is_whole:
        assert_named(outcome, path)
    # The same batches alone, in a file of their own, give the same tree.
    alone = tmp_path / path.name
    alone.write_bytes(b"".join(batch.data for batch in expected.batches))
    again = run_main(kafka_shell.main, ["--snapshot", str(alone), *argv[2:]], cwd=tmp_path)
    if path.parts[-2] in PARTLY_READ:
        assert set(again.stdout.splitlines()) < set(outcome.stdout.splitlines())
    else:
        assert outcome.stdout == again.stdout


@pytest.mark.parametrize("path", [path for path in FILES if PREVIOUS in path.parts], ids=label)
def test_the_shell_of_kafkas_name_never_hangs_and_ends_with_status_0(path: Path) -> None:
    outcome = run_main(file_tools.shell_main, ["--snapshot", str(path), "find", "/local"], cwd=path.parent)
    assert (outcome.status, outcome.stdout) == (0, b"/local\n/local/commitId\n/local/version\n")
    assert "Traceback" not in outcome.stderr
    if not intact_part(path).is_whole:
        assert path.name in outcome.stderr


# A batch that counts one record more than it has: the plain walk does not trust it, ours shows the record that is there.
PARTLY_READ = {"craft-batch-count-too-big"}
