"""Spark lets no secret out either: the data source, its exports and its reports, on the logs of tests/test_secrets.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from metashell.codec.redaction import holds_secrets
from metashell.common.option_parser import parse_command
from metashell.disk.names import KNOWN_LOGS as LOGS
from metashell.tables.dictionary import COMMON_TABLES
from metashell.tables.read_options import SPARK_REPORTS
from metashell.tables.schemas import tables_of_log
from spark_reports.main import do_job
from tests.inspect.dump.making import LOG_NAME
from tests.secret_logs import LOGS as MADE_LOGS
from tests.secret_logs import SECRETS, content_of_table, found_in, found_in_files, write_logs
from tests.spark_reports.loads import batches_of

# pyspark itself warns: of sockets that it closes late, and of what it will call otherwise.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    write_logs(folder)
    for name in MADE_LOGS:  # or they would be copies of one log
        (folder / name / "meta.properties").write_text(f"version=1\ncluster.id={name}\nnode.id=1\n")
    return folder


def asked() -> list[tuple[str, str]]:
    """The tables in which a secret could stand, by kind of log."""
    found = [(log, table) for log in LOGS for table in COMMON_TABLES]
    return found + [(log, table.name) for log in LOGS for table in tables_of_log(log).values() if holds_secrets(table.value)]


@pytest.mark.parametrize("show", [False, True])
def test_no_table_of_the_data_source_holds_a_secret_unless_it_is_asked_for(root: Path, show: bool) -> None:
    options = {"paths": json.dumps([str(root / name / "hidden" / LOG_NAME) for name in MADE_LOGS]), "onError": "skip"}
    found: set[str] = set()
    for log, table in asked():
        batches = [*batches_of(table=table, log=log, showSecrets=str(show).lower(), **options)]
        told = found_in(content_of_table(pa.Table.from_batches(batches))) if batches else set()
        assert show or not told, (log, table)
        found |= told
    assert found == (set(SECRETS) if show else set())


@pytest.mark.parametrize("show", [False, True])
@pytest.mark.parametrize("job", ["export", "topic_history"])
def test_no_file_of_a_job_holds_a_secret_unless_it_is_asked_for(
    spark: Any, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], job: str, show: bool
) -> None:
    tables = [word for table in ("records", "faults", "config", "user_scram_credential") for word in ("--table", table)]
    paths = [str(root / name / "__cluster_metadata-0") for name in MADE_LOGS]
    words = [job, *paths, "--out", str(tmp_path), "--on-error", "skip", *(tables if job == "export" else [])]
    do_job(spark, parse_command(SPARK_REPORTS, [*words, *(["--show-secrets"] if show else [])]), None)
    assert bool(found_in_files(tmp_path)) is show
    printed = capsys.readouterr()
    assert not found_in((printed.out + printed.err).encode())
    if job == "export":
        written = [pyarrow.parquet.read_schema(path).metadata for path in tmp_path.rglob("*.parquet") if path.is_file()]
        assert {metadata[b"metashell.show_secrets"] for metadata in written} == {str(show).lower().encode()}
