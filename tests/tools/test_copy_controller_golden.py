"""The packed scenarios of a controller hold what the tests need, and nothing that codec can make from bytes."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest

from tests.quorum.controller.golden import FOLDER
from tools import copy_controller_golden as tool


def test_a_scenario_is_packed_as_it_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = lzma.decompress((FOLDER / "scenarios.jsonl.xz").read_bytes()).decode().splitlines()[0]
    header = json.loads(committed)
    rows = header.pop("rows")
    # The set that it was packed from has the JSON forms too.
    lines = [header, *(row | {"request": row.get("request", {}), "response": {}, "seed": "s"} for row in rows)]
    with gzip.open(tmp_path / "one.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setattr(tool, "OUT", tmp_path / "out" / "scenarios.jsonl.xz")

    assert tool.main([str(tmp_path)]) == 0

    packed = lzma.decompress(tool.OUT.read_bytes()).decode()
    assert json.loads(packed) == json.loads(committed)
