"""A store, or a disk, that cannot be read for a moment: nothing counts as read that was not."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metashell.common.errors import MetashellError
from metashell.tables.remote_files import RemoteFile
from metashell.tables.stores import store
from tests.tables.lake.lakes import SEGMENT, expected, names, node, run, segment, topics


class _Failing:
    """Reads of far files, of which some fail: the `at`-th and the three after it, so that asking again does not help."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.at = 0, 0
        real = RemoteFile._bytes

        def read(file: Any, position: int, size: int) -> bytes:
            self.count += 1
            if 0 <= self.count - self.at < len(store.WAITS_S) + 1 and self.at:
                raise OSError("AWS Error INTERNAL_FAILURE (HTTP status 500) during GetObject operation: try later")
            return real(file, position, size)

        monkeypatch.setattr(RemoteFile, "_bytes", read)
        monkeypatch.setattr(store, "_wait", lambda seconds: None)

    def begin(self, at: int) -> None:
        self.count, self.at = 0, at


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_whichever_read_of_a_store_fails_each_record_is_there_once_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_error: str
) -> None:
    log, base = node(tmp_path / "node"), tmp_path / "base"
    (log / segment(0)).write_bytes(topics(0, 10))
    (log / segment(10)).write_bytes(topics(10, 2))
    uri = f"file://{tmp_path}/node"
    options = {"tables": ("topic",), "on_error": on_error}
    run(base, uri, **options)
    (log / segment(10)).write_bytes(topics(10, 6))
    reads = _Failing(monkeypatch)
    shutil.copytree(base, tmp_path / "whole")
    run(tmp_path / "whole", uri, **options)
    assert reads.count > 2
    for at in range(1, reads.count + 1):
        out = tmp_path / str(at)
        shutil.copytree(base, out)
        reads.begin(at)
        with pytest.raises(MetashellError, match=r"^file://[^\n]*try later$"):
            run(out, uri, **options)
        assert names(out) == expected(0, 12)
        reads.begin(0)
        run(out, uri, **options)
        assert names(out) == expected(0, 16), at


def test_a_disk_that_cannot_be_read_while_planning_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, out = node(tmp_path / "node"), tmp_path / "lake"
    whole = topics(0, 10)
    (log / SEGMENT).write_bytes(whole[: len(topics(0, 4))])
    run(out, tmp_path / "node")
    (log / SEGMENT).write_bytes(whole)
    real = os.pread

    def pread(descriptor: int, size: int, position: int) -> bytes:
        if position >= len(topics(0, 4)) > 0 and os.readlink(f"/proc/self/fd/{descriptor}").endswith(SEGMENT):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor, size, position)

    with monkeypatch.context() as broken:
        broken.setattr(os, "pread", pread)
        with pytest.raises(MetashellError, match=rf"{SEGMENT}: Input/output error"):
            run(out, tmp_path / "node", on_error="skip")
    run(out, tmp_path / "node")
    assert names(out) == expected(0, 10)


@pytest.mark.slow
def test_what_a_worker_leaves_when_it_is_killed_goes_with_the_run(tmp_path: Path) -> None:
    script = """
import os, sys, time
from metashell.tables.lake.append import prepare_append_worker, spool_of
from metashell.tables.export.workers import Workers
from metashell.tables.stores import open_store
from functools import partial
from tempfile import TemporaryDirectory

def task(number):
    with TemporaryDirectory(prefix="metashell-lake-") as spool:
        open(f"{spool}/rows", "w").write("x")
        if number:
            time.sleep(600)
    raise ValueError("the other one")

def wait_for_both():
    while len([1 for _, folders, names in os.walk(sys.argv[1]) if "rows" in names]) < 1:
        time.sleep(0.01)

if __name__ == "__main__":
    with spool_of(open_store("s3://bucket/lake")) as spool:
        prepare = partial(prepare_append_worker, spool=spool)
        with Workers(2, lambda: None, prepare) as workers:
            workers.start(2)
            workers.submit(task, 1)
            wait_for_both()
            workers.submit(task, 0)
            list(workers.results(task, [(1,), (0,)]))
"""
    (tmp_path / "script.py").write_text(script)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.getcwd()}
    argv = [sys.executable, str(tmp_path / "script.py"), str(temporary)]
    ended = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "ValueError: the other one" in ended.stderr
    assert list(temporary.iterdir()) == []
