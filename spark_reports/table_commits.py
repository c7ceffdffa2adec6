"""Commits of rows to tables of Delta Lake or Iceberg: the same commits as of Parquet, with other steps in the middle.

    2  the pending file says also how each table was before, and which Java writes to them
    4  each table gets its rows, unless it says that it has them

All checks come before step 2, as far as possible: once a table has a commit it is never undone, since another commit of that number would
be left out there. Whoever completes it waits until the Java of the one before has ended.

The versions of Delta Lake's and Iceberg's jars stand here and nowhere else. Each jar is built for one release of Spark, and fails in odd
ways on any other."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from metashell.common.errors import MetashellError, UsageError
from metashell.common.runtime import how_to_add
from metashell.tables.lake.commit import Commits
from metashell.tables.lake.layout import PARQUET, Pending, read_format
from metashell.tables.lake.ledger import Commit, LakeState
from metashell.tables.schemas import SPARK_ROW_METADATA
from metashell.tables.stores import Held, Store
from metashell.tables.stores.locks import describe_owner, owner_text
from spark_reports.session import error_from, is_submitted
from spark_reports.table_logs import DELTA, GLOB, Tables, TableState, java_uri

_WAIT_S: Final = 20.0
_ANEW: Final = "write all anew with --mode overwrite"


class TableCommits(Commits):
    """Commits to the tables that `open_tables(lake id)` gives."""

    can_rewrite = False
    divides = False

    def __init__(self, spark: Any, table_format: str, open_tables: Any) -> None:
        self.table_format = table_format
        self._spark = spark
        self._open_tables = open_tables
        self._begun = ""

    def prepared(self, store: Store, state: LakeState, commit: Commit, staged: Sequence[str]) -> dict[str, Any]:
        """Return what has to be known of the tables if this is interrupted. Errors: MetashellError where one is not as the lake left it."""
        tables = self._tables(store, commit)
        parts = _by_table(commit, staged)
        # An overwrite counts as the last commit of each table that there ever was, so one that has no rows gets it too.
        looks = {table: tables.look(table) for table in sorted({*parts, *(state.last if commit.is_reset else ())})}
        for table, look in looks.items():
            if look is not None or not commit.is_reset:
                _require_ours(tables, table, look, state)
            if table in parts:
                _require_fit(tables, table, look, self._staged(store, parts[table]))
        bases = {table: None if look is None else look.base for table, look in looks.items() if look is not None or table in parts}
        self._begun = commit.id
        return {"bases": bases, "writer": self._java()}

    def require_kept(self, store: Store, state: LakeState) -> None:
        if not state.last:
            return
        lake = read_format(store)
        assert lake is not None, "what has commits is a lake"
        tables: Tables = self._open_tables(lake.id)
        for table, last in sorted(state.last.items()):
            look = tables.look(table)
            _require_ours(tables, table, look, state)
            if look is not None and (lost := tables.lost(table, look, last, state.rows.get(table, 0))):
                raise UsageError(f"{tables.shown(table)}: {lost}: put it forward again, or {_ANEW}", "--out")

    def place(self, store: Store, held: Held, pending: Pending) -> None:
        self._wait_for(store, pending.more["writer"])
        commit = pending.commit
        tables, parts = self._tables(store, commit), _by_table(commit, pending.staged)
        for table, base in pending.more["bases"].items():
            # No table can have a commit that has just begun: only commits that another run began are looked up.
            if commit.id == self._begun or not tables.has(table, commit.number, base):
                _require_parts(store, table, commit, parts.get(table, ()))
                frame = self._staged(store, parts[table]) if table in parts else self._nothing(tables, table)
                held.require()
                tables.write(table, commit.number, frame, resets=commit.is_reset)

    def may_finish(self, store: Store, pending: Pending) -> bool:
        """Return whether its parts are there, or a table has it: then it is completed, or an operator has to look."""
        self._wait_for(store, pending.more["writer"])
        tables, bases = self._tables(store, pending.commit), pending.more["bases"]
        return pending.is_complete(store) or any(tables.has(table, pending.commit.number, base) for table, base in bases.items())

    def kept(self, commit: Commit) -> Commit:
        """Return a commit as the ledger keeps it, without files, which the tables' own logs name."""
        return replace(commit, added=(), removed=())

    def _tables(self, store: Store, commit: Commit) -> Tables:
        lake = commit.format or read_format(store)
        assert lake is not None, "what is not the first commit finds a lake"
        opened: Tables = self._open_tables(lake["id"] if isinstance(lake, dict) else lake.id)
        return opened

    def _staged(self, store: Store, names: Sequence[str]) -> Any:
        """Return the rows of files that tasks have written, with the columns that these say themselves."""
        top = java_uri(store.place)
        schema = _schema_of(store, names[0])
        reader = self._spark.read.schema(schema)
        for ignored in ("ignoreCorruptFiles", "ignoreMissingFiles"):
            # A session may be set so, and rows that count as read would be missing.
            reader = reader.option(ignored, "false")
        return reader.parquet(*(GLOB.sub(r"\\\1", f"{top}/{name}") for name in names))

    def _nothing(self, tables: Tables, table: str) -> Any:
        look = tables.look(table)
        if look is None:
            raise MetashellError(f"{tables.shown(table)}: is gone since an export was interrupted that has to remove its rows")
        return self._spark.createDataFrame([], look.schema)

    def _java(self) -> dict[str, Any]:
        """Return the Java that writes: it may live on for a moment when its Python is gone."""
        number = self._spark._jvm.java.lang.ProcessHandle.current().pid()
        return {**describe_owner("spark-reports export"), "pid": number, "started": _started(number)}

    def _wait_for(self, store: Store, writer: dict[str, Any]) -> None:
        """Errors: MetashellError where another Java is still there that may write."""
        until = time.monotonic() + _WAIT_S
        while self._java()["pid"] != writer["pid"] and _is_alive(writer):
            if time.monotonic() > until:
                raise MetashellError(f"{store.shown}: {owner_text(writer)} was interrupted, and its Java still runs: end it first")
            time.sleep(0.2)


