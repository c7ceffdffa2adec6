"""Exports on a standalone cluster of Spark whose driver and executors are killed after files exist."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.demo import demo_directory
from metashell.tables.export.job import export
from metashell.tables.export.plan import ExportOptions
from metashell.tables.lake.appends import read_state
from metashell.tables.stores import open_store
from spark_reports.plain_export import SUCCESS, WORK
from tests.java import java
from tests.spark_reports.standalone import executors, standalone_cluster, until
from tests.spark_reports.test_export import listed, tables
from tests.spark_settings import JAVA_OPTIONS
from tests.tables.lake.lakes import rows, run

pytestmark = pytest.mark.slow


class Place:
    """A cluster, and the exports that it runs."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder

    def start(self, out: Path, *more: str) -> subprocess.Popen[str]:
        """Start an export of the demo in small tasks."""
        words = ["export", str(demo_directory()), "--out", str(out), "--master", self.url, "--split-size", "1000", *more]
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": JAVA_OPTIONS}
        command = [sys.executable, "-m", "spark_reports.main", *words]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finished(self, process: subprocess.Popen[str]) -> None:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, ""), out


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    java()
    folder = tmp_path_factory.mktemp("cluster") / "spark"
    with standalone_cluster(folder) as url:
        yield Place(url, folder)


def test_a_plain_export_survives_its_executors_and_leaves_nothing_whole_without_its_driver(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = place.start(out)
    until(lambda: list(out.rglob("*.parquet")))
    # With it go its JVM and, as soon as they notice, the executors.
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=120)
    assert listed(out) == [WORK]
    until(lambda: not executors(place.folder))

    process = place.start(out)
    until(lambda: list(out.rglob("*.parquet")))
    until(lambda: len(executors(place.folder)) == 2)
    os.kill(executors(place.folder)[0], signal.SIGKILL)
    assert not (out / SUCCESS).exists()
    place.finished(process)
    export(ExportOptions(paths=(str(demo_directory()),), out=str(tmp_path / "here"), jobs=1))
    assert tables(out) == tables(tmp_path / "here")
    assert listed(out) == [SUCCESS, *(f"{table}.parquet" for table in sorted(tables(out)))]


def test_an_append_has_each_record_once_whatever_was_killed(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "lake"
    killed = place.start(out, "--mode", "append")
    until(lambda: list(out.rglob("*.parquet")))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=120)
    until(lambda: not executors(place.folder))
    assert read_state(open_store(str(out))).number == 0

    before = len(list(out.rglob("*.parquet")))
    process = place.start(out, "--mode", "append")
    until(lambda: len(list(out.rglob("*.parquet"))) > before)
    until(lambda: len(executors(place.folder)) == 2)
    os.kill(executors(place.folder)[0], signal.SIGKILL)
    assert read_state(open_store(str(out))).number == 0
    place.finished(process)
    run(tmp_path / "once", Path(demo_directory()))
    assert read_state(open_store(str(out))).rows == read_state(open_store(str(tmp_path / "once"))).rows
    for table in ("partition", "topic", "batches"):
        assert rows(out, table) == rows(tmp_path / "once", table)
    assert run(out, Path(demo_directory())).rows == {}
