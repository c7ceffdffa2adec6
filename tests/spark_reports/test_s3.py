"""Logs in S3 on Spark: the answers that files here give."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metashell.demo import demo_directory
from metashell.errors import PathError, UsageError
from metashell.reports.catalog import REPORTS
from metashell.reports.local import run_local
from metashell.stores import Store, open_store
from tests.columns.test_remote_s3 import upload
from tests.s3 import KEY, REGION, SECRET


def test_an_export_of_spark_into_a_store_has_what_one_into_a_folder_has(spark: Any, s3: str, s3_server: str, tmp_path: Path) -> None:
    from spark_reports.export_job import export_tables

    query = urlencode({"endpoint_override": s3_server, "region": REGION})
    out = f"{s3.replace('s3://', f's3a://{KEY}:{SECRET}@')}/out?{query}"
    rows = export_tables(spark, [demo_directory()], out, None, split_bytes=20_000)
    assert rows == export_tables(spark, [demo_directory()], str(tmp_path / "here"), None, split_bytes=20_000)
    here, there = open_store(str(tmp_path / "here")), open_store(f"{s3}/out")
    assert [file.name for file in there.files()] == [file.name for file in here.files()]
    for file in here.files("table=partition"):
        assert parquet_of(there, file.name) == parquet_of(here, file.name)
    shown = f"{s3.replace('s3:', 's3a:')}/out/table=topic"
    with pytest.raises(UsageError, match=f"^{shown}.*: is there already"):
        export_tables(spark, [demo_directory()], out, ["topic"])
    with pytest.raises(PathError, match="NO_SUCH_BUCKET"):
        export_tables(spark, [demo_directory()], out.replace("/out", "-none/out"), ["topic"])


def parquet_of(store: Store, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(store.read(name))).to_pylist()
    return rows


def test_a_report_on_spark_answers_as_from_files_here(spark: Any, s3: str, s3_server: str) -> None:
    from spark_reports.report_job import run_on_spark

    # Workers were started before this test had its environment: the URI says everything.
    query = urlencode({"endpoint_override": s3_server, "region": REGION})
    there = upload(f"{s3.replace('s3://', f's3a://{KEY}:{SECRET}@')}/logs?{query}", demo_directory())
    report = REPORTS["metadata_growth"]
    ((_, answer),) = run_on_spark(spark, [report], [there])
    expected = run_local([report], [demo_directory()]).tables[report.name]
    assert answer.to_pylist() == expected.to_pylist()
    assert len({row["checkpoint"] for row in answer.to_pylist()}) == 3
