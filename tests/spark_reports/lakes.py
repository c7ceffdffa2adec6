"""Lakes that Spark writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metashell.tables.lake.append import AppendOptions, AppendReport


def on_spark(spark: Any, out: Path | str, *paths: Path, split_bytes: int = 0, **options: Any) -> AppendReport:
    """The same as `tests.tables.lake.lakes.run`, by tasks of Spark."""
    from spark_reports.export_job import export_tables

    return export_tables(spark, AppendOptions(**{"paths": tuple(map(str, paths)), "out": str(out), **options}), split_bytes=split_bytes)
