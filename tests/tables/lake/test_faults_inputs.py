"""Logs that vanish, shrink, grow or are written anew while a job reads them, clocks and names that mean harm, and what is told once."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import MetashellError, UsageError
from metashell.tables.lake.append import AppendOptions, AppendReport, append
from metashell.tables.lake.layout import WORK, read_state
from metashell.tables.stores import open_store
from tests.s3_faults import FaultyS3, Request
from tests.tables.lake.lakes import SEGMENT, expected, left_over, names, node, rows, run, segment, topics
from tests.tables.lake.test_kill import command, store_names
from tests.tables.lake.test_lake import HOSTILE, checkpoint

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
    assert not out.exists()
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


def test_two_clusters_that_are_appended_to_one_store_at_the_same_time(s3: str, tmp_path: Path) -> None:
    """Whoever comes second is refused in a line, and has lost nothing: it comes again."""
    out = f"{s3}/lake"
    clusters = {name: node(tmp_path / name, cluster=name) for name in ("a", "b")}
    begin = threading.Barrier(2)
    refused: list[str] = []

    def work(name: str) -> None:
        for day in (1, 2):
            (clusters[name] / SEGMENT).write_bytes(topics(0, 4 * day, name=name))
            begin.wait(60)
            while True:
                try:
                    run(out, tmp_path / name, tables=("topic",), target_size=1 << 20)
                    break
                except UsageError as error:
                    refused.append(str(error))
                    time.sleep(0.05 + random.random() / 5)

    threads = [threading.Thread(target=work, args=(name,)) for name in clusters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    state = read_state(open_store(out))
    assert sorted(store_names(open_store(out))) == expected(0, 8, "a") + expected(0, 8, "b")
    assert {file.name for file in open_store(out).files("table=topic")} == set(state.files)
    assert state.rows == {"topic": 16}
    assert all(said.startswith(f"{out}: is in use by metashell export --append (process ") for said in refused)


def test_one_that_is_kept_out_changes_nothing(s3: str, tmp_path: Path) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    run(f"{s3}/lake", tmp_path / "node")
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 8))
    store = open_store(f"{s3}/lake")
    with store.lock("metashell export --append"):
        before = store.files()
        with pytest.raises(UsageError, match=rf"^{s3}/lake: is in use by metashell export --append \(process \d+ on \S+\) since "):
            run(f"{s3}/lake", tmp_path / "node")
        assert store.files() == before


def test_hostile_clusters_in_one_lake_of_a_store(s3: str, tmp_path: Path) -> None:
    clusters = [cluster for cluster in HOSTILE if "\n" not in cluster and not cluster.startswith("\udce9")]
    for number, cluster in enumerate(clusters):
        quoted = "".join(letter if letter.isascii() else f"\\u{ord(letter):04x}" for letter in cluster)
        (node(tmp_path / "in" / str(number), cluster=quoted) / SEGMENT).write_bytes(topics(0, 2))
    for _ in range(2):
        run(f"{s3}/lake", tmp_path / "in", tables=("topic",), target_size=1 << 20)
    (node(tmp_path / "in" / "0", cluster=clusters[0]) / SEGMENT).write_bytes(topics(0, 4))
    assert run(f"{s3}/lake", tmp_path / "in", target_size=1 << 20).merged == (2, 1)
    store = open_store(f"{s3}/lake")
    files = store.files("table=topic")
    assert {file.name for file in files} == set(read_state(store).files)
    for file in files:
        data = store.read(file.name)
        assert data is not None
        (tmp_path / "got" / file.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "got" / file.name).write_bytes(data)
    found = [row["cluster_id"] for row in rows(tmp_path / "got")]
    wanted = [None if cluster == "__HIVE_DEFAULT_PARTITION__" else cluster for cluster in clusters]
    assert sorted(map(str, found)) == sorted(map(str, [*wanted, *wanted, clusters[0], clusters[0]]))


def test_a_checkpoint_that_is_damaged_is_told_once(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole, damaged = log / "00000000000000000010-0000000001.checkpoint", log / "00000000000000000020-0000000001.checkpoint"
    whole.write_bytes(checkpoint(4))
    damaged.write_bytes(checkpoint(6)[:-40])
    (log / segment(10)).write_bytes(topics(10, 4))
    with pytest.raises(MetashellError, match=rf"^{damaged}: "):
        run(out, tmp_path / "node")
    assert not out.exists()
    for count in (4, 8, 8):
        (log / segment(10)).write_bytes(topics(10, count))
        run(out, tmp_path / "node", on_error="skip")
        (told,) = rows(out, "faults")
        assert told["file"] == str(damaged)
    assert len(rows(out)) == 4 + 8


def after(data: bytes, offset: int) -> bytes:
    """Batches with their offsets moved on: a batch's checksum is not of its offset."""
    moved, at = bytearray(data), 0
    while at < len(moved):
        base, size = struct.unpack_from(">qi", moved, at)
        struct.pack_into(">q", moved, at, base + offset)
        at += 12 + size
    return bytes(moved)


def test_ctrl_c_ends_the_processes_and_leaves_nothing(tmp_path: Path) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    (log / SEGMENT).write_bytes(topics(0, 4))
    run(out, tmp_path / "node", tables=("records", "topic"))
    before = sorted(out.rglob("*"))
    # Some seconds of work for two processes.
    block = topics(4, 4000)
    for number in range(100):
        with (log / SEGMENT).open("ab") as file:
            file.write(after(block, 4000 * number))
    with subprocess.Popen(command(str(out), tmp_path / "node"), stderr=subprocess.PIPE, text=True) as process:
        while not any(out.glob(f"{WORK}/*/*/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "metashell export: interrupted\n")
    assert [path for path in sorted(out.rglob("*")) if path not in before] == []


def test_ctrl_c_while_a_store_is_slow_leaves_nothing(s3: str, s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (node(tmp_path / "node") / SEGMENT).write_bytes(topics(0, 4))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    def slow(request: Request) -> None:
        if request.method == "PUT" and f"/{WORK}/" in request.path:
            time.sleep(1)

    with FaultyS3(s3_server, slow) as faulty:
        environment = {**os.environ, "AWS_ENDPOINT_URL": faulty.address}
        with subprocess.Popen(command(f"{s3}/lake", tmp_path / "node"), env=environment, stderr=subprocess.PIPE, text=True) as process:
            while not any(f"/{WORK}/" in request.path for request in faulty.seen):
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "metashell export: interrupted\n")
    assert open_store(f"{s3}/lake").files() == []
    assert not any((tmp_path / "tmp").iterdir())
