"""Where a stream writes nothing: beside another one, without its lock, and into a lake. All is said before Spark starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metashell.common.errors import MetashellError
from metashell.demo import demo_directory
from metashell.tables import ReadOptions
from metashell.tables.stores import open_store
from tests.running import run_main
from tests.tables.lake.lakes import run

pytest.importorskip("pyspark")

HOLDS = (
    "import sys; from metashell.tables.stores import open_store\n"
    "with open_store(sys.argv[1]).lock('spark-reports stream'):\n print(flush=True); sys.stdin.read()"
)


@contextmanager
def first_stream(out: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", HOLDS, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        yield writer.pid
        writer.stdin.close()


def refused_stream(out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from spark_reports import main

    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: pytest.fail("Spark was started"))
    done = run_main(main.main, ["stream", str(demo_directory()), "--out", out, "--master", "local[1]"], cwd=tmp_path)
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_the_second_stream_into_a_folder_is_told_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = str(tmp_path / "out")
    with first_stream(out) as pid:
        assert f"{out}: is in use by spark-reports stream (process {pid} on " in refused_stream(out, tmp_path, monkeypatch)


def test_a_stream_into_a_lake_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    run(out, Path(demo_directory()), tables=("topic",))
    files = sorted(out.rglob("*.parquet"))
    told = f"spark-reports: {out}: is a lake: add to it with export --mode append, or name another --out\n"
    assert refused_stream(str(out), tmp_path, monkeypatch) == told
    assert sorted(out.rglob("*.parquet")) == files


@pytest.mark.slow
def test_the_same_in_a_store(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = f"{s3}/out"
    with first_stream(out) as pid:
        assert f"{out}: is in use by spark-reports stream (process {pid} on " in refused_stream(out, tmp_path, monkeypatch)


def test_a_stream_that_lost_its_lock_writes_no_more(tmp_path: Path) -> None:
    from spark_reports.stream_job import Sink

    class Lost:
        def require(self) -> None:
            raise MetashellError("the lock was removed, so another may have it now")

    store: Any = open_store(str(tmp_path / "out"))
    store.put("topic/part-00000.parquet", b"of another")
    sink = Sink(SimpleNamespace(sparkContext=None), store, ReadOptions(), lambda _: None, Lost())
    with pytest.raises(MetashellError, match="another may have it"):
        sink(None, 0)
    assert [file.name for file in store.files()] == ["topic/part-00000.parquet"]
