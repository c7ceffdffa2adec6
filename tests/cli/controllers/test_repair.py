"""metashell storage repair, as a user types it: what it shows and does, its status, and the ways it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.cli.main import main
from metashell.disk.names import METADATA_DIRECTORY
from tests.disk.mend_cases import tree_of
from tests.inspect.repair.test_plan import combined, dynamic, lost_state
from tests.metadata.diagnosis.disks import TOPIC
from tests.running import Outcome, run_main

LOG = f"{METADATA_DIRECTORY}/{0:020d}.log"


def repair(at: Path, *words: str) -> Outcome:
    return run_main(main, ["storage", "repair", *words], cwd=at)


def torn(at: Path) -> Path:
    place = combined(folders={"orders-0": TOPIC, "orders-1": None}).write(at / "d")
    (place / LOG).write_bytes((place / LOG).read_bytes() + bytes(50))
    return place


def test_a_dry_run_shows_what_the_repair_then_does_and_undo_takes_it_back(tmp_path: Path) -> None:
    place = torn(tmp_path)
    before = tree_of(place)
    shown = repair(tmp_path, "d", "--dry-run")
    assert (shown.status, shown.stderr) == (0, "")
    assert tree_of(place) == before
    text = shown.stdout.decode()
    assert "would cut" in text
    assert "would write orders-1/partition.metadata" in text
    done = repair(tmp_path, "d")
    assert done.status == 0
    assert "kept as: " + LOG + ".damaged-1" in done.stdout.decode()
    assert repair(tmp_path, "d").stdout.decode() == "d: nothing to repair\n"
    undone = repair(tmp_path, "d", "--undo")
    assert undone.stdout.decode() == f"d: 2 files as before the repair: {LOG}, orders-1/partition.metadata\n"
    assert tree_of(place) == before


def test_json_has_the_steps_and_what_is_left(tmp_path: Path) -> None:
    place = torn(tmp_path)
    shown = json.loads(repair(tmp_path, "d", "--dry-run", "-o", "json").stdout)
    assert (shown["type"], shown["dry_run"], shown["left"]) == ("storage_repair", True, [])
    assert [(step["check"], step["action"], step["kept_as"]) for step in shown["steps"]] == [
        ("torn_tail", "cut", None),
        ("no_topic_id", "write", None),
    ]
    done = json.loads(repair(tmp_path, "d", "-o", "json").stdout)
    assert [step["kept_as"] for step in done["steps"]] == [f"{LOG}.damaged-1", None]
    assert json.loads(repair(tmp_path, "d", "--undo", "-o", "json").stdout)["files"] == [step["file"] for step in done["steps"]]
    assert place.is_dir()


def test_what_cannot_be_proven_ends_with_status_1_and_a_next_step(tmp_path: Path) -> None:
    lost_state(dynamic(1).write(tmp_path / "d"))
    outcome = repair(tmp_path, "d")
    assert outcome.status == 1
    assert "next: name the directories of voter 2 and 3 with --from" in outcome.stdout.decode()
    assert not (tmp_path / "d" / "repair.json").exists()


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["missing"], 1, "missing: does not exist"),
        (["missing", "--undo"], 1, "missing: does not exist"),
        (["empty"], 1, "empty: has nothing of a log directory that could be repaired; metashell storage format makes a new one"),
        (["d", "--undo"], 1, "d: there is no repair to undo (repair.json is not there)"),
        (["d", "--undo", "--dry-run"], 2, "--undo takes no other option but -o"),
        (["d", "--from", "nowhere"], 1, "nowhere: does not exist"),
        (["d", "-c", "nowhere"], 1, "nowhere: No such file or directory"),
        ([f"d/{METADATA_DIRECTORY}"], 1, f"d/{METADATA_DIRECTORY}: is the metadata log itself; name the log directory above it"),
        ([], 2, "DIR"),
    ],
)
def test_bad_input_is_one_line_that_names_it(words: list[str], status: int, text: str, tmp_path: Path) -> None:
    combined().write(tmp_path / "d")
    (tmp_path / "empty").mkdir()
    outcome = repair(tmp_path, *words)
    assert outcome.status == status
    assert text in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_directory_whose_node_runs_is_refused(tmp_path: Path) -> None:
    place = torn(tmp_path)
    script = "import fcntl; f = open('d/.lock', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as node:
        assert node.stdout is not None
        node.stdout.readline()
        before = tree_of(place)
        for words in (["d"], ["d", "--dry-run"]):
            outcome = repair(tmp_path, *words)
            assert (outcome.status, outcome.stderr.count("in use by a running process")) == (1, 1)
        assert tree_of(place) == before
        node.communicate(b"\n")


def test_a_dry_run_of_an_interrupted_repair_says_so(tmp_path: Path) -> None:
    torn(tmp_path)
    repair(tmp_path, "d")
    journal = tmp_path / "d" / "repair.json"
    journal.write_text(journal.read_text().replace('"done"', '"begun"'))
    assert "a repair was interrupted" in repair(tmp_path, "d", "--dry-run").stderr
    again = repair(tmp_path, "d")
    assert "2 files as before the repair" in again.stderr
    assert "2 files changed" in again.stdout.decode()
