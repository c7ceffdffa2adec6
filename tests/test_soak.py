"""`make soak` runs what is there: a test that has moved would fail every round, or never run."""

from __future__ import annotations

import pytest

from tools.soak import INTEROP, ROOT


@pytest.mark.parametrize("path", INTEROP.values())
def test_what_a_soak_runs_is_there_and_knows_of_it(path: str) -> None:
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    assert "METASHELL_S" in text
