"""One Spark session for all tests of a run, on a JVM that is set up to start fast."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.java import java
from tests.spark_settings import JAVA_OPTIONS, SETTINGS


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores, with `kafka_metadata` registered."""
    java()
    os.environ["JDK_JAVA_OPTIONS"] = JAVA_OPTIONS
    from spark_reports.session import open_session

    session = open_session("tests", "local[2]", SETTINGS)
    yield session
    session.stop()
