"""Random inputs, given to Kafka's own assignors and to ours: both give the same, or fail with the same exception."""

from __future__ import annotations

import json

import pytest

from metashell.groups.assignors.rows import answer_row
from tests.groups.assignors.strange_rows import rows
from tests.java import PROGRAMS, run_program

pytestmark = pytest.mark.slow
SOURCE = PROGRAMS / "Assignors.java"


@pytest.mark.parametrize("seed", [1, 2])
def test_assignors_give_what_kafkas_give(seed: int) -> None:
    given = list(rows(seed, 300))
    lines = run_program(SOURCE, stdin="".join(json.dumps(row) + "\n" for row in given).encode()).splitlines()
    assert len(lines) == len(given)
    for row, line in zip(given, lines, strict=True):
        assert answer_row(None, row)["output"] == json.loads(line), json.dumps(row)
