"""Logs in S3 on Spark: the answers that files here give."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from metashell.common.errors import PathError, UsageError
from metashell.demo import demo_directory
from metashell.tables.reports.catalog import REPORTS
from metashell.tables.reports.local import run_local
from tests.s3 import KEY, REGION, SECRET
from tests.spark_reports.lakes import on_spark
from tests.tables.lake.lakes import rows as lake_rows
from tests.tables.lake.lakes import run
from tests.tables.test_remote_s3 import upload

pytestmark = pytest.mark.slow


def test_an_export_of_spark_into_a_store_has_what_one_into_a_folder_has(spark: Any, s3: str, s3_server: str, tmp_path: Path) -> None:
    query = urlencode({"endpoint_override": s3_server, "region": REGION})
    out = f"{s3.replace('s3://', f's3a://{KEY}:{SECRET}@')}/out?{query}"
    demo = Path(demo_directory())
    rows = on_spark(spark, out, demo, split_bytes=20_000).rows
    assert rows == on_spark(spark, tmp_path / "here", demo, split_bytes=20_000).rows
    for table in ("partition", "topic"):
        here, there = ([{**row, "file": ""} for row in lake_rows(place, table)] for place in (tmp_path / "here", out))
        assert here == there
    assert run(out, demo).rows == on_spark(spark, out, demo).rows == {}
    shown = f"{s3.replace('s3:', 's3a:')}/out"
    with pytest.raises(UsageError, match=f"^{shown}.*: is a lake already"):
        on_spark(spark, out, demo, mode="error")
    with pytest.raises(PathError, match=r"the bucket \S+ does not exist"):
        on_spark(spark, out.replace("/out", "-none/out"), demo)


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


def test_the_state_of_logs_in_a_store_is_that_of_files_here(spark: Any, s3: str, s3_server: str) -> None:
    query = urlencode({"endpoint_override": s3_server, "region": REGION})
    there = upload(f"{s3.replace('s3://', f's3a://{KEY}:{SECRET}@')}/state?{query}", demo_directory())
    load = spark.read.format("kafka_metadata").options(table="topics", columns="cluster_id,topic,topic_id_text")
    here = load.load(demo_directory()).toArrow()
    found = load.load(there).toArrow()
    assert found.drop_columns(["cluster_id"]) == here.drop_columns(["cluster_id"]) and here.num_rows > 1
    assert SECRET not in str(found.to_pylist())
    earlier = load.option("at", "100").load(there).toArrow()
    assert earlier.drop_columns(["cluster_id"]) == load.option("at", "100").load(demo_directory()).toArrow().drop_columns(["cluster_id"])
    assert 0 < earlier.num_rows < here.num_rows


def test_a_stream_into_a_store_says_which_jar_spark_lacks_for_its_progress(spark: Any) -> None:
    from spark_reports.stream_job import progress_place

    version = spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    with pytest.raises(UsageError, match=f"^s3://bucket/out: .*start it with org.apache.hadoop:hadoop-aws:{version} ") as caught:
        progress_place(spark, f"s3://{KEY}:{SECRET}@bucket/out")
    assert SECRET not in str(caught.value)
    with pytest.raises(UsageError, match=r"^gs://bucket/out: .*start it with com\.google\.cloud\.bigdataoss:gcs-connector "):
        progress_place(spark, "gs://bucket/out")
