"""Where no more can be written, one line names the file or the folder, and nothing half done stays.

A limit on the size of files stands in for a disk that is full: the system refuses the same calls, with another word.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from metashell.demo import demo_directory
from tests.running import REPOSITORY, command_line

LIMIT_BYTES = 1500
REASON = "File too large"


def refused(module: str, *words: str, cwd: Path) -> str:
    """What a command says, without its name, where files can have so many bytes."""
    done = subprocess.run(
        command_line(f"metashell.cli.{module}", *words),
        cwd=cwd,
        env={**os.environ, "TMPDIR": str(cwd / "tmp"), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES)),
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done
    return done.stderr.partition(": ")[2].rstrip()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.mark.parametrize(("form", "jobs"), [("parquet", "1"), ("parquet", "2"), ("arrow", "1"), ("csv", "1"), ("jsonl", "1")])
def test_an_export_names_its_file_and_leaves_none(place: Path, form: str, jobs: str) -> None:
    told = refused("export", "-q", "-j", jobs, "-f", form, demo_directory(), "--out", "out", cwd=place)
    assert told.startswith("out/") and told.endswith(f": {REASON}")
    assert not (place / "out").exists()


def test_an_answer_names_its_file_and_leaves_none(place: Path) -> None:
    code = "import resource; from metashell.stores import open_store; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)); "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}open_store('out').put('x/y.csv', bytes(100_000))"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == f"metashell.errors.PathError: out/x/y.csv: {REASON}"
    assert not any((place / "out/x").iterdir())


def test_a_bundle_names_the_folder_where_it_is_put_together(place: Path) -> None:
    told = refused("bundle", demo_directory(), "--out", "case.tar.gz", cwd=place)
    assert told == f"{place}/tmp: {REASON} (the folder for temporary files; TMPDIR names another)"
    assert os.listdir(place) == ["tmp"] and os.listdir(place / "tmp") == []


@pytest.mark.parametrize(
    ("module", "words"),
    [("sql", ["select count(*) from partition"]), ("report", ["topic_history", "--format", "csv", "--out", "out"])],
)
def test_questions_and_reports_name_the_folder_of_their_tables(place: Path, module: str, words: list[str]) -> None:
    told = refused(module, *words, demo_directory(), cwd=place)
    assert told == f"{place}/tmp: {REASON} (the folder for temporary files; TMPDIR names another)"
    assert os.listdir(place / "tmp") == []


def test_a_page_names_its_file(place: Path) -> None:
    told = refused("rehearse", "-s", demo_directory(), "kill-broker", "4", "--html", "page.html", cwd=place)
    assert told == f"page.html: {REASON}"
