"""Exports to tables of Delta Lake and Iceberg."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from metashell.common.errors import MetashellError, UsageError
from metashell.common.option_parser import parse_command
from metashell.tables.read_options import SPARK_REPORTS, TABLE_FORMATS
from spark_reports.export_job import require_fitting, session_settings, start_error, table_format_of
from spark_reports.session import error_from
from spark_reports.table_commits import RELEASES, packages_of, settings_for
from spark_reports.table_logs import java_uri
from tests import spark_formats

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_tables_of_delta_lake_and_iceberg() -> None:
    """The cases of `table_cases.py`, in a process of their own."""
    environment = {**spark_formats.environment(), "TABLE_JARS": spark_formats.jars(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/spark_reports/table_cases.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d\d passed", done.stdout) and "skipped" not in done.stdout, done.stdout[-2000:]


def test_each_extra_allows_the_releases_of_spark_that_its_format_has_jars_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in TABLE_FORMATS:
        (wanted,) = [text for text in extras[name] if text.startswith("pyspark")]
        found = re.fullmatch(r"pyspark>=4\.(\d+),<4\.(\d+)", wanted)
        assert found is not None, wanted
        assert list(RELEASES[name]) == [f"4.{minor}" for minor in range(int(found[1]), int(found[2]))]
        assert packages_of(name, spark_formats.PYSPARK)
        with pytest.raises(UsageError, match=rf"--format {name}: .* and this is 4\.9\.1: .* -m pip install .*\[{name}\]'"):
            packages_of(name, "4.9.1")


def words(*more: str) -> SimpleNamespace:
    return parse_command(SPARK_REPORTS, ["export", "logs", "--out", "lake", *more])


def test_options_that_do_not_go_together() -> None:
    for fitting in (
        ["--format", "delta"],
        ["--format", "iceberg", "--catalog", "prod.kafka", "--out", "s3://bucket/lake"],
        ["--format", "iceberg", "--out", "hdfs://host:8020/lake[1]"],
        ["--format", "delta", "--out", "/x/20:00"],
        ["--format", "parquet", "--out", "/x/20:00 [1]"],
        ["--format", "parquet"],
        ["--format", "delta", "--jars", "x.jar"],
    ):
        require_fitting(words(*fitting))
    for wrong, said in (
        (["--format", "csv"], "--format csv: an export writes one of parquet, delta, iceberg"),
        (["--format", "delta", "--format", "iceberg"], "--format delta --format iceberg: an export writes one of"),
        (["--jars", "x.jar"], "--jars goes with --format delta or iceberg"),
        (["--format", "delta", "--catalog", "prod"], "--catalog goes with --format iceberg"),
        (["--format", "iceberg", "--catalog", "a`b"], "--catalog a`b: not CATALOG or CATALOG.NAMESPACE"),
        (["--format", "delta", "--target-file-size", "1M"], "--target-file-size: tables of delta merge small files"),
        (["--format", "delta", "--out", "/x/20:00 [1]"], "/x/20:00 [1]: Java's file systems read no folder with both : and [ in its name"),
        (["--format", "iceberg", "--out", "hdfs://host:1/a:b/{c}"], "hdfs://host:1/a:b/{c}: Java's file systems read no folder with"),
        (["--format", "iceberg", "--out", "s3://bucket/lake"], "--format iceberg: in an object store Iceberg needs a catalog"),
    ):
        with pytest.raises(UsageError) as caught:
            require_fitting(words(*wrong))
        assert str(caught.value).startswith(said)
    for job, more, said in (("timeline", ["--format", "delta"], "--format delta goes"), ("stream", ["--jars", "x"], "--jars goes")):
        with pytest.raises(UsageError) as caught:
            require_fitting(parse_command(SPARK_REPORTS, [job, "logs", "--out", "x", *more]))
        assert str(caught.value) == f"{said} with the job export"
    assert table_format_of(words()) == "parquet"
    assert table_format_of(words("--format", "iceberg", "--catalog", "prod.kafka")) == "iceberg:prod.kafka"


def test_jars_come_from_maven_unless_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.1.2")
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert settings_for("parquet", "") == {}
    assert settings_for("iceberg", "") == {"spark.jars.packages": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"}
    assert settings_for("delta", "")["spark.jars.packages"].startswith("io.delta:delta-spark_4.1_2.13:4.4.0,io.delta:delta-storage:4.4.0,")
    given = settings_for("delta", "a.jar,b.jar")
    assert given["spark.jars"] == "a.jar,b.jar" and "spark.jars.packages" not in given
    with pytest.raises(UsageError, match=r"^--jars: b\.jar: No such file$"):
        session_settings(words("--format", "delta", "--jars", f"{__file__},b.jar"))
    settings = settings_for("iceberg", "")
    said = str(start_error(MetashellError("Spark did not start: [unresolved dependency: org.apache.iceberg#x;1: not found]"), settings))
    assert said == f"Spark did not start: Maven cannot be reached for {settings['spark.jars.packages']}: give these jars with --jars"
    for other, more in (("no Java", settings), ("unresolved dependency", {})):
        assert str(start_error(MetashellError(other), more)) == other
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert settings_for("iceberg", "") == {}


def test_places_as_java_knows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert java_uri("lake") == f"file:{tmp_path}/lake"
    assert java_uri("//data/lake") == "file:/data/lake"
    assert java_uri("file:///data/a%20lake") == "file:/data/a lake"
    assert java_uri("s3://KEY:SECRET@bucket/lake/?endpoint_override=http://localhost") == "s3a://bucket/lake"
    assert java_uri("s3a://bucket/a%20lake") == "s3a://bucket/a lake"
    assert java_uri("hdfs://host:8020/lake") == "hdfs://host:8020/lake"
    # An @ in a path ends no credentials.
    assert java_uri("s3://bucket/mail@home/lake") == "s3a://bucket/mail@home/lake"
    assert java_uri("s3://KEY:SEC%2FRET@bucket/mail%40home") == "s3a://bucket/mail@home"
    assert java_uri("s3://KEY:SEC%40RET@bucket/lake") == "s3a://bucket/lake"
    assert java_uri("s3://KEY:SEC/RET@bucket/lake") == "s3a://bucket/lake"
    # Keys are in no plan of Spark's, whatever the store.
    assert java_uri("abfs://:SECRET@account.dfs.core.windows.net/lake") == "abfs://account.dfs.core.windows.net/lake"
    assert java_uri("abfs://box@account.dfs.core.windows.net/lake?sas=SECRET") == "abfs://box@account.dfs.core.windows.net/lake"


@pytest.mark.parametrize("name", ["a lake", "50%", "a%20b", "x#y?z", "[1]{ü}*", "a+b=c&d", "'\"", "date=2026-11-20", "\\ ^`|~"])
def test_java_and_pyarrow_read_a_uri_alike(name: str, tmp_path: Path) -> None:
    """Both take off the quoting once, whatever stands in it."""
    from pyarrow.fs import FileSystem

    uri = f"s3://bucket/{quote(name)}/lake"
    assert FileSystem.from_uri(f"{uri}?region=us-east-1")[1] == f"bucket/{name}/lake"
    assert java_uri(f"{uri}?region=us-east-1") == f"s3a://bucket/{name}/lake"
    assert FileSystem.from_uri(f"file://{tmp_path}/{quote(name)}")[1] == java_uri(f"file://{tmp_path}/{quote(name)}").removeprefix("file:")


@pytest.mark.parametrize(
    ("out", "place"),
    [
        ("s3://bucket/a%20b", "s3a://bucket/a b/_progress"),
        ("s3://KEY:SECRET@bucket/out/?region=us-east-1", "s3a://bucket/out/_progress"),
        ("gcs://bucket/out", "gs://bucket/out/_progress"),
        ("file:///data/a%20b", "file:/data/a b/_progress"),
        ("a%20b", "a%20b/_progress"),
    ],
)
def test_the_progress_of_a_stream_lies_beside_its_rows(out: str, place: str) -> None:
    from unittest.mock import MagicMock

    from spark_reports.stream_job import progress_place

    assert progress_place(MagicMock(), out) == place


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            "NoSuchMethodError: 'void org.apache.spark.sql.X.<init>()'",
            "a jar that Spark was given is built for another release of Spark: 'void org.apache.spark.sql.X.<init>()'",
        ),
        (
            "NoClassDefFoundError: software/amazon/awssdk/core/X$Y\n\tat x\nCaused by: java.lang.ClassNotFoundException: software.amazon.X",
            "Spark cannot load the class software.amazon.awssdk.core.X$Y: a jar is missing, or is built for another release",
        ),
        (
            "NoClassDefFoundError: Could not initialize class org.x.Y",
            "Spark cannot load the class org.x.Y: a jar is missing, or is built for another release",
        ),
    ],
)
def test_jars_that_are_missing_or_for_another_spark_are_one_line(error: str, line: str) -> None:
    class Py4JJavaError(Exception):
        pass

    Py4JJavaError.__module__ = "py4j.protocol"
    found = error_from(Py4JJavaError(f"An error occurred while calling o57.save.\n: java.lang.{error}\n\tat x"))
    assert isinstance(found, MetashellError)
    assert str(found) == line
