"""Where no more can be written, one line names the file or the folder, and nothing half done stays.

A limit on the size of files stands in for a disk that is full: the system refuses the same calls, with another word.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest

from metashell.cli.main import tool_of
from metashell.demo import demo_directory
from metashell.tables.stores import open_store
from tests.running import REPOSITORY, run_main

LIMIT_BYTES = 1500
REASON = "File too large"


def refused(module: str, *words: str, cwd: Path, limit: int = LIMIT_BYTES) -> str:
    """What a command says, without its name, where files can have so many bytes."""
    main = tool_of(module)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with patch.dict(os.environ, TMPDIR=str(cwd / "tmp")), patch.object(tempfile, "tempdir", None):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            done = run_main(main, words, cwd=cwd)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (done.status, done.stdout, done.stderr.count("\n")) == (1, b"", 1), done
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


@pytest.mark.parametrize(("form", "limit"), [("parquet", 15_500), ("parquet", 16_500), ("csv", 5_000)])
def test_an_export_whose_first_tables_were_written_names_the_next(place: Path, form: str, limit: int) -> None:
    told = refused("export", "-q", "-j", "1", "-f", form, demo_directory(), "--out", "out", cwd=place, limit=limit)
    assert told.startswith("out/") and told.endswith(f": {REASON}")
    assert [path for path in place.rglob("*.part") if path.is_file()] == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_append_names_its_file_and_leaves_none(place: Path, jobs: str) -> None:
    told = refused("export", "--append", "-q", "-j", jobs, demo_directory(), "--out", "out", cwd=place)
    assert told.startswith("out/") and told.endswith(f": {REASON}")
    assert [path for path in place.rglob("out/**/*") if path.is_file()] == []


def test_an_append_to_a_store_names_the_folder_of_its_parts(place: Path, s3: str) -> None:
    told = refused("export", "--append", "-q", "-j", "1", demo_directory(), "--out", f"{s3}/out", cwd=place)
    assert told == f"{place}/tmp: {REASON} (the folder for temporary files; TMPDIR names another)"
    assert os.listdir(place / "tmp") == []
    assert open_store(f"{s3}/out").files() == []


def test_an_answer_names_its_file_and_leaves_none(place: Path) -> None:
    code = "import resource; from metashell.tables.stores import open_store; resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)); "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}open_store('out').put('x/y.csv', bytes(100_000))"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == f"metashell.common.errors.PathError: out/x/y.csv: {REASON}"
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
    gc.collect()  # as the end of a process does
    assert os.listdir(place / "tmp") == []


def test_a_page_names_its_file(place: Path) -> None:
    told = refused("rehearse", "-s", demo_directory(), "kill-broker", "4", "--html", "page.html", cwd=place)
    assert told == f"page.html: {REASON}"
