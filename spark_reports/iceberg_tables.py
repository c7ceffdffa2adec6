"""Tables of Iceberg, in a catalog that Spark knows or, without one, in folders below `--out`.

A snapshot says in its summary which commit of which lake it is. Iceberg takes an append twice, so the snapshots from the current one back
to the one before the commit are asked first; where neither is found, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from zlib import crc32

from metashell.errors import MetashellError
from spark_reports.tables import DIVIDED_BY, Look, back_at, java_uri

OWN_CATALOG: Final = "metashell"
_COMMIT: Final = "metashell.commit"
_LAKE: Final = "metashell.lake"


class IcebergTables:
    def __init__(self, spark: Any, place: str, lake_id: str, catalog: str = "") -> None:
        self._spark = spark
        self._lake_id = lake_id
        self._top = "" if catalog else java_uri(place)
        # A session keeps a catalog as it was when it was asked first.
        self._space = catalog or f"{OWN_CATALOG}_{crc32(self._top.encode()):08x}"
        if catalog:
            self._open_space()
        else:
            settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop", ".warehouse": self._top, ".cache-enabled": "false"}
            for key, value in settings.items():
                spark.conf.set(f"spark.sql.catalog.{self._space}{key}", value)

    def _open_space(self) -> None:
        name, _, space = self._space.partition(".")
        if not self._spark.conf.get(f"spark.sql.catalog.{name}", ""):
            raise MetashellError(
                f"--catalog {self._space}: Spark has no catalog {name}: spark.sql.catalog.{name} is not set (conf/spark-defaults.conf, or "
                "spark-submit --conf)"
            )
        if space:
            self._spark.sql(f"create namespace if not exists {self._quoted(self._space)}")

    def shown(self, table: str) -> str:
        return f"{self._top.removeprefix('file:')}/{table}" if self._top else f"{self._space}.{table}"

    def look(self, table: str) -> Look | None:
        if not self._spark.catalog.tableExists(self._name(table)):
            return None
        loaded = self._loaded(table)
        snapshots = list(_snapshots(loaded))
        own = [said for _, said in snapshots if said.startswith(f"{self._lake_id}:")]
        return Look(
            is_ours=loaded.properties().get(_LAKE) == self._lake_id,
            number=int(own[0].rpartition(":")[2]) if own else 0,
            base=snapshots[0][0] if snapshots else None,
            schema=self._spark.table(self._name(table)).schema,
        )

    def has(self, table: str, number: int, base: str | None) -> bool:
        if not self._spark.catalog.tableExists(self._name(table)):
            return False
        is_whole = True
        for snapshot, said in _snapshots(self._loaded(table)):
            if said == self._said(number):
                return True
            if snapshot == base:
                return False
            is_whole = snapshot != ""
        if base is None and is_whole:
            return False
        raise MetashellError(
            f"{self.shown(table)}: an export to it was interrupted, and its snapshots were rolled back or expired since: nothing shows "
            f"whether commit {number} is in it"
        )

    def lost(self, table: str, look: Look, last: int, rows: int) -> str:
        for snapshot, said in _snapshots(self._loaded(table)):
            if snapshot == "":
                return ""
            lake, _, number = said.rpartition(":")
            if lake == self._lake_id:
                return "" if int(number) >= last else back_at(int(number), last)
        return back_at(0, last)

    def write(self, table: str, number: int, frame: Any, *, resets: bool) -> None:
        from pyspark.sql.functions import lit

        if not self._spark.catalog.tableExists(self._name(table)):
            self._make(table, frame)
        writer = (
            frame.writeTo(self._name(table))
            .option(f"snapshot-property.{_COMMIT}", self._said(number))
            .option("mergeSchema", "true")
            # Columns that came later stand behind those that were there.
            .option("check-ordering", "false")
            # What a task reads is of few clusters and days: it need not be sent to others by them.
            .option("distribution-mode", "none")
        )
        if resets:
            writer.overwrite(lit(True))
        else:
            writer.append()

    def _make(self, table: str, frame: Any) -> None:
        columns = self._spark._jvm.org.apache.spark.sql.types.StructType.fromJson(frame.schema.json()).toDDL()
        properties = {"format-version": "2", "write.spark.accept-any-schema": "true", _LAKE: self._lake_id}
        said = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self._spark.sql(
            f"create table if not exists {self._name(table)} ({columns}) using iceberg "
            f"partitioned by ({', '.join(DIVIDED_BY)}) tblproperties ({said})"
        )

    def _loaded(self, table: str) -> Any:
        loaded = self._spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._spark._jsparkSession, self._name(table))
        loaded.refresh()
        return loaded

    def _name(self, table: str) -> str:
        return self._quoted(f"{self._space}.{table}")

    def _quoted(self, name: str) -> str:
        return ".".join(f"`{part}`" for part in name.split("."))

    def _said(self, number: int) -> str:
        return f"{self._lake_id}:{number}"


def _snapshots(loaded: Any) -> Iterator[tuple[str, str]]:
    """The ids of the current snapshot and those before it, and which commit each says that it is; an empty id where older ones are gone."""
    snapshot = loaded.currentSnapshot()
    while snapshot is not None:
        yield str(snapshot.snapshotId()), snapshot.summary().get(_COMMIT) or ""
        parent = snapshot.parentId()
        if parent is None:
            return
        snapshot = loaded.snapshot(parent)
        if snapshot is None:
            yield "", ""
