"""`metashell report` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.report import main
from metashell.log.kinds import METADATA
from metashell.options.report_tools import FORMS
from metashell.reports import REPORTS
from tests.golden_cases import SUBSET_ROOT
from tests.running import run_main

NODE = str(SUBSET_ROOT / "4.3.1/main/data/stopped/node-1")


def test_it_writes_the_wanted_forms_and_prints_their_names(tmp_path: Path) -> None:
    done = run_main(main, ["broker_sessions", NODE, "--out", "answers", "--format", "csv", "--format", "html"], cwd=tmp_path)
    assert (done.status, done.stdout) == (0, b"answers/broker_sessions.csv\nanswers/broker_sessions.html\n")
    assert (tmp_path / "answers/broker_sessions.csv").read_text().startswith("cluster_id,broker_id,")


@pytest.mark.slow
def test_all_writes_each_report_in_each_form(tmp_path: Path) -> None:
    done = run_main(main, ["all", NODE, "--out", "."], cwd=tmp_path)
    assert (done.status, done.stdout.count(b"\n")) == (0, len(FORMS) * sum(report.log == METADATA for report in REPORTS.values()))
    missing = "left out, no log of groups (__consumer_offsets) here: group_rebalances, group_offsets, group_expiring"
    assert done.stderr == f"metashell report: {missing}\n"
    whole = run_main(main, ["all", str(Path(NODE).parent), "--out", "whole"], cwd=tmp_path)
    assert (whole.status, whole.stdout.count(b"\n"), whole.stderr) == (0, len(FORMS) * len(REPORTS), "")


def test_an_unknown_report_is_one_line_that_lists_the_known_ones(tmp_path: Path) -> None:
    done = run_main(main, ["nope", NODE, "--out", "."], cwd=tmp_path)
    assert (done.status, done.stderr.count("\n")) == (2, 1)
    assert "under_replicated" in done.stderr


def test_a_corrupt_file_is_one_line_and_leaves_no_answer(tmp_path: Path) -> None:
    data = bytearray(Path(NODE, "d1/__cluster_metadata-0/00000000000000000000.log").read_bytes())
    data[200] ^= 1
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    words = ["topic_history", "00000000000000000000.log", "--out", "out", "--format", "csv"]
    done = run_main(main, words, cwd=tmp_path)
    assert (done.status, done.stderr.count("\n")) == (1, 1)
    assert "00000000000000000000.log: offset 3" in done.stderr
    assert not (tmp_path / "out").exists()
    skipped = run_main(main, [*words, "--on-error", "skip"], cwd=tmp_path)
    assert skipped.status == 1
    assert (tmp_path / "out/topic_history.csv").exists()


def test_a_file_is_no_place_for_answers(tmp_path: Path) -> None:
    (tmp_path / "pic.png").write_bytes(b"")
    done = run_main(main, ["topic_history", NODE, "--out", "pic.png", "--format", "csv"], cwd=tmp_path)
    assert (done.status, done.stderr) == (1, "metashell report: pic.png: Not a directory\n")
