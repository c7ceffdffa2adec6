"""What writes answers into files writes none into what it reads, whatever the option is called and however the place is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import metashell.demo
from metashell.cli.cluster import reassign, rehearse
from metashell.cli.inspect import bundle
from metashell.cli.tables import export, report
from tests.running import run_main

LOG = "source/__cluster_metadata-0"
LINES = [
    (export.main, ["export", "--format", "csv", "source", "--out"]),
    (report.main, ["report", "topic_history", "--format", "csv", "source", "--out"]),
    (bundle.main, ["bundle", "source", "--out"]),
    (bundle.main, ["bundle", "source", "--out", "case.tar.gz", "--anonymise", "--mapping"]),
    (rehearse.main, ["rehearse", "--snapshot", "source", "kill-broker", "4", "--html"]),
    (reassign.main, ["reassign", "plan", "--snapshot", "source", "--out"]),
]


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, b"" if path.is_dir() else path.read_bytes()) for path in folder.rglob("*")}


@pytest.mark.parametrize("place", ["source/new", f"{LOG}/new", "link/new", "other/__cluster_metadata-0/new"])
@pytest.mark.parametrize(("main", "words"), LINES)
def test_no_answer_goes_into_a_directory_of_logs(tmp_path: Path, main, words: list[str], place: str) -> None:
    for name in ("source", "other"):
        shutil.copytree(Path(metashell.demo.__file__).parent / "data", tmp_path / name)
    # What lies in a source is refused without the marks of a directory of logs, too.
    for mark in ("meta.properties", "__cluster_metadata-0/quorum-state", "__cluster_metadata-0/partition.metadata"):
        (tmp_path / "source" / mark).unlink(missing_ok=True)
    (tmp_path / "link").symlink_to("source/__cluster_metadata-0")
    before = listing(tmp_path)
    done = run_main(main, [*words[1:], place], cwd=tmp_path)
    assert (done.status, done.stdout) == (1, b"")
    assert "metadata directory, which is only read" in done.stderr and place in done.stderr
    assert listing(tmp_path) == before
    assert run_main(main, [*words[1:], "beside"], cwd=tmp_path).status in (0, 1)
    assert (tmp_path / "beside").exists()
