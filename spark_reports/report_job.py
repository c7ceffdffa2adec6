"""The job behind `spark-reports NAME`: the report's SQL over `kafka_metadata`, its answer brought to the driver and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Window, functions

from metashell.disk.names import METADATA, LogKind
from metashell.tables.reports import uncommitted
from metashell.tables.reports.catalog import BASES, DERIVED, EARLIEST_MS, LATEST_MS, Report, view_text, with_places
from metashell.tables.reports.local import as_declared, base_tables_of, source_tables, tables_by_log
from metashell.tables.schemas import FAULTS
from spark_reports.source import NAME

Answers = Iterator[tuple[Report, pa.Table]]


def run_on_spark(spark: Any, reports: Sequence[Report], paths: Sequence[str], *, options: dict[str, str] | None = None) -> Answers:
    """Return the answers of reports over files and directories, one after another; each fits the driver: reports sum up or list changes.

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
        # What others are built on goes last: Spark plans those anew whose base it drops.
        for name, frame in reversed(kept):
            spark.catalog.dropTempView(name)
            frame.unpersist()


def count_faults(spark: Any, reports: Sequence[Report], paths: Sequence[str], *, options: dict[str, str] | None = None) -> int:
    """Return how many places these reports leave out: one more pass over the same records, needed only if faults are skipped."""
    base_tables = base_tables_of(reports)
    skips = (options or {}).get("onError") == "skip"
    reader = spark.read.format(NAME).options(**(options or {})).option("table", FAULTS).option("columns", "offset")
    reader = reader.option("faultsOf", ",".join(sorted(source_tables(base_tables) - {"records"})) if skips else "")
    reader = reader.option("only", ",".join(tables_by_log(reports))).option("checkpoints", _checkpoints(reports))
    return int(reader.option("paths", json.dumps(list(paths))).load().count())


def _checkpoints(reports: Sequence[Report]) -> str:
    return "every" if any(report.wants_checkpoints for report in reports) else "needed"


def _base_views(spark: Any, reports: Sequence[Report], paths: Sequence[str], options: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Temporary views with the names and columns that the reports' SQL uses; each reads only what it needs."""
    spans = _undone(spark, paths, options) if any(report.log == METADATA for report in reports) else []
    for table in sorted({table for report in reports for table in report.tables}):
        logs = dict.fromkeys(report.log for report in reports if table in report.tables)
        frame = _base(spark, table, logs, paths, options, _checkpoints(reports))
        happened = uncommitted.committed_sql(table, spans)
        yield _keep(frame if happened is None else frame.where(happened), table)


def _base(spark: Any, table: str, logs: Iterable[LogKind], paths: Sequence[str], options: dict[str, str], checkpoints: str) -> Any:
    # Their SQL is about numbers, as logs have them.
    reader = spark.read.format(NAME).options(**options).option("table", table).option("oldColumns", "true")
    reader = reader.option("paths", json.dumps(list(paths))).option("only", ",".join(logs)).option("checkpoints", checkpoints)
    if table in DERIVED:
        return reader.load()
    frame = reader.option("columns", ",".join(BASES[table])).load().toDF(*BASES[table].values())
    time = functions.least(functions.lit(LATEST_MS), functions.greatest(functions.lit(EARLIEST_MS), "timestamp"))
    return frame.withColumn("timestamp", time)


def _undone(spark: Any, paths: Sequence[str], options: dict[str, str]) -> list[uncommitted.Span]:
    """Return the spans of the metadata log that were never committed."""

    def of_log(table: str) -> Any:
        return _base(spark, table, [METADATA], paths, options, "needed").where(with_places("not in_checkpoint(file)"))

    def places(table: str) -> list[uncommitted.Place]:
        happened = uncommitted.committed_sql(table, overwritten) or "true"
        return [tuple(row) for row in of_log(table).where(happened).select("cluster_id", "log_offset").collect()]

    def has_gap_after(place: uncommitted.Place) -> bool:
        cluster, offset = place
        rows = of_log(uncommitted.BATCHES).where(functions.col("cluster_id") == cluster)
        before = Window.orderBy("log_offset").rowsBetween(Window.unboundedPreceding, -1)
        end = functions.max(functions.col("log_offset") + functions.col("count")).over(before)
        return not rows.withColumn("end", end).where(f"log_offset > end and log_offset > {offset}").isEmpty()

    begun = of_log(uncommitted.CONTROL).where("type = 'LEADER_CHANGE'").select("cluster_id", "file", "epoch", "log_offset").collect()
    runs = of_log(uncommitted.BATCHES).groupBy("cluster_id", "file", "epoch")
    read = runs.agg(functions.min("log_offset"), functions.max("log_offset")).collect()
    overwritten = uncommitted.overwritten_spans((uncommitted.Election(*row) for row in begun), (uncommitted.Run(*row) for row in read))
    begins = places(uncommitted.BEGIN)
    ends, aborts = (places(table) if begins else [] for table in (uncommitted.END, uncommitted.ABORT))
    return [*overwritten, *uncommitted.transaction_spans(begins, ends, aborts, has_gap_after)]


def _keep(frame: Any, name: str) -> tuple[str, Any]:
    frame = frame.persist()
    frame.createOrReplaceTempView(name)
    return name, frame
