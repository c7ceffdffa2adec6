"""The two layouts of a formatted directory: which one is written, and what verifying says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.cli.inspect.checks import verify_main as verify
from tests.disk.storage.formatting import FIRST, FORMAT, configured, kafkas, ours
from tests.running import run_main


@pytest.mark.parametrize(
    ("words", "layout", "warns"),
    [
        ((), "4.4", False),
        (("-r", "4.4-IV0"), "4.4", False),
        # Who asks for an older release may start an older server, which reads its own layout only.
        (("-r", "4.3"), "4.3", False),
        (("-f", "metadata.version=7"), "4.3", False),
        (("-r", "4.3", "--layout", "4.4"), "4.4", True),
        (("--layout", "4.3"), "4.3", False),
    ],
)
def test_the_layout_follows_the_release_unless_it_is_asked_for(folder: Path, words: tuple[str, ...], layout: str, warns: bool) -> None:
    outcome = ours(folder, *FORMAT, "-s", *words)
    assert outcome.status == 0
    assert (folder / "d1" / "bootstrap.checkpoint").exists() == (layout == "4.3")
    assert (b"metadata.version" in (folder / FIRST).read_bytes()) == (layout == "4.4")
    assert ("only servers from 4.4 on take the records of this layout into the log" in outcome.stderr) == warns


def test_kafkas_voice_writes_the_newest_layout_at_every_level_and_an_older_one_where_it_is_asked_for(folder: Path) -> None:
    outcome = kafkas(folder, *FORMAT, "-s", "-r", "4.2")
    assert outcome.status == 0
    assert not (folder / "d1" / "bootstrap.checkpoint").exists()
    assert "only servers from 4.4 on take the records of this layout into the log" in outcome.stderr
    other = configured(folder, "d2")
    assert kafkas(other, *FORMAT, "-s", "--layout", "4.3").status == 0
    assert (folder / "d2" / "bootstrap.checkpoint").exists()


@pytest.mark.parametrize("layout", ["4.4", "4.3"])
@pytest.mark.parametrize("quorum", ["-N", "-s"])
def test_verify_takes_formatted_directories_for_what_they_are(folder: Path, layout: str, quorum: str) -> None:
    for name, words in (("d1", [quorum]), ("d2", ["-N"])):
        configured(folder, f"all/{name}")
        # Each format makes salts of its own.
        assert ours(folder, *FORMAT, *words, "--layout", layout, "-S", "SCRAM-SHA-256=[name=alice,password=p]").status == 0
    second = folder / "all" / "d2" / "meta.properties"
    second.write_text(second.read_text().replace("node.id=1", "node.id=2"))
    for words in (["all"], ["--start-safe", "all/d1"], ["--start-safe", "all/d2"]):
        outcome = run_main(verify, words, cwd=folder)
        assert (outcome.status, outcome.stderr) == (0, ""), outcome
        assert b"fine" in outcome.stdout
