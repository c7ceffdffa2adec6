"""Every input that Kafka's own assignors were given: ours give the same, in the same order, and fail with the same exception."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from metashell.groups.assignors.rows import ASSIGNORS, answer_row

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "groups" / "assignors"


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_every_golden_row(assignor: str) -> None:
    with gzip.open(GOLDEN / f"{assignor}.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) > 400
    for row in rows:
        assert answer_row(None, row)["output"] == row["output"], row["id"]
