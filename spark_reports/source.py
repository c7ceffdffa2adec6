"""The data source `kafka_metadata`: tables of the given files and directories, one partition a split, Arrow batches only.

A table of the state (`topics`, `partitions`, `brokers` and so on, see columns/state) has one partition a cluster; all others are events.
The option `at` asks for the state as of an offset or a time.

Options: `table` (default `records`) or `tables` (several in one pass: a row has `table`, and its columns in the struct of that name),
`columns` (names with commas between; `.schema(...)` does the same; Spark prunes none by itself), `onError` (`fail` or `skip`),
`showSecrets`, `oldColumns` (numbers for times, bytes for ids), `splitBytes`, `log` (the kind of log where nothing else says it), `only`
(kinds of logs: others are not read), `checkpoints` (`every`: not only those that replay needs). Skipped faults are rows of the table
`faults`; `faultsOf` names the tables whose records are decoded for it, which finds those that are at fault within.

Paths may be patterns. The option `where` has conditions that the source applies itself: by `offset`, `epoch` and `timestamp` batches are
passed over by their headers, and where possible not read at all, so what is damaged there is not reported; all others save rows on their
way to Spark. `pushdown` (`true`) does the same with the filters of a query, for loads that only one query uses: see `where`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from metashell.columns import Split, plan_splits
from metashell.columns.bounds import Bounds
from metashell.columns.decode.options import OF_BODIES
from metashell.columns.decode.reader import read_piece
from metashell.columns.inputs.globs import places_of
from metashell.columns.inputs.splits import require_logs
from metashell.columns.meanings.comments import spark_row_metadata
from metashell.columns.schemas import FAULTS
from metashell.columns.typed.shapes import shaped
from metashell.columns.typed.tables import raw_columns, spark_batch, typed_batch
from metashell.errors import UsageError
from metashell.log.kinds import LogKind
from metashell.reports.derived import TABLES
from spark_reports.asked import TABLE, Asked, asked_by, table_schema, with_columns
from spark_reports.filters import Filters, judged, with_bounds
from spark_reports.where import conditions
from spark_reports.worker import begin_task

NAME = "kafka_metadata"
SPLIT_BYTES = 32 << 20
"""A task's share of a large input. Of a small one the shares are smaller, so that there are tasks for all cores."""
SPLIT_BYTES_MIN = 8 << 20
TASKS_WANTED = 64
KNOWS_FILTERS = hasattr(datasource, "Filter")
"""Filters are pushed down from Spark 4.1 on."""


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
        return spark_types(asked_by(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        asked = asked_by(self.options)
        if asked.is_state:
            from spark_reports.state import StateReader

            rows = Rows(asked, schema)
            return StateReader(rows.asked, rows.schema)
        return PushingReader(asked, schema) if asked.pushes and KNOWS_FILTERS else SplitReader(asked, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from spark_reports.stream import GrowingLogsReader

        asked = asked_by(self.options)
        if asked.is_state:
            raise UsageError(
                f"table {asked.table} is of the state, which is read as a whole: only tables of events can be streamed", asked.table
            )
        return GrowingLogsReader(asked, schema)


class Rows:
    """Makes the rows of splits as they are asked for, in the form of `schema`, which is that of the load or was given with it."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        if asked.is_one and tuple(schema.names) != asked.columns:
            asked = with_columns(asked, schema.names)
        self.asked = asked
        self.own = asked.schema
        self.schema = _agreed(self.own, schema)
        self.is_cast = self.schema is not self.own
        whole = table_schema(asked.table, asked.options.columns) if asked.is_one else asked.schema
        self._apply(Filters(conditions(asked.where, whole)) if asked.where else Filters(), whole)

    def push(self, filters: list[Any]) -> None:
        """Take the filters that can be judged here, besides those of the load."""
        whole = self.asked.schema
        self._apply(Filters((*self.filters.tests, *judged(filters, whole).tests)), whole)

    def _apply(self, filters: Filters, whole: pa.Schema) -> None:
        self.filters = filters
        # The rows of faults are of places, and those of derived tables of more than one record.
        if self.asked.is_one and self.asked.table != FAULTS and self.asked.table not in TABLES:
            self.filters = with_bounds(filters, whole)
            needs_payload = any(test.column in OF_BODIES for test in filters.tests)
            options = replace(self.asked.options, only=self.bounds, payload_types=self.filters.payload_types, fields=self._fields())
            self.asked = replace(self.asked, options=replace(options, payloads=options.payloads or needs_payload))

    def _fields(self) -> frozenset[str] | None:
        """The raw columns that rows and filters need, None for all; no others are made of what was read."""
        if self.asked.is_state:
            return None
        wanted = self._wanted()
        return raw_columns(self.asked.table, wanted) if self.asked.options.columns == "typed" else wanted

    def _wanted(self) -> frozenset[str]:
        return frozenset((*self.asked.columns, *(test.column for test in self.filters.tests)))

    @property
    def bounds(self) -> Bounds | None:
        """What limits the batches that are read, if anything does."""
        return None if self.filters.bounds.is_open else self.filters.bounds

    def of(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split."""
        begin_task()
        for piece in split.pieces:
            for table, batch in read_piece(piece, self.asked.options):
                yield from self._made(table, batch)

    def _made(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        asked = self.asked
        if asked.is_one and asked.table in TABLES and table in TABLES[asked.table].sources:
            batch, table = TABLES[asked.table].rows_of(table, batch), asked.table
        elif table in asked.tables and asked.options.columns == "typed":
            batch = spark_batch(typed_batch(table, batch, self._wanted() if asked.is_one else None))
        if table not in asked.tables or not batch.num_rows:
            return
        if asked.is_one:
            batch = self.filters.kept(batch)
            arrays = [_column(batch, field) for field in self.own]
        else:
            arrays = [pa.nulls(batch.num_rows, field.type) for field in self.own]
            arrays[0] = pa.array([table]).take(pa.array([0] * batch.num_rows))
            at = self.own.get_field_index(table)
            arrays[at] = pa.StructArray.from_arrays(batch.columns, fields=list(self.own.field(at).type))
        if batch.num_rows:
            made = pa.RecordBatch.from_arrays(arrays, schema=self.own)
            made = made if asked.is_one else self.filters.kept(made)
            yield made.cast(self.schema) if self.is_cast else made


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """A column of a batch as the field of the schema has it."""
    array = shaped(batch.column(field.name), field.type)
    # Spark would read whatever lies below.
    assert field.nullable or not array.null_count, f"{field.name} is never null"
    return array


class SplitReader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        self.rows = Rows(asked, schema)

    def partitions(self) -> Sequence[InputPartition]:
        asked = self.rows.asked
        logs: set[LogKind | None] = set()
        splits = balanced_splits(
            asked.paths, asked.split_bytes, asked.log, every_checkpoint=asked.every_checkpoint, only=self.rows.bounds, logs=logs
        )
        require_logs(logs, asked.sources, asked.paths)
        splits = [left for split in splits if (left := self._wanted(split)).pieces]
        # Spark wants one partition at least, and an input may hold no batch at all.
        return [SplitPartition(split) for split in splits or [Split(())]]

    def _wanted(self, split: Split) -> Split:
        """The split without what lies in logs that are not read, or what no filter wants."""
        by_log = self.rows.asked.options.tables_by_log
        pieces = (piece for piece in split.pieces if by_log is None or piece.log in (None, *by_log))
        return Split(tuple(piece for piece in pieces if self.rows.filters.may_hold(piece)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.rows.of(cast(SplitPartition, partition).split)


class PushingReader(SplitReader):
    """The same with filters. A class that takes them fails each load where Spark is set not to push any."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 - Spark's name
        """Take what can be used. Spark judges all filters again: here they only save work."""
        self.rows.push(filters)
        return filters


def balanced_splits(
    paths: Sequence[str],
    wanted_bytes: int,
    log: LogKind | None,
    *,
    every_checkpoint: bool = False,
    only: Bounds | None = None,
    logs: set[LogKind | None] | None = None,
) -> list[Split]:
    """The splits of an input, of `wanted_bytes` each; where that is 0, so that there is work for all cores. See `plan_splits`."""
    places = list(dict.fromkeys(place for path in paths for place in places_of(path)))
    splits = plan_splits(places, wanted_bytes or SPLIT_BYTES, log=log, every_checkpoint=every_checkpoint, only=only, logs=logs)
    share = max(sum(split.bytes for split in splits) // TASKS_WANTED, SPLIT_BYTES_MIN)
    if not wanted_bytes and share < SPLIT_BYTES and len(splits) < TASKS_WANTED:
        return plan_splits(places, share, log=log, every_checkpoint=every_checkpoint, only=only)
    return splits


def spark_types(schema: pa.Schema) -> StructType:
    """A schema as Spark's, with what its columns mean."""
    return StructType.fromJson(json.loads(spark_row_metadata(schema)))


def _agreed(own: pa.Schema, given: StructType) -> pa.Schema:
    """The schema that Spark expects of the rows. Errors: UsageError for a column whose type cannot be made of ours."""
    ours = spark_types(own)
    if given.names != ours.names:
        raise UsageError(f"the schema that was given has the columns {', '.join(given.names)}; they are {', '.join(ours.names)}", TABLE)
    # What the zone of a time is called has to be said to newer releases.
    more: Any = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    wanted = to_arrow_schema(given, **more)
    if wanted.equals(own):
        return own
    for have, want in zip(own, wanted, strict=True):
        try:
            pa.nulls(0, have.type).cast(want.type)
        except pa.ArrowException:
            shown = ours[have.name].dataType.simpleString()
            raise UsageError(
                f"column {have.name} is {shown}, and not {given[have.name].dataType.simpleString()}, as the given schema says", have.name
            ) from None
    return wanted
