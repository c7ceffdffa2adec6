"""The data source `kafka_metadata`: one table of the given files and directories, one partition a split, Arrow batches only.

A table of the state (`topics`, `partitions`, `brokers` and so on, see columns/state) has one partition a cluster; all others are events.
The option `at` asks for the state as of an offset or a time.

Options: `table` (default `records`), `columns` (names with commas between; Spark prunes none by itself), `onError` (`fail` or `skip`),
`showSecrets`, `splitBytes`, `log` (the kind of log where nothing else says it), `only` (kinds of logs: others are not read),
`checkpoints` (`every`: not only those that replay needs). Skipped faults are rows of the table `faults`; `faultsOf`
names the tables whose records are decoded for it, which finds those that are at fault within.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from metashell.columns import ReadOptions, Split, plan_splits, read_split, tables
from metashell.columns.decode.options import OnError
from metashell.columns.inputs.splits import logs_of, require_logs
from metashell.columns.names import STATE_TABLES
from metashell.columns.state.tables import state_schemas
from metashell.errors import UsageError
from metashell.log.kinds import KNOWN_LOGS, LogKind
from metashell.reports.derived import TABLES

NAME = "kafka_metadata"
SPLIT_BYTES = 32 << 20
"""A task's share of a large input. Of a small one the shares are smaller, so that there are tasks for all cores."""
SPLIT_BYTES_MIN = 8 << 20
TASKS_WANTED = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a load asks for: a table, the columns of it in order, and how it is read."""

    table: str
    columns: tuple[str, ...]
    options: ReadOptions

    @property
    def schema(self) -> pa.Schema:
        """The table's schema, of the wanted columns only."""
        whole = table_schema(self.table)
        return pa.schema([whole.field(name) for name in self.columns])

    def of_its_logs(self, splits: Sequence[Split]) -> list[Split]:
        """The splits without what lies in logs that are not read."""
        logs = self.options.tables_by_log
        if logs is None:
            return list(splits)
        return [left for split in splits if (left := Split(tuple(piece for piece in split.pieces if piece.log in (None, *logs)))).pieces]

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split."""
        for table, batch in read_split(split, self.options):
            if self.table in TABLES and table in TABLES[self.table].sources:
                batch, table = TABLES[self.table].rows_of(table, batch), self.table
            if table == self.table and batch.num_rows:
                yield pa.RecordBatch.from_arrays([batch.column(name) for name in self.columns], schema=self.schema)


@dataclass(frozen=True)
class SplitPartition(InputPartition):
    """A task's share."""

    split: Split


class KafkaMetadataSource(DataSource):
    """What `spark.read.format("kafka_metadata")` and `spark.readStream.format(...)` make."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return from_arrow_schema(wanted(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        asked = wanted(self.options)
        if asked.table in STATE_TABLES:
            from spark_reports.state import StateReader

            return StateReader(load_paths(self.options), asked, self.options.get("at", ""))
        return SplitReader(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from spark_reports.stream import GrowingFilesReader

        if (table := wanted(self.options).table) in STATE_TABLES:
            raise UsageError(f"table {table} is of the state, which is read as a whole: only tables of events can be streamed", table)
        return GrowingFilesReader(self.options)


class SplitReader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths = load_paths(options)
        self.split_bytes = split_bytes(options)
        self.log = kind_of_log(options)
        self.every_checkpoint = options.get("checkpoints") == "every"
        self.wanted = wanted(options)

    def partitions(self) -> Sequence[InputPartition]:
        splits = balanced_splits(self.paths, self.split_bytes, self.log, every_checkpoint=self.every_checkpoint)
        require_logs(logs_of(splits), sources_of(self.wanted.table), self.paths)
        splits = self.wanted.of_its_logs(splits)
        # Spark wants one partition at least, and an input may hold no batch at all.
        return [SplitPartition(split) for split in splits or [Split(())]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.wanted.batches(cast(SplitPartition, partition).split)


def balanced_splits(paths: Sequence[str], wanted_bytes: int, log: LogKind | None, *, every_checkpoint: bool = False) -> list[Split]:
    """The splits of an input, of `wanted_bytes` each; where that is 0, so that there is work for all cores."""
    splits = plan_splits(paths, wanted_bytes or SPLIT_BYTES, log=log, every_checkpoint=every_checkpoint)
    share = max(sum(split.bytes for split in splits) // TASKS_WANTED, SPLIT_BYTES_MIN)
    if not wanted_bytes and share < SPLIT_BYTES and len(splits) < TASKS_WANTED:
        return plan_splits(paths, share, log=log, every_checkpoint=every_checkpoint)
    return splits


def table_schema(table: str) -> pa.Schema:
    """The schema of a table. Errors: UsageError for a name that none has."""
    if table in TABLES:
        return TABLES[table].schema
    known = {**state_schemas("raw"), **tables()}
    if table not in known:
        raise UsageError(f"unknown table {table}; there are {', '.join([*known, *TABLES])}", table)
    return known[table]


def sources_of(table: str) -> tuple[str, ...]:
    """The tables of columns/ that a table is made of."""
    return tuple(TABLES[table].sources) if table in TABLES else (table,)


def wanted(options: Mapping[str, str]) -> Wanted:
    """What the options of a load ask for. Errors: UsageError."""
    table = options.get("table", "records")
    names = table_schema(table).names
    columns = names_in(options, "columns") or tuple(names)
    for column in columns:
        if column not in names:
            raise UsageError(f"table {table} has no column {column}; it has {', '.join(names)}", column)
    on_error = options.get("onError", "fail")
    if on_error not in ("fail", "skip"):
        raise UsageError(f"option onError is fail or skip, not {on_error}", on_error)
    read = frozenset(sources_of(table)) if table in TABLES else frozenset((table, *names_in(options, "faultsOf")))
    only = names_in(options, "only")
    return Wanted(
        table,
        columns,
        ReadOptions(
            tables=read,
            tables_by_log={known_log(name, "only"): read for name in only} if only else None,
            on_error=cast(OnError, on_error),
            show_secrets=options.get("showSecrets", "false").lower() == "true",
            payloads="payload" in columns,
        ),
    )


def kind_of_log(options: Mapping[str, str]) -> LogKind | None:
    """The kind that the option `log` names. Errors: UsageError."""
    return known_log(options["log"], "log") if options.get("log") else None


def known_log(name: str, option: str) -> LogKind:
    """A kind of log by its name. Errors: UsageError."""
    for kind in KNOWN_LOGS:
        if kind == name:
            return kind
    raise UsageError(f"option {option} is one of {', '.join(KNOWN_LOGS)}, not {name}", name)


def names_in(options: Mapping[str, str], option: str) -> tuple[str, ...]:
    """The names that an option lists, with commas between."""
    return tuple(name.strip() for name in options.get(option, "").split(",") if name.strip())


def load_paths(options: Mapping[str, Any]) -> list[str]:
    """The paths of a load: one as Spark's option `path`, several as `paths`, a JSON array. Errors: UsageError if there is none."""
    several = options.get("paths")
    if several:
        return [str(path) for path in json.loads(several)]
    if options.get("path"):
        return [str(options["path"])]
    raise UsageError("load() needs a path: a log, a checkpoint, or a directory of them")


def split_bytes(options: Mapping[str, str]) -> int:
    """The wanted size of a task's share, 0 where the command line leaves it open."""
    return int(options.get("splitBytes", 0))
