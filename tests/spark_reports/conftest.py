"""One Spark session for all tests of a run, on a JVM that is set up to start fast."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.java import java


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores, with `kafka_metadata` registered."""
    java()
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    from spark_reports.session import open_session

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        # Inputs are tiny: to compile each query and to plan it again half way would be most of the time.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
    }
    session = open_session("tests", "local[2]", settings)
    yield session
    session.stop()
