"""kill -9 of the command at any moment, and a lake in a store."""

from __future__ import annotations

import random
import signal
import subprocess
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metashell.tables.lake.layout import COMMITS, FORMAT, read_state
from metashell.tables.stores import Store, open_store
from tests.running import command_line
from tests.tables.lake.dying import Died, Life, living, steps_of
from tests.tables.lake.lakes import DAY, SEGMENT, expected, left_over, names, node, run, some_of, topics

pytestmark = pytest.mark.slow


def command(out: str, *paths: Path) -> list[str]:
    return command_line("metashell.cli.tables.export", "--append", "--quiet", "--jobs", "2", "--out", out, *map(str, paths))


def test_a_command_that_is_killed_again_and_again(tmp_path: Path) -> None:
    log, out, chance = node(tmp_path / "node"), tmp_path / "lake", random.Random(16)
    for day in range(3):
        (log / SEGMENT).write_bytes(topics(0, 40 * (day + 1), step=DAY // 20))
        for _ in range(3):
            started = subprocess.Popen(command(str(out), tmp_path / "node"), stderr=subprocess.DEVNULL)
            try:
                # Most of its life is start-up; the rest is a tenth of a second.
                started.wait(0.2 + chance.random() * 0.5)
            except subprocess.TimeoutExpired:
                started.send_signal(signal.SIGKILL)
                started.wait()
        subprocess.run(command(str(out), tmp_path / "node"), check=True, timeout=60)
        assert names(out) == expected(0, 40 * (day + 1))
        assert left_over(out) == []


def store_names(store: Store) -> list[str]:
    """The topics of a lake in a store, by its files."""
    found = []
    for file in store.files("table=topic"):
        data = store.read(file.name)
        assert data is not None
        found += pq.read_table(BytesIO(data)).select(["offset", "name"]).to_pylist()
    return [row["name"] for row in sorted(found, key=lambda row: row["offset"])]


def test_a_lake_in_a_store(s3: str, tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), f"{s3}/lake"
    (log / SEGMENT).write_bytes(topics(0, 10))
    assert run(out, tmp_path / "node").rows["topic"] == 10
    (log / SEGMENT).write_bytes(topics(0, 16))
    assert run(out, tmp_path / "node", target_size=1 << 20).merged[0] > 1
    assert run(out, tmp_path / "node").rows == {}
    store = open_store(out)
    assert store_names(store) == expected(0, 16)
    assert {file.name for file in store.files()} == {*read_state(store).files, FORMAT, *(f"{COMMITS}/{n:08d}.json" for n in (1, 2, 3))}


def test_a_writer_to_a_store_that_dies_at_any_step(s3: str, tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 6, step=DAY // 3))
    steps = steps_of(lambda: run(f"{s3}/whole", tmp_path / "node", tables=("topic",)))
    for last in some_of(len(steps), 4):
        out = f"{s3}/{last}"
        with living(Life(last)), pytest.raises(Died):
            run(out, tmp_path / "node", tables=("topic",))
        run(out, tmp_path / "node", tables=("topic",))
        assert store_names(open_store(out)) == expected(0, 6), steps[last]
        assert not [file.name for file in open_store(out).files() if "work" in file.name or "pending" in file.name]


def test_an_input_in_a_store_is_known_by_its_offsets_too(s3: str, tmp_path: Path) -> None:
    log = node(tmp_path / "node")
    (log / SEGMENT).write_bytes(topics(0, 10))
    store = open_store(f"{s3}/dump")
    for path in (tmp_path / "node").rglob("*"):
        if path.is_file():
            store.put(str(path.relative_to(tmp_path / "node")), path.read_bytes())
    run(tmp_path / "lake", tmp_path / "node")
    assert run(tmp_path / "lake", f"{s3}/dump").rows == {}  # type: ignore[arg-type]
    store.put(f"__cluster_metadata-0/{SEGMENT}", topics(0, 14))
    assert run(tmp_path / "lake", f"{s3}/dump").rows["topic"] == 4  # type: ignore[arg-type]
    assert names(tmp_path / "lake") == expected(0, 14)
