"""Tables that have a log of their own: Delta Lake's in folders below `--out`, Iceberg's in a catalog or in such folders.

Delta's own transaction identifier makes a write happen once: a write of an application (the lake's id and the table) with a version (the
commit's number) that is not above the last one is left out by Delta itself, also where two do it at the same time. Iceberg takes an
append twice; its snapshot's summary says which commit of which lake it is, so the snapshots from the current one back to the one before
the commit are read first; where neither is found, nothing is written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import unquote
from zlib import crc32

from metashell.common.errors import MetashellError, UsageError
from metashell.common.uris import URI_MARK, is_uri, shown_uri
from metashell.tables.stores.local import path_of_uri

DIVIDED_BY: Final = ("cluster_id", "date")
GLOB: Final = re.compile(r"([\[\]{}*?\\])")
"""Characters that Hadoop takes for a pattern, unless a backslash stands before them."""
_SCHEMES_OF_HADOOP: Final = {"s3": "s3a", "s3a": "s3a", "s3n": "s3a", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it is: whether this lake made it, the number of the last commit that is in it (0: none), and its columns.

    `base` is the newest of its own versions or snapshots, None where it has none.
    """

    is_ours: bool
    number: int
    base: str | None
    schema: Any


class Tables(Protocol):
    """The tables of one lake."""

    def shown(self, table: str) -> str:
        """Return a table's place or name, for messages."""
        ...

    def look(self, table: str) -> TableState | None:
        """Return the state of a table, None if there is none."""
        ...

    def has(self, table: str, number: int, base: str | None) -> bool:
        """Return whether a table has what commit `number` puts there; `base` is what its newest version was before.

        Errors: MetashellError where nothing shows that any more.
        """
        ...

    def lost(self, table: str, look: TableState, last: int, rows: int) -> str:
        """Return in words what a table lost of this lake when it was put back to an earlier version; else empty.

        `last` is the last commit that wrote to it, `rows` is what all of them wrote. Where its log does not go back far enough, nothing is
        known, and nothing is said.
        """
        ...

    def write(self, table: str, number: int, frame: Any, *, resets: bool) -> None:
        """Add rows to a table, created if there is none, or replace all that it has."""
        ...


def back_at(number: int, last: int) -> str:
    """Return the words for a table that was put back to what an earlier commit had made of it, or to before all of them."""
    then = f"after commit {number}" if number else "before any commit"
    return f"was put back to what it was {then} of this lake, which wrote to it until {last}"


def require_readable(place: str) -> None:
    """Errors: UsageError for a folder whose parts Spark cannot read: Hadoop takes a colon beside a quoted character for a scheme."""
    uri = java_uri(place)
    path = uri.partition(URI_MARK)[2].partition("/")[2] if URI_MARK in uri else uri.partition(":")[2]
    if ":" in path and (found := GLOB.search(path)):
        raise UsageError(
            f"{shown_uri(place)}: Java's file systems read no folder with both : and {found[0]} in its name: name another --out", "--out"
        )


def java_uri(place: str) -> str:
    """Return a folder as Java's file systems know it: unquoted, `s3a://` for `s3://`, without keys and settings, as plans show it."""
    if not is_uri(place):
        return _file_uri(os.path.abspath(place))
    scheme, _, rest = shown_uri(place).partition("?")[0].partition(URI_MARK)
    if scheme.lower() == "file":
        return _file_uri(path_of_uri(place))
    return f"{_SCHEMES_OF_HADOOP.get(scheme.lower(), scheme)}://{unquote(rest)}".rstrip("/")


def _file_uri(path: str) -> str:
    """Return a path as a URI: behind two slashes Java would look for a host."""
    return f"file:/{path.lstrip('/')}"


DELTA: Final = "delta"
# ---- Delta Lake

_VERSIONS_MAX: Final = 1000
"""So many versions of others behind the last one of ours are followed."""


class _Version(NamedTuple):
    """A version of a table: the number of the commit of ours that made it, or the parameters of a restore that did."""

    number: int | None
    restored: dict[str, Any]


