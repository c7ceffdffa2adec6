"""Export into S3: what a local one has, whole or absent, whatever fails or ends it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.tables.export import job
from metashell.tables.export.job import export
from metashell.tables.export.plan import MANIFEST, ExportOptions
from metashell.tables.stores import Store, open_store
from tests.quick import quick
from tests.s3_faults import DROP, FaultyS3, Request
from tests.tables.export.test_job import NAME, topics_log
from tests.tables.logs import any_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / NAME).write_bytes(topics_log())
    return tmp_path / NAME


@pytest.fixture(autouse=True)
def nothing_of_it_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither a folder named `s3:` nor a file in the folder for temporary ones."""
    work = tmp_path / "tmp"
    work.mkdir()
    monkeypatch.setenv("TMPDIR", str(work))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    job._opened.cache_clear()
    yield
    assert list(work.iterdir()) == []
    assert not [path for path in tmp_path.iterdir() if ":" in path.name]


def run(out: str, *paths: Path, **options: Any) -> Any:
    return export(ExportOptions(**{"paths": tuple(map(str, paths)), "out": out, "jobs": 1, "target_bytes": 4000, **options}))


def names(out: str) -> set[str]:
    return {file.name for file in open_store(out).files()}


def manifest(out: str) -> dict[str, Any]:
    return json.loads(open_store(out).read(MANIFEST) or b"{}")  # type: ignore[no-any-return]


def topics(out: str) -> list[str]:
    store = open_store(out)
    system, path = store.sink("topic.parquet")
    found = dataset.dataset(path, filesystem=system, format="parquet").to_table()
    return [row["name"] for row in found.sort_by("offset").to_pylist()]


def is_whole(out: str) -> bool:
    """Whether all that is there is what the manifest names, and the manifest; no folder of an earlier table is left, not even empty."""
    from pyarrow.fs import FileSelector

    system, path = open_store(out).sink("x")
    below = system.get_file_info(FileSelector(path.removesuffix("/x")))
    files = manifest(out)["files"]
    assert {entry.base_name for entry in below} == {*(name.partition("/")[0] for name in files), MANIFEST, "_metashell"}
    return names(out) == {*files, MANIFEST}


@pytest.mark.parametrize(("form", "jobs"), quick([("csv", 1), ("parquet", 2)]))
def test_a_store_gets_what_a_folder_gets(s3: str, tmp_path: Path, form: str, jobs: int) -> None:
    (tmp_path / NAME).write_bytes(any_log(random.Random(3), batch_count=30))
    wanted = {"on_error": "skip", "tables": ("records", "partition", "faults", "no_op"), "form": form}
    here = run(str(tmp_path / "here"), tmp_path / NAME, **wanted)
    there = run(f"{s3}/out", tmp_path / NAME, jobs=jobs, **wanted)
    assert there == here
    assert is_whole(f"{s3}/out")
    store = open_store(f"{s3}/out")
    for table in ("records", "partition", "faults", "no_op"):
        whole = tmp_path / "here" / f"{table}.{form}"
        parts = sorted(whole.iterdir()) if whole.is_dir() else [whole]
        uploaded = [store.read(file.name) for file in store.files(f"{table}.{form}")]
        assert uploaded == [part.read_bytes() for part in parts]


