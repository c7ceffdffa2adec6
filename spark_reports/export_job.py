"""The job behind `spark-reports export`: tables as Parquet below `table=NAME/cluster_id=ID/date=DAY/`.

For a copy on one machine `metashell export` is several times faster; this is for what Spark has to store, or for inputs that only
a cluster can read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from spark_reports.source import NAME

NO_TIME = ("faults",)
"""Tables whose rows have no timestamp, and so no date."""


def export_tables(spark: Any, paths: Sequence[str], out: str, tables: Sequence[str], *, options: dict[str, str] | None = None) -> None:
    """Write each table in a job of its own, Spark's committer making each appear whole.

    Errors: Spark's, if a folder exists already or a file is corrupt.
    """
    for table in tables:
        frame = load_table(spark, paths, table, options or {})
        keys = ["cluster_id"]
        if table not in NO_TIME:
            frame = frame.selectExpr("*", "to_date(timestamp_millis(timestamp)) as date")
            keys.append("date")
        frame.write.partitionBy(*keys).option("compression", "zstd").parquet(f"{out.rstrip('/')}/table={table}")


def load_table(spark: Any, paths: Sequence[str], table: str, options: dict[str, str]) -> Any:
    """A table of the given files as a DataFrame."""
    return spark.read.format(NAME).options(**options).option("table", table).option("paths", json.dumps(list(paths))).load()


def tables_present(spark: Any, paths: Sequence[str], options: dict[str, str]) -> list[str]:
    """The tables of record types that occur, and those that every log has; one more pass over the input."""
    from metashell.columns import tables

    types = load_table(spark, paths, "records", {**options, "columns": "type"}).distinct().collect()
    named = {(row["type"] or "").lower().removesuffix("_record") for row in types}
    return ["batches", "control", *sorted(named & set(tables()))]
