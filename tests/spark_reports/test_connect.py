"""The data source as users meet it: in a script of their own, and through Spark Connect. Each starts a Spark of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.java import java
from tests.spark_settings import JAVA_OPTIONS

pytestmark = pytest.mark.slow
DEMO = Path(__file__).resolve().parents[2] / "metashell" / "demo" / "data"
SCRIPT = """
from pyspark.sql import SparkSession

import spark_reports

spark = {session}.config("spark.ui.enabled", "false").getOrCreate()
spark_reports.register(spark)
topics = spark.read.format("kafka_metadata").option("table", "topic").option("where", "name = 'orders'").load({path!r})
print(topics.select("name", "topic_id_text").toArrow().to_pylist())
"""


def run(tmp_path: Path, session: str, **more: str) -> str:
    """What such a script prints, run as `python x.py` without any setting for Spark's workers."""
    java()
    script = tmp_path / "x.py"
    script.write_text(SCRIPT.format(session=session, path=str(DEMO)))
    # A python3 without any of our packages comes first on the PATH.
    other = tmp_path / "bin"
    other.mkdir()
    (other / "python3").write_text("#!/bin/sh\nexit 9\n")
    (other / "python3").chmod(0o755)
    settings = {"PATH": f"{other}:{os.environ['PATH']}", "JDK_JAVA_OPTIONS": JAVA_OPTIONS}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env={**kept, **settings, **more}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_register_is_all_that_a_script_needs(tmp_path: Path) -> None:
    assert "[{'name': 'orders', 'topic_id_text': 'G7Asmegk" in run(tmp_path, 'SparkSession.builder.master("local[1]")')


def test_the_data_source_works_through_spark_connect(tmp_path: Path) -> None:
    for package in ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard"):
        try:
            found = find_spec(package)
        except ModuleNotFoundError:
            found = None
        if found is None:
            pytest.skip(f"{package} is not installed, which Spark Connect needs: pip install 'pyspark[connect]'")
    # The server says what its workers run.
    told = run(tmp_path, 'SparkSession.builder.remote("local[1]")', PYSPARK_PYTHON=sys.executable)
    assert "[{'name': 'orders', 'topic_id_text': 'G7Asmegk" in told
