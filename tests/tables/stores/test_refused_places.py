"""A bucket that is not there, keys that are refused, a store that cannot be reached: every tool says the same in one line, status 1."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metashell import demo
from metashell.cli.inspect.dump_log import main as dump_log
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.cli.main import main as metashell
from metashell.tables.stores import file_systems
from spark_reports.main import main as spark_reports
from tests.s3_faults import FaultyS3
from tests.tables.stores.test_reachability import refusing

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


@contextmanager
def refused(how: str, bucket: str, server: str, patch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A place in a store that refuses, and what is said of it."""
    place = refusing()
    with FaultyS3(server, lambda request: 403) as faulty:
        match how:
            case "no bucket":
                yield f"{bucket}-none/x", f"the bucket {bucket[5:]}-none does not exist"
            case "expired keys":
                patch.setenv("AWS_ENDPOINT_URL", faulty.address)
                yield f"{bucket}/x", "the credentials have expired ("
            case _:
                patch.setenv("AWS_ENDPOINT_URL", f"http://{place}")
                patch.setattr(file_systems, "_answering", set())
                patch.setattr(file_systems.time, "sleep", lambda _: None)
                yield f"{bucket}/x", f"http://{place} cannot be reached: Connection refused"


@pytest.mark.parametrize("how", ["no bucket", "expired keys", "unreachable"])
@pytest.mark.parametrize(("tool", "line"), RUNS, ids=[line for _, line in RUNS])
def test_every_tool_says_in_one_line_what_a_store_refuses(
    tool: str,
    line: str,
    how: str,
    s3: str,
    s3_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with refused(how, s3, s3_server, monkeypatch) as (place, reason):
        words = [word.replace("STORE", place).replace("LOGS", str(Path(demo.__file__).parent / "data")) for word in shlex.split(line)]
        words = [word.replace("OUT", str(tmp_path / "out")) for word in words]
        status = (spark_reports if tool == "spark-reports" else metashell)(words)
    printed = capsys.readouterr()
    assert (status, printed.out, printed.err.count("\n")) == (1, "", 1)
    about, _, more = printed.err.rstrip("\n").replace("/*: ", ": ").rpartition(f": {reason}")
    # Keys may be refused for a file of the place.
    assert about.startswith(f"{tool}: {place}") if how == "expired keys" else about == f"{tool}: {place}"
    assert how != "unreachable" or not more


@pytest.mark.parametrize(("name", "tool"), [("dump-log", dump_log), ("kafka-shell", kafka_shell)])
def test_what_reads_no_stores_says_so(name: str, tool: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool(["s3://KEYKEY:SECRETSECRET@bucket/x"]) == 1  # type: ignore[operator]
    reason = "this reads files of this machine only; metashell export, report and sql read stores"
    assert capsys.readouterr().err == f"{name}: s3://bucket/x: {reason}\n"
