"""What real brokers did when the metadata went back, and that docs/recovery.md says just this."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROWS: list[dict[str, Any]] = [json.loads(line) for line in (ROOT / "tests/golden/recovery/brokers.jsonl").read_text().splitlines()]
RELEASES = ("4.4.0", "4.3.1")
EXPECTED = {
    "lower epoch": (False, "kept"),
    "shorter log": (True, "set aside"),
    "older snapshot": (False, "kept"),
    "restored": (True, "set aside"),
    "running": (True, "deleted"),
}
"""Whether the broker serves, and what becomes of the data of a topic that the metadata lacks."""
QUOTED = ("Truncated to offset", "Fully truncated the log", "marked stray and renamed")


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_does_what_the_page_says(release: str) -> None:
    found = {row["case"]: (row["serves"], row["data"]) for row in ROWS if row["release"] == release}

    assert found == EXPECTED


@pytest.mark.parametrize("quoted", QUOTED)
def test_what_the_page_quotes_was_in_the_log_of_a_broker(quoted: str) -> None:
    (line,) = [line for line in _table() if quoted in line]
    assert any(quoted in said for row in ROWS for said in row["lines"])
    assert "|" in line


def test_what_is_restored_has_no_case_in_which_a_stopped_broker_does_not_serve() -> None:
    assert all(row["serves"] for row in ROWS if row["case"] == "restored")
    assert any("after downloading snapshot" in line for row in ROWS if row["case"] == "restored" for line in row["lines"])


def _table() -> list[str]:
    page = (ROOT / "docs/recovery.md").read_text(encoding="utf-8")
    return re.findall(r"^\|.*\|$", page, re.MULTILINE)
