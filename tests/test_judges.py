"""The table of judges in CONTRIBUTING.md has each room once, and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import metashell

ROOT = Path(__file__).parents[1]
ROOMS_OF_ROOMS = {"cli", "groups", "metadata", "quorum", "tables"}
"""Wings that have nothing but rooms, and what these share."""


def test_each_room_has_a_judge() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = text[text.index("## Judges\n") :].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    named = [room for row in rows for room in re.findall(r"`([^`]+)`", row[0])]
    top = Path(metashell.__file__).parent
    rooms = {str(path.parent.relative_to(top)) for path in top.rglob("__init__.py")} - {".", *ROOMS_OF_ROOMS}
    assert sorted(named) == sorted(rooms)
    tests = [re.findall(r"`(tests/[^`]+)`", row[2]) for row in rows]
    assert all(tests)
    assert [path for found in tests for path in found if not (ROOT / path).is_file()] == []