@pytest.mark.parametrize("early", [1, 1 << 30])
def test_processes_that_write_to_a_store_are_forks(s3: str, log: Path, early: int) -> None:
    """Those that are spawned load numpy and pyarrow anew: 0.7 s of CPU time."""
    script = (
        "import sys\n"
        "from metashell.tables.export import workers\n"
        "from metashell.tables.export.plan import ExportOptions\n"
        "from metashell.tables.export.job import export\n"
        "from metashell.tables import only_what_we_use\n"
        "method = workers.Workers._start_method\n"
        "workers.Workers._start_method = lambda self: print(found := method(self)) or found\n"
        "workers.EARLY_BYTES = int(sys.argv[3])\n"
        "with only_what_we_use():\n"
        "    export(ExportOptions(paths=(sys.argv[1],), out=sys.argv[2], jobs=2, target_bytes=2000))\n"
    )
    argv = [sys.executable, "-c", script, str(log), f"{s3}/out", str(early)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "fork\n"
    assert len(manifest(f"{s3}/out")["splits"]) > 1


def test_the_same_again_does_nothing_and_what_grew_is_added(s3: str, log: Path) -> None:
    out = f"{s3}/out"
    assert run(out, log).reused_count == 0
    before = {file.name: file.mtime_ms for file in open_store(out).files()}
    assert run(out, log).is_unchanged
    assert {file.name: file.mtime_ms for file in open_store(out).files()} == before
    other = log.parent / "other"
    other.mkdir()
    (other / NAME).write_bytes(topics_log(100, 300))
    report = run(out, log, other / NAME)
    assert 0 < report.reused_count < report.split_count
    assert topics(out) == [f"t{number}" for number in range(400)]
    assert is_whole(out)


def test_a_part_that_is_gone_is_written_again(s3: str, log: Path) -> None:
    out = f"{s3}/out"
    run(out, log)
    open_store(out).remove("topic.parquet/part-00001.parquet")
    assert not run(out, log).is_unchanged
    assert topics(out) == [f"t{number}" for number in range(300)]
    assert is_whole(out)


def test_a_fault_leaves_nothing_or_what_was_there(s3: str, log: Path) -> None:
    out = f"{s3}/out"
    good = log.read_bytes()
    log.write_bytes(good[:-1] + b"\xff")
    with pytest.raises(LogCorruptError, match="offset 290: CRC-32C"):
        run(out, log)
    assert names(out) == set()
    log.write_bytes(good)
    run(out, log)
    before = names(out)
    log.write_bytes(good + b"\0" * 61 + b"x")
    with pytest.raises(LogCorruptError):
        run(out, log, tables=("topic", "records"), replaces=True)
    assert names(out) == before
    assert topics(out) == [f"t{number}" for number in range(300)]


def test_what_no_export_has_written_is_not_touched(s3: str, log: Path) -> None:
    store = open_store(f"{s3}/out")
    store.put("topic.parquet/mine.txt", b"mine")
    store.put("notes.txt", b"mine")
    with pytest.raises(UsageError, match=rf"^{s3}/out/topic\.parquet/mine\.txt: is there already"):
        run(f"{s3}/out", log)
    run(f"{s3}/out", log, form="csv")
    with pytest.raises(UsageError, match="has an export of batches, topic, which this one would remove: --replace removes it"):
        run(f"{s3}/out", log, form="csv", tables=("no_op",))
    run(f"{s3}/out", log, form="csv", tables=("no_op",), replaces=True)
    assert store.read("topic.parquet/mine.txt") == store.read("notes.txt") == b"mine"


KILLED = """
import os, signal, sys
from metashell.tables.export import job
from metashell.tables.export.plan import ExportOptions
from metashell.tables.export.job import export
def kill(*_): os.kill(os.getpid(), signal.SIGKILL)
setattr(job._Run, sys.argv[3], kill)
export(ExportOptions(paths=(sys.argv[1],), out=sys.argv[2], jobs=int(sys.argv[4]), target_bytes=4000, replaces=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("step", "jobs"), [("publish", 1), ("tidy", 1)])
def test_an_export_that_was_killed_is_taken_up_again(s3: str, log: Path, step: str, jobs: int, tmp_path: Path) -> None:
    out = f"{s3}/out"
    run(out, log, tables=("topic", "records"))
    done = subprocess.run([sys.executable, "-c", KILLED, str(log), out, step, str(jobs)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    # Readers go by the manifest: that of before, or that of now.
    assert set(manifest(out)["files"]) < names(out)
    report = run(out, log, replaces=True)
    assert report.reused_count == report.split_count
    assert topics(out) == [f"t{number}" for number in range(300)]
    assert is_whole(out)
    for left in (tmp_path / "tmp").iterdir():
        for path in (*left.rglob("*"),):
            path.unlink() if path.is_file() else None
        subprocess.run(["rm", "-r", str(left)], check=True)


def test_what_a_killed_export_left_is_removed_by_one_of_another_kind(s3: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = f"{s3}/out"
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        patch.setattr(job._Run, "undo", lambda _: None)
        patch.setattr(job._Run, "publish", lambda *_: {}["killed"])
        run(out, log)
    assert "topic.parquet/part-00000.parquet" in names(out)
    run(out, log, tables=("topic",), form="csv")
    assert is_whole(out)
    assert {name.partition(".")[2].partition("/")[0] for name in manifest(out)["files"]} == {"csv"}


def test_a_second_export_is_told_of_the_first(s3: str, log: Path) -> None:
    with open_store(f"{s3}/out").lock("metashell export"), pytest.raises(UsageError, match="is in use by metashell export"):
        run(f"{s3}/out", log)
    assert names(f"{s3}/out") == set()


def test_what_refuses_is_found_out_before_anything_is_read(s3: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metashell.tables.columns.reader.read_split", lambda *_: pytest.fail("was read"))
    with pytest.raises(PathError, match=f"^{s3}-none/out: the bucket {s3[5:]}-none does not exist \\("):
        run(f"{s3}-none/out", log)


@pytest.mark.parametrize("status", [503, DROP])
def test_a_store_that_fails_every_tenth_request_gets_everything(
    s3: str, s3_server: str, log: Path, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyS3(s3_server, lambda request: status if request.number % 10 == 9 else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        run(f"{s3}/out", log)
        assert len(faulty.seen) > 40
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    assert topics(f"{s3}/out") == [f"t{number}" for number in range(300)]
    assert is_whole(f"{s3}/out")


def test_credentials_that_expire_are_one_line_and_leave_no_half(
    s3: str, s3_server: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = f"{s3}/out"
    run(out, log, tables=("no_op", "topic"))
    before = names(out)
    with FaultyS3(s3_server, lambda request: 403 if request.number > 22 else None) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        with pytest.raises(MetashellError, match=rf"^{s3}/out/\S+: the credentials have expired \(\w+: ExpiredToken\)$"):
            run(out, log)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    assert set(manifest(out)["files"]) < before < names(out)
    later = _without_locks(open_store(out), before)
    assert later
    run(out, log)
    assert is_whole(out)


def _without_locks(store: Store, before: set[str]) -> set[str]:
    """What an export left that could not tidy up; its lock, which dies by itself, is removed."""
    store.remove_below("_metashell/locks")
    return {file.name for file in store.files()} - before


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_leaves_nothing(s3: str, s3_server: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = f"{s3}/out"

    def slow(request: Request) -> None:
        if request.method == "PUT" and "topic.parquet" in request.path:
            time.sleep(1)

    with FaultyS3(s3_server, slow) as faulty:
        argv = [sys.executable, "-c", "import sys; from metashell.cli.tables.export import main; sys.exit(main(sys.argv[1:]))"]
        environment = {**os.environ, "AWS_ENDPOINT_URL": faulty.address}
        with subprocess.Popen([*argv, str(log), "--out", out], env=environment, stderr=subprocess.PIPE, text=True) as process:
            while not any("topic.parquet" in request.path for request in faulty.seen):
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, said = process.communicate(timeout=60)
            assert time.monotonic() - began < 10
    assert (process.returncode, said) == (130, "metashell export: interrupted\n"), said
    assert names(out) == set()
