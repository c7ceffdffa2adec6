"""What is told when Spark cannot start, and what its workers are given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metashell import tables
from metashell.common.options import REPORT_SUMMARIES
from metashell.tables.read_options import JOBS
from spark_reports import main as program
from spark_reports import session
from tests.java import java
from tests.spark_settings import JAVA_OPTIONS

pytestmark = pytest.mark.slow


def test_a_machine_without_java_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert program.main(["broker_sessions", "x", "--out", "y"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("spark-reports: no java on the PATH; install Java 17")
    assert told.count("\n") == 1


def test_an_old_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_442\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert session.java_trouble() == f"{java} is Java 8"


def test_a_missing_extra_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    assert program.main(["broker_sessions", "x", "--out", "y"]) == 1
    assert capsys.readouterr().err.startswith("spark-reports: pyspark is not installed; it comes with the extra 'spark': ")


def test_workers_get_this_python_and_this_package_unless_they_are_told_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH"):
        monkeypatch.setenv(name, "unset")
        monkeypatch.delenv(name)
    session.prepare_workers()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert (Path(os.environ["PYTHONPATH"].split(os.pathsep)[0]) / "spark_reports").is_dir()
    monkeypatch.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    session.prepare_workers()
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"


def test_an_extension_stands_behind_those_that_spark_submit_was_given(tmp_path: Path) -> None:
    java()
    import pyspark

    script = tmp_path / "script.py"
    script.write_text(
        "from spark_reports.session import open_session\n"
        "spark = open_session('x', None, {'spark.sql.extensions': 'c.Ours'})\n"
        "print('has', spark.conf.get('spark.sql.extensions'))\n"
    )
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    root = Path(session.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYSPARK_PYTHON": sys.executable, "JDK_JAVA_OPTIONS": JAVA_OPTIONS}
    words = [*submit, "--conf", "spark.sql.extensions=a.First,b.Second", str(script)]
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "has a.First,b.Second,c.Ours\n" in done.stdout, done.stderr[-2000:]


def test_wrong_words_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["nope", "x", "--out", "y"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert all(name in told for name in (*REPORT_SUMMARIES, *JOBS))


def test_a_missing_path_is_told_before_spark_is_started(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(session, "java_trouble", lambda: None)
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: pytest.fail("Spark was started"))
    assert program.main(["broker_sessions", "nowhere.log", "--out", "y"]) == 1
    assert capsys.readouterr().err == "spark-reports: nowhere.log: No such file or directory\n"


def test_a_table_that_there_is_not_is_told_before_spark_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "java_trouble", lambda: None)
    monkeypatch.setattr("spark_reports.main.open_session", lambda *_: pytest.fail("Spark was started"))
    assert program.main(["export", "--table", "topik", "x", "--out", str(tmp_path / "y")]) == 2
    assert capsys.readouterr().err == "spark-reports: --table: no table topik (did you mean topic?)\n"
