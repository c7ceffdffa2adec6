"""Delta Lake and Iceberg: the jars that go with a release of Spark, and the settings of a session that writes their tables.

The one place that names versions. Each jar is built for one release of Spark, and fails in odd ways on any other.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.columns.lake.lake import PARQUET
from metashell.errors import MetashellError, UsageError
from metashell.installed import how_to_add
from metashell.stores import Store
from spark_reports.said import error_in
from spark_reports.session import is_submitted
from spark_reports.tables import java_uri

DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
NAMES: Final = {DELTA: "Delta Lake", ICEBERG: "Iceberg"}
_DELTA_VERSION: Final = "4.4.0"
_DELTA_PARTS: Final = ("delta-storage", "delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog")
RELEASES: Final = {
    DELTA: {"4.0": _DELTA_VERSION, "4.1": _DELTA_VERSION, "4.2": _DELTA_VERSION},
    ICEBERG: {"4.0": "1.11.0", "4.1": "1.12.0"},
}
"""The release of each format for a release of Spark; pyproject.toml has the same range for each extra."""
_CLASSES: Final = {DELTA: "io.delta.sql.DeltaSparkSessionExtension", ICEBERG: "org.apache.iceberg.spark.SparkCatalog"}
_SETTINGS: Final[dict[str, dict[str, str]]] = {
    DELTA: {
        "spark.sql.extensions": _CLASSES[DELTA],
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Fifty tasks read a table's log by default: for logs like ours that is most of the time.
        "spark.databricks.delta.snapshotPartitions": "2",
    },
    ICEBERG: {},
}
_IN_SPARK: Final = "com.*:*,commons-*:*,io.airlift:*,io.unitycatalog:*,javax.*:*,org.*:*"


def packages_of(table_format: str, spark_version: str) -> tuple[str, ...]:
    """What Maven calls the jars of a format: those that Spark does not have itself. Errors: UsageError where there are none."""
    spark = ".".join(spark_version.split(".")[:2])
    version = RELEASES[table_format].get(spark)
    if version is None:
        known = ", ".join(RELEASES[table_format])
        raise UsageError(
            f"--format {table_format}: {NAMES[table_format]} is known here for Spark {known}, and this is {spark_version}: "
            f"{how_to_add(table_format)}, or give jars for it with --jars",
            "--format",
        )
    if table_format == ICEBERG:
        return (f"org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:{version}",)
    return (f"io.delta:delta-spark_{spark}_2.13:{version}", *(f"io.delta:{part}:{version}" for part in _DELTA_PARTS))


def settings_for(table_format: str, jars: str) -> dict[str, str]:
    """The settings of a session that writes tables of a format; its jars come from Maven, unless they are given or spark-submit has them.

    Errors: UsageError where there are none for this Spark.
    """
    if table_format == PARQUET:
        return {}
    found = dict(_SETTINGS[table_format])
    if jars:
        found["spark.jars"] = jars
    elif not is_submitted():
        import pyspark

        found["spark.jars.packages"] = ",".join(packages_of(table_format, pyspark.__version__))
        if table_format == DELTA:
            # Its parts are all named. What else they ask for is in Spark, in the versions that it was built with.
            found["spark.jars.excludes"] = _IN_SPARK
    return found


def require_format(spark: Any, table_format: str, store: Store) -> None:
    """Errors: MetashellError where the session lacks a format's jars, or Java cannot reach the place of output."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    java, shown = spark._jvm, NAMES[table_format]
    try:
        java.java.lang.Class.forName(_CLASSES[table_format], False, java.Thread.currentThread().getContextClassLoader())
    except Py4JError:
        wanted = ",".join(packages_of(table_format, spark.version))
        what = f"--format {table_format}: Spark has no jars of {shown}"
        raise MetashellError(f"{what}: give them with --jars, or by spark-submit --packages {wanted}") from None
    path = java.org.apache.hadoop.fs.Path(java_uri(store.place))
    try:
        path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).exists(path)
    except (Py4JError, PySparkException) as error:
        raise MetashellError(f"{store.shown}: tables of {shown} are written by Java, which cannot reach it: {error_in(error)}") from None
