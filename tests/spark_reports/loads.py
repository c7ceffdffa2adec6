"""Loads of the data source without a JVM: what a session would plan, and the rows that its tasks would send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict

from spark_reports.source import KafkaMetadataSource

NAME = "00000000000000000000.log"


def source(**options: Any) -> KafkaMetadataSource:
    """A source with these options, as Spark hands them over."""
    return KafkaMetadataSource(CaseInsensitiveDict({name: str(value) for name, value in options.items()}))


def reader(**options: Any) -> Any:
    made = source(**options)
    return made.reader(made.schema())


def stream(**options: Any) -> Any:
    made = source(**options)
    return made.streamReader(made.schema())


def batches_of(**options: Any) -> Iterator[pa.RecordBatch]:
    made = reader(**options)
    return (batch for part in made.partitions() for batch in made.read(part))


def rows_of(**options: Any) -> list[dict[str, Any]]:
    return [row for batch in batches_of(**options) for row in batch.to_pylist()]
