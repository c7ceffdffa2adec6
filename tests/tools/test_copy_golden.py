"""The committed golden set: up to date, small enough, and enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden_cases import SUBSET_ROOT, read_cases
from tools import copy_golden


@pytest.mark.slow
def test_the_committed_set_is_what_the_script_makes(full_golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert copy_golden.main(["--check"]) == 0, capsys.readouterr().out


def test_golden_data_stays_below_twenty_megabytes() -> None:
    assert sum(path.stat().st_size for path in SUBSET_ROOT.parent.rglob("*") if path.is_file()) < 20_000_000


def test_every_part_says_where_it_came_from() -> None:
    for part in copy_golden.PARTS:
        assert "golden set" in (SUBSET_ROOT / part.folder / "SOURCE").read_text()


def test_every_case_of_the_committed_set_finds_its_files() -> None:
    cases = [case for part in copy_golden.PARTS for name in part.cases for case in _cases(f"{part.folder}/{name}")]
    assert len(cases) > 1000
    missing = {file for case in cases for file in case.files if "/data/" in file and not (SUBSET_ROOT / file).exists()}
    assert not missing


def _cases(name: str) -> tuple:
    return () if "/wire/" in name else read_cases(SUBSET_ROOT, name)
