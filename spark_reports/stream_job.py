"""The job behind `spark-reports stream`: what is appended to growing logs, as Parquet parts, until it is stopped."""

from __future__ import annotations

from typing import Any

from spark_reports.source import NAME


def start_stream(spark: Any, path: str, out: str, table: str, *, options: dict[str, str] | None = None, interval: str = "5 seconds") -> Any:
    """The running query that writes a table to `out/table=NAME`; how far it has read is kept in `out/_progress`, so it resumes."""
    frame = spark.readStream.format(NAME).options(**(options or {})).option("table", table).load(path)
    folder = out.rstrip("/")
    return (
        frame.writeStream.format("parquet")
        .option("path", f"{folder}/table={table}")
        .option("checkpointLocation", f"{folder}/_progress/{table}")
        .trigger(processingTime=interval)
        .start()
    )
