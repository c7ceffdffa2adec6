"""A Spark that Delta Lake and Iceberg have jars for; where it cannot be had, a test skips and says why.

The newest pyspark is what all other tests run on, and neither format has jars for it yet. So this one lies in a folder of its own, for
PYTHONPATH, with the jars: both come once, by pip and Maven, and are kept in $SPARK_FORMATS, by default ~/.cache/spark-formats.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from metashell.tables.read_options import TABLE_FORMATS
from spark_reports.table_commits import packages_of
from tests.java import java

PYSPARK: Final = "4.1.4"
_FETCH_TIMEOUT_S: Final = 600


def home() -> Path:
    return Path(os.environ.get("SPARK_FORMATS") or Path.home() / ".cache" / "spark-formats") / PYSPARK


def environment() -> dict[str, str]:
    """The environment of processes that find that Spark; skips the test without Java, or where it cannot be had."""
    java()
    if (trouble := _trouble()) is not None:
        pytest.skip(trouble)
    root = Path(__file__).resolve().parents[1]
    return {**os.environ, "PYTHONPATH": f"{home() / 'python'}{os.pathsep}{root}", "PYSPARK_PYTHON": sys.executable}


def jars() -> str:
    """The jars of both formats, as `--jars` has them."""
    return ",".join(map(str, sorted((home() / "jars").glob("*.jar"))))


@functools.cache
def _trouble() -> str | None:
    """Why it is not there, None if it is; tried once in a run."""
    home().mkdir(parents=True, exist_ok=True)
    with open(home() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two workers of pytest one fetches
        if (home() / "complete").exists():
            return None
        trouble = _run("pyspark", [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", "python", f"pyspark=={PYSPARK}"])
        trouble = trouble or _fetch_jars()
        if trouble is None:
            (home() / "complete").touch()
        return trouble


def _fetch_jars() -> str | None:
    maven = shutil.which("mvn")
    if maven is None:
        return "no jars of Delta Lake and Iceberg, and no mvn to fetch them"
    packages = [package for table_format in TABLE_FORMATS for package in packages_of(table_format, PYSPARK)]
    (home() / "pom.xml").write_text(_pom(packages))
    return _run("jars", [maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"])


def _run(what: str, command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, cwd=home(), capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"{what} for tables of Delta Lake and Iceberg did not arrive within {_FETCH_TIMEOUT_S} s"
    if done.returncode != 0:
        return f"{what} for tables of Delta Lake and Iceberg could not be fetched: {(done.stdout + done.stderr)[-300:]}"
    return None


def _pom(packages: list[str]) -> str:
    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    parts = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{alone}</dependency>"
        for group, artifact, version in (package.split(":") for package in packages)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>jars</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<dependencies>{parts}</dependencies></project>\n"
    )
