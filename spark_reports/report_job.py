"""The job behind `spark-reports NAME`: the report's SQL over `kafka_metadata`, its answer brought to the driver and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions

from metashell.reports.answer import as_declared
from metashell.reports.catalog import BASES, DERIVED, Report, view_text
from metashell.reports.inputs import FAULTS, source_tables, tables_by_log
from metashell.reports.words import EARLIEST_MS, LATEST_MS
from spark_reports.source import NAME

Answers = Iterator[tuple[Report, pa.Table]]


def run_on_spark(spark: Any, reports: Sequence[Report], paths: Sequence[str], *, options: dict[str, str] | None = None) -> Answers:
    """The answers of reports over files and directories, one after another; each fits the driver: reports sum up or list changes.

    What several questions or views read is kept by Spark, in memory and then on disk, so that each file is decoded once for each table.
    """
    kept = list(_base_views(spark, reports, paths, options or {}))
    try:
        for report in reports:
            for view in report.views:
                if not spark.catalog.tableExists(view):
                    kept.append(_keep(spark.sql(view_text(view)), view))
            yield report, as_declared(report, spark.sql(report.sql).toArrow())
    finally:
        for name, frame in kept:
            spark.catalog.dropTempView(name)
            frame.unpersist()


def count_faults(spark: Any, reports: Sequence[Report], paths: Sequence[str], *, options: dict[str, str] | None = None) -> int:
    """How many places these reports leave out: one more pass, which decodes what they decode only where faults are skipped."""
    base_tables = sorted({table for report in reports for table in report.tables})
    skips = (options or {}).get("onError") == "skip"
    reader = spark.read.format(NAME).options(**(options or {})).option("table", FAULTS).option("columns", "offset")
    reader = reader.option("faultsOf", ",".join(sorted(source_tables(base_tables) - {"records"})) if skips else "")
    reader = reader.option("only", ",".join(tables_by_log(reports))).option("checkpoints", _checkpoints(reports))
    return int(reader.option("paths", json.dumps(list(paths))).load().count())


def _checkpoints(reports: Sequence[Report]) -> str:
    return "every" if any(report.wants_checkpoints for report in reports) else "needed"


def _base_views(spark: Any, reports: Sequence[Report], paths: Sequence[str], options: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Temporary views with the names and columns that the reports' SQL uses; each reads only what it needs."""
    for table in sorted({table for report in reports for table in report.tables}):
        # Their SQL is about numbers, as logs have them.
        reader = spark.read.format(NAME).options(**options).option("table", table).option("oldColumns", "true")
        reader = reader.option("paths", json.dumps(list(paths)))
        logs = dict.fromkeys(report.log for report in reports if table in report.tables)
        reader = reader.option("only", ",".join(logs)).option("checkpoints", _checkpoints(reports))
        if table not in DERIVED:
            reader = reader.option("columns", ",".join(BASES[table]))
        frame = reader.load()
        if table not in DERIVED:
            frame = frame.toDF(*BASES[table].values())
            time = functions.least(functions.lit(LATEST_MS), functions.greatest(functions.lit(EARLIEST_MS), "timestamp"))
            frame = frame.withColumn("timestamp", time)
        yield _keep(frame, table)


def _keep(frame: Any, name: str) -> tuple[str, Any]:
    frame = frame.persist()
    frame.createOrReplaceTempView(name)
    return name, frame
