"""`metashell report` as a user runs it."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pytest

from metashell.cli.tables.report import main
from metashell.common.options import ANSWER_FORMS
from metashell.disk.names import METADATA
from metashell.tables.reports import REPORTS
from tests.golden_cases import SUBSET_ROOT
from tests.running import run_main

NODE = str(SUBSET_ROOT / "4.3.1/main/data/stopped/node-1")


def test_it_writes_the_wanted_forms_and_prints_their_names(tmp_path: Path) -> None:
    done = run_main(main, ["broker_sessions", NODE, "--out", "answers", "--format", "csv", "--format", "html"], cwd=tmp_path)
    assert (done.status, done.stdout) == (0, b"answers/broker_sessions.csv\nanswers/broker_sessions.html\n")
    assert (tmp_path / "answers/broker_sessions.csv").read_text().startswith("broker_id,rack,")


@pytest.mark.slow
def test_all_writes_each_report_in_each_form(tmp_path: Path) -> None:
    done = run_main(main, ["all", NODE, "--out", "."], cwd=tmp_path)
    report_count = sum(report.log == METADATA for report in REPORTS.values())
    assert (done.status, done.stdout.count(b"\n")) == (0, 1 + len(ANSWER_FORMS) * report_count)
    missing = "left out, no log of groups (__consumer_offsets) here: group_rebalances, group_commits, group_expiring"
    assert done.stderr == f"metashell report: {missing}\n"
    whole = run_main(main, ["all", str(Path(NODE).parent), "--out", "whole"], cwd=tmp_path)
    assert (whole.status, whole.stdout.count(b"\n"), whole.stderr) == (0, 1 + len(ANSWER_FORMS) * len(REPORTS), "")
    assert "not answered: no log of groups" in (tmp_path / "index.html").read_text()
    links = re.findall(r'<a href="([^"]+)"', (tmp_path / "whole/index.html").read_text())
    assert {f"{name}.html" for name in REPORTS} == set(links)
    assert '<a href="index.html">' in (tmp_path / "whole/timeline.html").read_text()


def test_a_report_is_found_by_its_former_name_too(tmp_path: Path) -> None:
    whole = str(Path(NODE).parent)
    done = run_main(main, ["group_commits", whole], cwd=tmp_path)
    assert done.status == 0 and run_main(main, ["group_offsets", whole], cwd=tmp_path).stdout == done.stdout


def test_without_a_directory_it_prints_a_table_for_people(tmp_path: Path) -> None:
    done = run_main(main, ["broker_sessions", NODE], cwd=tmp_path)
    lines = done.stdout.decode().splitlines()
    assert (done.status, done.stderr, list(tmp_path.iterdir())) == (0, "", [])
    assert lines[0] == "Broker sessions, cluster Z29sZGVuLW1haW4tY2x1cw"
    assert lines[1].split()[:5] == ["BROKER_ID", "RACK", "ENDED_BY", "LASTED", "REGISTERED_AT"]
    assert [line.split()[2] for line in lines[2:5]] == ["open"] * 3, "open ones come first"
    assert lines[2].split()[:8] == ["6", "-", "open", "1", "min", "40", "s", "2026-11-21T00:24:17Z"]
    assert lines[-1] == "3 rows were open at 2026-11-21T00:25:58Z, the end of the log; the longest for 4 min 35 s by then."
    assert run_main(main, ["broker_sessions", NODE, "--out", "-"], cwd=tmp_path).stdout == done.stdout


@pytest.mark.parametrize("form", ANSWER_FORMS)
def test_standard_output_has_what_a_file_has(tmp_path: Path, form: str) -> None:
    run_main(main, ["controller_elections", NODE, "--out", "here", "--format", form], cwd=tmp_path)
    done = run_main(main, ["controller_elections", NODE, "--out", "-", "--format", form], cwd=tmp_path)
    assert (done.status, done.stdout) == (0, (tmp_path / f"here/controller_elections.{form}").read_bytes())


@pytest.mark.slow
def test_all_on_standard_output_says_which_rows_are_from_which_report(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in run_main(main, ["all", NODE, "-o", "jsonl"], cwd=tmp_path).stdout.splitlines()]
    assert {row["report"] for row in rows} == {report.name for report in REPORTS.values() if report.log == METADATA}
    alone = run_main(main, ["timeline", NODE, "-o", "csv"], cwd=tmp_path).stdout.decode()
    assert len(list(csv.DictReader(StringIO(alone)))) == sum(row["report"] == "timeline" for row in rows)
    assert "Timeline, cluster" in (table := run_main(main, ["all", NODE], cwd=tmp_path).stdout.decode())
    assert table.count("\n\n") == len({row["report"] for row in rows}) - 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["all", NODE, "-o", "csv"], "csv holds one report: name one, or write all with --out DIR"),
        (["timeline", NODE, "-o", "csv", "-o", "json"], "standard output takes one form, not csv and json; --out DIR writes several"),
        (["timeline", NODE, "--out", "x", "-o", "table"], "table is for standard output; --out writes parquet, csv, json, html"),
    ],
)
def test_forms_that_cannot_be_meant_are_a_wrong_command_line(tmp_path: Path, words: list[str], says: str) -> None:
    done = run_main(main, words, cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr, list(tmp_path.iterdir())) == (2, b"", f"metashell report: {says}\n", [])


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
    assert done.stderr.endswith("; --on-error skip leaves it out and goes on\n")
    assert not (tmp_path / "out").exists()
    skipped = run_main(main, [*words, "--on-error", "skip"], cwd=tmp_path)
    assert skipped.status == 1
    assert (tmp_path / "out/topic_history.csv").exists()


def test_a_file_is_no_place_for_answers(tmp_path: Path) -> None:
    (tmp_path / "pic.png").write_bytes(b"")
    done = run_main(main, ["topic_history", NODE, "--out", "pic.png", "--format", "csv"], cwd=tmp_path)
    assert (done.status, done.stderr) == (1, "metashell report: pic.png: Not a directory\n")
