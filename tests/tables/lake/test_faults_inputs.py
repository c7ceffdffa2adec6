"""Logs that vanish, shrink, grow or are written anew while a job reads them, clocks and names that mean harm, and what is told once."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import MetashellError
from metashell.tables.lake.append import AppendOptions, AppendReport, append
from metashell.tables.stores import open_store
from tests.tables.lake.lakes import SEGMENT, expected, left_over, names, node, rows, run, segment, topics
from tests.tables.lake.test_lake import checkpoint

pytestmark = pytest.mark.slow

WHOLE = topics(0, 20)
CHANGES: dict[str, bytes | None] = {
    "gone": None,
    "cut between batches": topics(0, 12),
    "cut within one": WHOLE[: len(WHOLE) * 3 // 4 + 7],
    "written anew": topics(0, 8) + topics(8, 20, epoch=2, name="new"),
    "emptied": b"",
}


def run_and(change: Callable[[], object], out: str, *paths: str, **options: Any) -> AppendReport:
    """An append with a change between its plan and its reading."""
    return append(AppendOptions(paths=paths, out=out, jobs=1, **options), None, lambda _: change() and None)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_log_lost_while_it_was_read_does_not_count_as_read(tmp_path: Path, change: str, on_error: str) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 6))
    run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(WHOLE)
    data = CHANGES[change]

    def do() -> None:
        (log / SEGMENT).unlink() if data is None else (log / SEGMENT).write_bytes(data)

    with pytest.raises(MetashellError, match=rf"^{log / SEGMENT}: (was changed while it was read|No such file or directory)"):
        run_and(do, str(out), str(tmp_path / "node"), on_error=on_error)
    assert names(out) == expected(0, 6)
    assert left_over(out) == []
    (log / SEGMENT).write_bytes(WHOLE)
    run(out, tmp_path / "node")
    assert names(out) == expected(0, 20)


def test_what_a_log_got_while_it_was_read_comes_the_next_time(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(WHOLE)

    def grow() -> None:
        with (log / SEGMENT).open("ab") as file:
            file.write(topics(20, 7))

    assert run_and(grow, str(out), str(tmp_path / "node")).rows["topic"] == 20
    # Removed once it was read, or copied anew as it was: nothing is lost by that.
    shutil.copytree(tmp_path / "node", tmp_path / "copy")
    assert run_and(lambda: shutil.copy(tmp_path / "copy" / log.name / SEGMENT, log / SEGMENT), str(out), str(tmp_path / "node")).rows == {
        "topic": 7,
        "batches": 4,
    }
    assert names(out) == expected(0, 27)


@pytest.mark.parametrize("kind", ["checkpoint", "compressed"])
def test_what_cannot_be_known_by_its_batches_must_not_change_at_all(tmp_path: Path, kind: str) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    if kind == "checkpoint":
        path, data, less = log / "00000000000000000010-0000000001.checkpoint", checkpoint(40), checkpoint(4)
        (log / segment(10)).write_bytes(topics(10, 4))
    else:
        path, data, less = log / f"{SEGMENT}.gz", gzip.compress(topics(0, 20)), gzip.compress(topics(0, 4))
    path.write_bytes(data)
    source = str(path) if kind == "compressed" else str(tmp_path / "node")
    with pytest.raises(MetashellError, match=rf"^{path}: was changed while it was read, so nothing is added: try it again$"):
        run_and(lambda: path.write_bytes(less), str(out), source)
    assert left_over(out) == []
    path.write_bytes(data)
    assert run(out, Path(source)).rows["topic"] == (44 if kind == "checkpoint" else 20)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_what_an_object_lost_while_it_was_read_does_not_count_as_read(s3: str, tmp_path: Path, on_error: str) -> None:
    store, out = open_store(f"{s3}/node"), str(tmp_path / "lake")
    name, place = f"__cluster_metadata-0/{SEGMENT}", f"{s3}/node/__cluster_metadata-0/{SEGMENT}"
    node(tmp_path / "node")
    store.put("meta.properties", (tmp_path / "node" / "meta.properties").read_bytes())
    store.put(name, WHOLE)
    for change in CHANGES:
        data = CHANGES[change]
        with pytest.raises(MetashellError, match=rf"^{place}: "):
            run_and(lambda data=data: store.remove(name) if data is None else store.put(name, data), out, f"{s3}/node", on_error=on_error)
        store.put(name, WHOLE)
    # An object is replaced as a whole where a log grows; what was planned is in the new one too.
    assert run_and(lambda: store.put(name, topics(0, 30)), out, f"{s3}/node", on_error=on_error).rows["topic"] == 20
    assert run(out, f"{s3}/node").rows["topic"] == 10  # type: ignore[arg-type]
    assert names(out) == expected(0, 30)


def test_a_checkpoint_that_is_damaged_is_told_once(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole, damaged = log / "00000000000000000010-0000000001.checkpoint", log / "00000000000000000020-0000000001.checkpoint"
    whole.write_bytes(checkpoint(4))
    damaged.write_bytes(checkpoint(6)[:-40])
    (log / segment(10)).write_bytes(topics(10, 4))
    with pytest.raises(MetashellError, match=rf"^{damaged}: "):
        run(out, tmp_path / "node")
    assert left_over(out) == []
    for count in (4, 8, 8):
        (log / segment(10)).write_bytes(topics(10, count))
        run(out, tmp_path / "node", on_error="skip")
        (told,) = rows(out, "faults")
        assert told["file"] == str(damaged)
    assert len(rows(out)) == 4 + 8