class DeltaTables:
    def __init__(self, spark: Any, place: str, lake_id: str) -> None:
        self._spark = spark
        self._top = java_uri(place)
        self._lake_id = lake_id

    def shown(self, table: str) -> str:
        return f"{self._top.removeprefix('file:')}/{table}"

    def look(self, table: str) -> TableState | None:
        from pyspark.sql.types import StructType

        delta_log = self._spark._jvm.org.apache.spark.sql.delta.DeltaLog
        delta_log.clearCache()
        log = delta_log.forTable(self._spark._jsparkSession, self._path(table))
        if not log.tableExists():
            return None
        snapshot = log.unsafeVolatileSnapshot()
        done = snapshot.setTransactions()
        numbers = [each.version() for each in map(done.apply, range(done.size())) if each.appId() == self._application(table)]
        return TableState(
            is_ours=bool(numbers),
            number=max(numbers, default=0),
            base=str(snapshot.version()),
            schema=StructType.fromJson(json.loads(snapshot.schema().json())),
        )

    def has(self, table: str, number: int, base: str | None) -> bool:
        found = self.look(table)
        return found is not None and found.number >= number

    def lost(self, table: str, look: TableState, last: int, rows: int) -> str:
        """Return how a table lost commits, empty if it did not. A restore keeps the transactions, so versions before it are followed."""
        version = int(look.base or 0)
        for _ in range(_VERSIONS_MAX):
            if version < 0:
                return back_at(0, last)
            found = self._version(table, version)
            if found is None:
                return ""
            if found.number is not None:
                return "" if found.number >= last else back_at(found.number, last)
            if found.restored.get("timestamp") is not None:
                # Which version that was depends on the time zone of who did it.
                count = self._spark.read.format(DELTA).load(self._path(table)).count()
                return "" if count >= rows else f"was put back to an earlier time, and has {count:,} rows, where the lake counts {rows:,}"
            version = int(found.restored["version"]) if found.restored else version - 1
        return ""

    def _version(self, table: str, number: int) -> _Version | None:
        """Return what made a version of a table, None if its log does not have that any more."""
        java = self._spark._jvm
        path = java.org.apache.hadoop.fs.Path(f"{self._path(table)}/_delta_log/{number:020d}.json")
        files = path.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())
        if not files.exists(path):
            return None
        stream = files.open(path)
        try:
            lines = java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8").split("\n")
        finally:
            stream.close()
        said = [json.loads(line) for line in lines if line.startswith(('{"commitInfo":', '{"txn":'))]
        own = [each["txn"]["version"] for each in said if each.get("txn", {}).get("appId") == self._application(table)]
        infos = [each["commitInfo"] for each in said if each.get("commitInfo", {}).get("operation") == "RESTORE"]
        return _Version(max(own, default=None), infos[0].get("operationParameters", {}) if infos else {})

    def write(self, table: str, number: int, frame: Any, *, resets: bool) -> None:
        (
            frame.write.format(DELTA)
            .mode("overwrite" if resets else "append")
            .option("txnAppId", self._application(table))
            .option("txnVersion", str(number))
            .option("mergeSchema", "true")
            # A session may be set to replace only the partitions that come.
            .option("partitionOverwriteMode", "static")
            .partitionBy(*DIVIDED_BY)
            .save(self._path(table))
        )

    def _path(self, table: str) -> str:
        return f"{self._top}/{table}"

    def _application(self, table: str) -> str:
        return f"metashell {self._lake_id} {table}"


# ---- Iceberg

OWN_CATALOG: Final = "metashell"
_COMMIT: Final = "metashell.commit"
_LAKE: Final = "metashell.lake"


class IcebergTables:
    def __init__(self, spark: Any, place: str, lake_id: str, catalog: str = "") -> None:
        self._spark = spark
        self._lake_id = lake_id
        self._top = "" if catalog else java_uri(place)
        # A session keeps a catalog as it was at its first use.
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

    def look(self, table: str) -> TableState | None:
        if not self._spark.catalog.tableExists(self._name(table)):
            return None
        loaded = self._loaded(table)
        snapshots = list(_snapshots(loaded))
        own = [said for _, said in snapshots if said.startswith(f"{self._lake_id}:")]
        return TableState(
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

    def lost(self, table: str, look: TableState, last: int, rows: int) -> str:
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
    """Yield the ids of the current snapshot and those before it, each with its commit; an empty id where older ones are gone."""
    snapshot = loaded.currentSnapshot()
    while snapshot is not None:
        yield str(snapshot.snapshotId()), snapshot.summary().get(_COMMIT) or ""
        parent = snapshot.parentId()
        if parent is None:
            return
        snapshot = loaded.snapshot(parent)
        if snapshot is None:
            yield "", ""
