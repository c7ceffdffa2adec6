"""One Spark session for the tests of this folder, which end its JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.java import java
from tests.spark_settings import spark_session


@pytest.fixture(scope="package")
def spark() -> Iterator[Any]:
    java()
    with spark_session() as session:
        yield session
