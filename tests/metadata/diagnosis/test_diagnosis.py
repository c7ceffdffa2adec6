"""What a person reaches for first tells each trouble with its facts, and says nothing bad of a sound cluster; no two commands differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metashell.cli.main import main
from tests.metadata.diagnosis.situations import HEALTHY, TROUBLES, Situation
from tests.running import Outcome, run_main


def run(at: Path, *words: str) -> Outcome:
    return run_main(main, words, cwd=at)


def findings(outcome: Outcome) -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    return {row["kind"]: row for row in rows if row["type"] == "health"}


def causes(found: dict[str, dict[str, object]], severity: str) -> set[str]:
    return {kind for kind, row in found.items() if row["severity"] == severity and row["follows_from"] is None}


@pytest.mark.parametrize("situation", TROUBLES.values(), ids=TROUBLES)
def test_a_trouble_is_told_with_its_facts(situation: Situation, tmp_path: Path) -> None:
    words = situation.make(tmp_path)
    found = findings(run(tmp_path, "health", *words, "-o", "jsonl"))
    assert causes(found, "bad") == situation.bad
    assert situation.unusual <= found.keys()
    told = run(tmp_path, "health", *words)
    text = told.stdout.decode()
    assert told.status == (1 if situation.bad else 0)
    assert [fact for fact in situation.facts if fact not in text] == []
    # What is bad of the disks is told by whoever reads them; nobody says that all is well.
    start = run(tmp_path, "verify", "--start-safe", *words)
    answer = start.stdout.decode()
    assert not situation.refused or (start.status == 1 and "would not start" in answer and "would start (" not in answer)
    if situation.bad:
        assert any(kind in answer for kind in situation.bad), answer
        assert any(kind in run(tmp_path, "verify", *words[: _paths(words)]).stdout.decode() for kind in situation.bad) or "-c" in words


@pytest.mark.parametrize("situation", HEALTHY.values(), ids=HEALTHY)
def test_a_sound_cluster_is_told_nothing_bad(situation: Situation, tmp_path: Path) -> None:
    words = situation.make(tmp_path)
    outcome = run(tmp_path, "health", *words, "-o", "jsonl")
    found = findings(outcome)
    assert (causes(found, "bad"), outcome.status) == (set(), 0)
    assert situation.unusual <= found.keys()
    assert not found.keys() & {"fenced", "leaderless", "under_replicated", "moved_voter", "left_throttles", "zk_migration"}
    start = run(tmp_path, "verify", "--start-safe", *words)
    assert ("would not start" in start.stdout.decode(), "not work" in start.stdout.decode()) == (False, False)


def _paths(words: object) -> int:
    assert isinstance(words, list)
    return words.index("-c") if "-c" in words else len(words)
