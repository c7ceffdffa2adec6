"""How tests run Spark on this machine: quick to start, small, and quiet."""

from __future__ import annotations

from typing import Final

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
