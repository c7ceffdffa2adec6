"""Tables of Delta Lake, each in a folder of its own below `--out`.

What makes a write happen once is Delta's own transaction identifier: a write of an application (the lake's id and the table) with a version
(the commit's number) that is not above the last one is left out by Delta itself, also where two do it at the same time.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from spark_reports.tables import DIVIDED_BY, Look, back_at, java_uri

_DELTA: Final = "delta"
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

    def look(self, table: str) -> Look | None:
        from pyspark.sql.types import StructType

        delta_log = self._spark._jvm.org.apache.spark.sql.delta.DeltaLog
        delta_log.clearCache()
        log = delta_log.forTable(self._spark._jsparkSession, self._path(table))
        if not log.tableExists():
            return None
        snapshot = log.unsafeVolatileSnapshot()
        done = snapshot.setTransactions()
        numbers = [each.version() for each in map(done.apply, range(done.size())) if each.appId() == self._application(table)]
        return Look(
            is_ours=bool(numbers),
            number=max(numbers, default=0),
            base=str(snapshot.version()),
            schema=StructType.fromJson(json.loads(snapshot.schema().json())),
        )

    def has(self, table: str, number: int, base: str | None) -> bool:
        found = self.look(table)
        return found is not None and found.number >= number

    def lost(self, table: str, look: Look, last: int, rows: int) -> str:
        """A restore makes a new version of old files, and leaves the transactions as they were: the versions before it are followed."""
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
                count = self._spark.read.format(_DELTA).load(self._path(table)).count()
                return "" if count >= rows else f"was put back to an earlier time, and has {count:,} rows, where the lake counts {rows:,}"
            version = int(found.restored["version"]) if found.restored else version - 1
        return ""

    def _version(self, table: str, number: int) -> _Version | None:
        """What made a version of a table, None where its log does not have that any more."""
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
            frame.write.format(_DELTA)
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
