"""How tests run Spark on this machine: quick to start, small, and quiet; and its JVM ends with the session, so that its time is counted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Inputs are tiny: to compile each query and to plan it again half way would be most of the time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.sql.session.timeZone": "UTC",
}
_END_S: Final = 120


@contextmanager
def spark_session(**settings: str) -> Iterator[Any]:
    """A session on two cores, with `kafka_metadata` registered."""
    os.environ["JDK_JAVA_OPTIONS"] = JAVA_OPTIONS
    from pyspark import SparkContext

    from spark_reports.session import open_session

    session = open_session("tests", "local[2]", {**SETTINGS, **settings})
    gateway: Any = SparkContext._gateway
    yield session
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_END_S)
    SparkContext._gateway = SparkContext._jvm = None
