"""Logs in S3 on Spark: the answers that files here give."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from metashell.demo import demo_directory
from metashell.reports.catalog import REPORTS
from metashell.reports.local import run_local
from tests.columns.test_remote_s3 import upload
from tests.s3 import KEY, REGION, SECRET


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
