"""The committed cases of the storage tool are those of the golden set."""

from __future__ import annotations

from pathlib import Path

from tools import copy_storage_golden


def test_the_committed_cases_are_what_the_script_makes(full_golden: Path) -> None:
    assert copy_storage_golden.main(["--check"]) == 0
    assert (copy_storage_golden.TARGET / "SOURCE").read_text() == copy_storage_golden.SOURCE
