"""Any damage to an index, a producer snapshot or a coordinator's log leads to a status and valid JSON lines, never to a crash."""

from __future__ import annotations

import io
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from metashell.inspect.dump import DumpOptions, run_dump
from tools.handmade_files import FILES, LOG, NAME

DECODERS = {
    "offsets": "offsets_decoder",
    "transactions": "transaction_log_decoder",
    "share": "share_group_state_decoder",
    "remote-log": "remote_log_metadata_decoder",
}
FLIPS = 150 if os.environ.get("METASHELL_SOAK") else 60


def run(path: Path, output: str, **more: Any) -> tuple[int, bytes, str]:
    out, err = io.BytesIO(), io.StringIO()
    voice: Any = "own" if output == "jsonl" else "kafka"
    status = run_dump(DumpOptions(files=(str(path),), voice=voice, output=output, jobs=1, **more), out, err)  # type: ignore[arg-type]
    return status, out.getvalue(), err.getvalue()


def assert_told(path: Path, **more: Any) -> None:
    status, text, err = run(path, "jsonl", **more)
    for line in text.splitlines():
        json.loads(line)
    assert (status == 1) == bool(err)
    status, _, err = run(path, "kafka", **more)
    assert status == 0 or err.startswith("dump-log: ")


def damaged(data: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = [data[: chance.randrange(len(data))] for _ in range(FLIPS // 3)]
    flips = []
    for _ in range(FLIPS):
        at = chance.randrange(len(data))
        flips.append(data[:at] + bytes((data[at] ^ 1 << chance.randrange(8),)) + data[at + 1 :])
    return [*cuts, *flips, data + bytes(30), data + b"\xff" * 9]


@pytest.mark.parametrize("suffix", ["index", "timeindex", "log"])
def test_damaged_indexes_and_logs_beside_them_are_reported(tmp_path: Path, suffix: str) -> None:
    for name in ("log", "index", "timeindex"):
        (tmp_path / f"{NAME}.{name}").write_bytes(FILES[f"index/{NAME}.{name}"])
    original = FILES[f"index/{NAME}.{suffix}"]
    for data in damaged(original, 1):
        (tmp_path / f"{NAME}.{suffix}").write_bytes(data)
        for name in ("index", "timeindex"):
            assert_told(tmp_path / f"{NAME}.{name}")


@pytest.mark.parametrize("file", [f"txnindex/{NAME}.txnindex", f"producers/{NAME}.snapshot"])
def test_damaged_transaction_indexes_and_producer_snapshots_are_reported(tmp_path: Path, file: str) -> None:
    path = tmp_path / Path(file).name
    for data in damaged(FILES[file], 2):
        path.write_bytes(data)
        status, _, err = run(path, "jsonl")
        assert (status == 1) == bool(err)
        assert run(path, "kafka")[0] in (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("folder", DECODERS)
def test_damaged_keys_and_values_are_reported(tmp_path: Path, folder: str) -> None:
    path = tmp_path / LOG
    for data in damaged(FILES[f"{folder}/{LOG}"], 3):
        path.write_bytes(data)
        for more in ({}, {"skip_record_metadata": True}):
            assert_told(path, **{DECODERS[folder]: True}, **more)
        out, err = io.BytesIO(), io.StringIO()
        run_dump(DumpOptions(files=(str(path),), summary=True, **{DECODERS[folder]: True}), out, err)  # type: ignore[arg-type]
        json.loads(out.getvalue())
