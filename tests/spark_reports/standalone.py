"""A standalone cluster of Spark on this machine: a master and workers of one core each, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyspark

from tests.spark_settings import JAVA_OPTIONS
from tools.interop.nodes import free_ports

_HOME: Final = Path(pyspark.__file__).parent
_DEPLOY: Final = "org.apache.spark.deploy"
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"


@contextmanager
def standalone_cluster(folder: Path, *, workers: int = 2) -> Iterator[str]:
    """The URL of a master that has so many workers. All end with the block, and so do their executors."""
    (port,) = free_ports(1)
    url = f"spark://127.0.0.1:{port}"
    folder.mkdir()
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
    started = [_start(folder, "master", master)]
    try:
        until(lambda: "I have been elected leader" in (folder / "master.log").read_text())
        for number in range(workers):
            started.append(_start(folder, f"worker-{number}", [*worker, "--work-dir", str(folder / f"work-{number}"), url]))
        until(lambda: (folder / "master.log").read_text().count("Registering worker") == workers)
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(120)


def _start(folder: Path, name: str, words: list[str]) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SPARK_HOME": str(_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_NO_DAEMONIZE": "1",
    }
    with open(folder / f"{name}.log", "wb") as log:
        command = [str(_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{words[0]}", *words[1:]]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def executors(folder: Path) -> list[int]:
    """The process ids of the executors that run below a cluster's folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if _EXECUTOR in (path / "cmdline").read_bytes() and str(folder) in os.readlink(path / "cwd"):
                found.append(int(path.name))
    return sorted(found)


def until(holds: Callable[[], object]) -> None:
    """Return once `holds`; the limit ends what hangs."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "what was waited for does not come"
        time.sleep(0.005)