def _is_alive(writer: dict[str, Any]) -> bool:
    """Return whether a process is known to run: one of this machine, started when it was. Of other machines nothing is known."""
    is_here = bool(writer["machine"]) and describe_owner("")["machine"] == writer["machine"]
    return is_here and bool(writer["started"]) and _started(writer["pid"]) == writer["started"]


def _started(process_id: int) -> str:
    """Return a local process's start time in clock ticks since boot, which tells it from others of its id; empty if unknown."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _by_table(commit: Commit, staged: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, file in zip(staged, commit.added, strict=True):
        found.setdefault(file.table, []).append(source)
    return found


def _require_parts(store: Store, table: str, commit: Commit, names: Sequence[str]) -> None:
    there = store.sizes(names)
    for name in names:
        if name not in there:
            said = f"is gone, and table {table} has not got its rows of commit {commit.number} yet: nothing completes it without"
            raise MetashellError(f"{store.shown_name(name)}: {said}")


def _schema_of(store: Store, name: str) -> Any:
    """Return the columns of a file as it says them for Spark; each may be null, as later files may lack it."""
    from pyarrow.parquet import ParquetFile
    from pyspark.sql.types import StructType

    place: Any = store.sink(name)
    with ParquetFile(place) if isinstance(place, str) else ParquetFile(place[1], filesystem=place[0]) as file:
        said = file.metadata.metadata[SPARK_ROW_METADATA.encode()]
    return StructType.fromJson(_nullable(json.loads(said)))


def _nullable(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_nullable(each) for each in kind]
    if isinstance(kind, dict):
        return {key: True if key in ("nullable", "containsNull", "valueContainsNull") else _nullable(value) for key, value in kind.items()}
    return kind


def _require_ours(tables: Tables, table: str, look: TableState | None, state: LakeState) -> None:
    shown, count = tables.shown(table), state.rows.get(table, 0)
    if look is None:
        if count:
            raise UsageError(f"{shown}: is gone, and the lake counts {count:,} rows in it: put it back, or {_ANEW}", "--out")
    elif not look.is_ours:
        raise UsageError(f"{shown}: is there already, and this lake has not made it: name another --out", "--out")
    elif look.number > state.number:
        said = f"has commit {look.number} of this lake, whose ledger ends at {state.number}"
        raise UsageError(f"{shown}: {said}: the ledger was put back, or is a copy; name another --out", "--out")


def _require_fit(tables: Tables, table: str, look: TableState | None, frame: Any) -> None:
    there = {} if look is None else {field.name: _kind(field) for field in look.schema}
    for field in frame.schema:
        kind = _kind(field)
        if there.get(field.name, kind) != kind:
            said = f"column {field.name} is {there[field.name]} there, and {kind} in this version of metashell"
            raise UsageError(f"{tables.shown(table)}: {said}: name another --out", "--out")


def _kind(field: Any) -> str:
    """Return a type; Iceberg has no smaller numbers than int."""
    return re.sub(r"\b(?:tinyint|smallint)\b", "int", field.dataType.simpleString())


# ---- jars and settings of a format

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
    """Return Maven's names of the jars of a format that Spark does not have itself. Errors: UsageError where there are none."""
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
    """Return the settings of a session that writes tables of a format; jars come from Maven, unless given or from spark-submit.

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
        raise MetashellError(f"{store.shown}: tables of {shown} are written by Java, which cannot reach it: {error_from(error)}") from None
