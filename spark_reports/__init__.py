"""Kafka's metadata and coordinator logs in Spark: a data source, and jobs over it.

`source` is thin over metashell.tables: Spark plans splits on its driver, and each task yields the Arrow batches of its split; no Python
object is made for a record. `main` is the command `spark-reports`, which runs `report_job`, `export_job` or `stream_job`, on the SQL of
metashell.tables.reports. Nothing imports this package, nothing else imports pyspark, and it imports nothing of metashell.cli.

    import spark_reports
    spark_reports.register(spark)
    spark.read.format("kafka_metadata").option("table", "partition").load("/dumps/cluster-1")
"""

from __future__ import annotations

from typing import Any

__all__ = ["register"]


def register(spark: Any) -> None:
    """Make `kafka_metadata` known to a Spark session, and have its workers run this Python, where they run here.

    A session of Spark Connect (`sc://`) is one too; its server needs this package in the Python that its workers run.
    """
    from spark_reports.session import prepare_session
    from spark_reports.source import KafkaMetadataSource

    prepare_session(spark)
    spark.dataSource.register(KafkaMetadataSource)
