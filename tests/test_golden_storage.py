"""Every golden case of Kafka's storage tool: status, standard output, what it says on stderr, and the files it leaves."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.kafka.file_tools import storage_main
from tests.disk.storage_cases import cases, comparable_stdout, content, listing, set_up
from tests.golden_cases import own_lines
from tests.running import Outcome, run_main
from tests.seeds import shows

# Where Kafka repeats what may be a part of a password, ours does not.
SECRETIVE = re.compile(r"^scram-bad-")
EXCEPTION = re.compile(r"^(?:Exception in thread \"main\" )?[\w.$]+(?:Exception|Error): (.*)", re.MULTILINE)
JAVA_IO = "java.nio.file."
OFFLINE = [case for case in cases() if "cluster" not in case]
CLUSTERS = ("main",)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The surroundings of the golden runs: the zone's name is a part of meta.properties, the width one of usage lines."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("COLUMNS", raising=False)


@shows("KIP-631/storage-tool", "KIP-631/meta-properties")
@pytest.mark.parametrize("case", OFFLINE, ids=[case["id"] for case in OFFLINE])
def test_the_answer_and_the_files_are_kafkas(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    set_up(case, folder)
    before = {name: (folder / name).read_bytes() for name, size in listing(folder).items() if size is not None}
    outcome = run_main(storage_main, case["argv"], cwd=folder)
    compare_answer(case, outcome)
    compare_files(case, folder, before, tmp_path)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_answers_while_a_cluster_was_made_are_kafkas(cluster: str, tmp_path: Path) -> None:
    for case in cases():
        if case.get("cluster") == cluster:
            set_up(case, tmp_path)
            compare_answer(case, run_main(storage_main, case["argv"], cwd=tmp_path))


def compare_answer(case: dict[str, Any], outcome: Outcome) -> None:
    """Status and standard output; of a usage on standard error the wording is not Kafka's to the letter."""
    assert outcome.status == case["exit"], outcome
    if "usage:" in case["stdout"]:
        assert outcome.stdout.decode() == case["stdout"]
    if "usage:" in case["stdout"] + case["stderr"]:
        assert bool(outcome.stderr) == bool(case["stderr"])
        return
    if case["argv"][0].startswith("rand"):
        assert re.fullmatch(rb"[A-Za-z0-9_][A-Za-z0-9_-]{21}\n", outcome.stdout)
        return
    assert comparable_stdout(outcome.stdout.decode(), case) == comparable_stdout(case["stdout"], case)
    compare_complaint(case, outcome)


def compare_complaint(case: dict[str, Any], outcome: Outcome) -> None:
    """What Kafka says in one line, ours says in the same line; of a stack trace the message is in ours."""
    if SECRETIVE.match(case["id"]):
        assert outcome.stderr
        return
    for line in own_lines(case["stderr"]):
        assert line in outcome.stderr
    if case.get("trace") and JAVA_IO not in case["stderr"]:
        message = EXCEPTION.search(case["stderr"])
        assert message is not None
        assert message[1] in outcome.stderr


def compare_files(case: dict[str, Any], folder: Path, before: dict[str, bytes], scratch: Path) -> None:
    """The files and their sizes, what those that were there still hold, and what the new ones mean."""
    sizes = dict(case["files"])
    found = listing(folder)
    if "stdout" in case["varies"]:
        # A random salt has 25 or 26 characters.
        sizes = {name: size if not name.endswith(".checkpoint") else found.get(name) for name, size in sizes.items()}
    assert found == sizes
    for name, data in before.items():
        assert (folder / name).read_bytes() == data
    for name, encoded in (case["after"] or {}).items():
        if encoded is not None and name not in before:
            ours = content(scratch / "ours" / name, (folder / name).read_bytes())
            assert ours == content(scratch / "theirs" / name, base64.b64decode(encoded)), name
            mode = 0o400 if "__cluster_metadata" in name else 0o644
            assert (folder / name).stat().st_mode & 0o777 == mode
