"""A bucket that is not there, keys that are refused: every tool says the same in one line, and ends with status 1."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from metashell import demo
from metashell.cli.inspect.dump_log import main as dump_log
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.main import main as metashell
from spark_reports.main import main as spark_reports
from tests.s3_faults import FaultyS3

RUNS = (
    ("metashell export", "export STORE --out OUT"),
    ("metashell export", "export LOGS --out STORE"),
    ("metashell export", "export STORE --append --out OUT"),
    ("metashell export", "export LOGS --append --out STORE"),
    ("metashell report", "report metadata_growth STORE"),
    ("metashell report", "report metadata_growth 'STORE/*'"),
    ("metashell report", "report metadata_growth LOGS --out STORE"),
    ("metashell sql", "sql 'select 1' STORE"),
    ("metashell lake status", "lake status STORE"),
    ("metashell lake log", "lake log STORE"),
    ("metashell lake check", "lake check STORE"),
    ("spark-reports", "metadata_growth STORE --out OUT"),
    ("spark-reports", "export LOGS --out STORE"),
)


def said(tool: str, line: str, place: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    words = [word.replace("STORE", place).replace("LOGS", str(Path(demo.__file__).parent / "data")) for word in shlex.split(line)]
    words = [word.replace("OUT", str(folder / "out")) for word in words]
    status = (spark_reports if tool == "spark-reports" else metashell)(words)
    printed = capsys.readouterr()
    assert (status, printed.out, printed.err.count("\n")) == (1, "", 1)
    return printed.err.replace("/*: ", ": ")


@pytest.mark.parametrize(("tool", "line"), RUNS, ids=[line for _, line in RUNS])
def test_a_bucket_that_is_not_there_is_said(tool: str, line: str, s3: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(tool, line, f"{s3}-none/x", tmp_path, capsys)
    assert told.partition(" (")[0].rstrip() == f"{tool}: {s3}-none/x: the bucket {s3[5:]}-none does not exist"


@pytest.mark.parametrize(("tool", "line"), RUNS, ids=[line for _, line in RUNS])
def test_keys_that_have_expired_are_said(
    tool: str, line: str, s3: str, s3_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultyS3(s3_server, lambda request: 403) as faulty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.address)
        told = said(tool, line, f"{s3}/x", tmp_path, capsys)
    assert told.startswith(f"{tool}: {s3}/x")
    assert ": the credentials have expired (" in told


@pytest.mark.parametrize(("name", "tool"), [("dump-log", dump_log), ("kafka-shell", kafka_shell)])
def test_what_reads_no_stores_says_so(name: str, tool: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool(["s3://KEYKEY:SECRETSECRET@bucket/x"]) == 1  # type: ignore[operator]
    reason = "this reads files of this machine only; metashell export, report and sql read stores"
    assert capsys.readouterr().err == f"{name}: s3://bucket/x: {reason}\n"
