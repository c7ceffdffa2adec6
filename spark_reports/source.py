"""The data source `kafka_metadata`: tables of the given files and directories, one partition a split, Arrow batches only.

A table of the state (`topics`, `partitions`, `brokers` and so on, see `metashell.tables.state`) has one partition a cluster, since an
image is made from a log front to back; all others are events. The option `at` asks for the state as of an offset or a time.

Options: `table` (default `records`) or `tables` (several in one pass: a row has `table`, and its columns in the struct of that name),
`columns` (names with commas between; `.schema(...)` does the same; Spark prunes none by itself), `onError` (`fail` or `skip`),
`showSecrets`, `oldColumns` (numbers for times, bytes for ids), `splitBytes`, `log` (the kind of log where nothing else says it), `only`
(kinds of logs: others are not read), `checkpoints` (`every`: not only those that replay needs). Skipped faults are rows of the table
`faults`; `faultsOf` names the tables whose records are decoded for it, which finds those that are at fault within.

Paths may be patterns. The option `where` has conditions that the source applies itself: by `offset`, `epoch` and `timestamp` batches are
skipped by their headers, and where possible not read at all, so damage there is not reported; all others save rows on their way to Spark.

A stream reads what has been appended to growing logs since the last micro-batch, whole batches only. Its offset is how far each log was
read (`progress`). Segments that appear are read from their start, those that a broker deletes are forgotten; checkpoints take no part,
they repeat the log. A tail that is half written waits for its rest."""

from __future__ import annotations

import gc
import json
import os
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from itertools import pairwise
from typing import Any, Final, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from metashell.common.errors import MetashellError, UsageError
from metashell.common.uris import is_uri
from metashell.disk.names import LogKind
from metashell.metadata.history import parse_moment
from metashell.metadata.history.sources import image_as_of
from metashell.tables.columns.reader import read_piece
from metashell.tables.columns.typed_arrays import shaped
from metashell.tables.columns.typed_tables import raw_columns, spark_batch, typed_batch
from metashell.tables.dictionary import GROUP_TABLES
from metashell.tables.export.split_writer import keep_memory
from metashell.tables.input_files import expand_globs, input_files
from metashell.tables.read_options import OF_BODIES, Bounds
from metashell.tables.reports.derived_tables import DERIVED_TABLES
from metashell.tables.schemas import FAULTS, spark_row_metadata
from metashell.tables.splits import FILE_COST_BYTES, Split, plan_splits, require_logs
from metashell.tables.state.clusters import copies_by_cluster, read_state
from metashell.tables.state.tables import read_group_offsets, spark_state_batch, state_batches
from spark_reports.filters import Filters, parse_conditions, with_bounds
from spark_reports.options import SPLITS, SPLITS_SCHEMA, TABLE, LoadOptions, parse_options, table_schema, with_columns
from spark_reports.progress import GrowingLog, growing_logs, new_between, position_of_log

NAME = "kafka_metadata"
SPLIT_BYTES = 32 << 20
"""A task's share of a large input. Of a small one the shares are smaller, so that there are tasks for all cores."""
SPLIT_BYTES_MIN = 16 << 20
"""A task costs Spark and its worker some 50 ms of CPU, and one column of so many bytes 60 ms."""
TASKS_WANTED = 64


@dataclass(frozen=True)
class SplitPartition(InputPartition):
    """A task's share."""

    split: Split


class KafkaMetadataSource(DataSource):
    """The data source of `spark.read.format("kafka_metadata")` and `spark.readStream.format(...)`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return spark_types(parse_options(self.options).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        load = parse_options(self.options)
        if load.is_state:
            rows = Rows(load, schema)
            return StateReader(rows.load, rows.schema)
        return SplitReader(load, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name

        load = parse_options(self.options)
        if load.is_state:
            raise UsageError(
                f"table {load.table} is of the state, which is read as a whole: only tables of events can be streamed", load.table
            )
        return GrowingLogsReader(load, schema)


class Rows:
    """Makes the wanted rows of splits, in the form of `schema`, which is that of the load or was given with it."""

    def __init__(self, load: LoadOptions, schema: StructType) -> None:
        if load.is_one and tuple(schema.names) != load.columns:
            load = with_columns(load, schema.names)
        self.load = load
        self.own = load.schema
        self.schema = _agreed(self.own, schema)
        self.is_cast = self.schema is not self.own
        whole = table_schema(load.table, load.options.columns) if load.is_one else load.schema
        self.filters = Filters(parse_conditions(load.where, whole)) if load.where else Filters()
        # The rows of faults are of places, and those of derived tables of more than one record.
        if self.load.is_one and self.load.table != FAULTS and self.load.table not in DERIVED_TABLES:
            self.filters = with_bounds(self.filters, whole)
            needs_payload = any(test.column in OF_BODIES for test in self.filters.tests)
            options = replace(self.load.options, only=self.bounds, payload_types=self.filters.payload_types, fields=self._fields())
            self.load = replace(self.load, options=replace(options, payloads=options.payloads or needs_payload))

    def _fields(self) -> frozenset[str] | None:
        """Return the raw columns that rows and filters need, None for all; no others are made of what was read."""
        if self.load.is_state:
            return None
        wanted = self._wanted()
        return raw_columns(self.load.table, wanted) if self.load.options.columns == "typed" else wanted

    def _wanted(self) -> frozenset[str]:
        return frozenset((*self.load.columns, *(test.column for test in self.filters.tests)))

    @property
    def bounds(self) -> Bounds | None:
        """The limits of the batches that are read, if there are any."""
        return None if self.filters.bounds.is_open else self.filters.bounds

    def of(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        begin_task()
        for piece in split.pieces:
            for table, batch in read_piece(piece, self.load.options):
                yield from self._made(table, batch)

    def _made(self, table: str, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        load = self.load
        if load.is_one and load.table in DERIVED_TABLES and table in DERIVED_TABLES[load.table].sources:
            batch, table = DERIVED_TABLES[load.table].rows_of(table, batch), load.table
        elif table in load.tables and load.options.columns == "typed":
            batch = spark_batch(typed_batch(table, batch, self._wanted() if load.is_one else None))
        if table not in load.tables or not batch.num_rows:
            return
        if load.is_one:
            batch = self.filters.kept(batch)
            arrays = [_column(batch, field) for field in self.own]
        else:
            arrays = [pa.nulls(batch.num_rows, field.type) for field in self.own]
            arrays[0] = pa.array([table]).take(pa.array([0] * batch.num_rows))
            at = self.own.get_field_index(table)
            arrays[at] = pa.StructArray.from_arrays(batch.columns, fields=list(self.own.field(at).type))
        if batch.num_rows:
            made = pa.RecordBatch.from_arrays(arrays, schema=self.own)
            made = made if load.is_one else self.filters.kept(made)
            yield made.cast(self.schema) if self.is_cast else made


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """Return a column of a batch as the field of the schema has it."""
    array = shaped(batch.column(field.name), field.type)
    # Spark would read whatever lies below.
    assert field.nullable or not array.null_count, f"{field.name} is never null"
    return array


class SplitReader(DataSourceReader):
    """Plans on the driver, reads in the tasks."""

    def __init__(self, load: LoadOptions, schema: StructType) -> None:
        self.rows = Rows(load, schema)

    def partitions(self) -> Sequence[InputPartition]:
        load = self.rows.load
        logs: set[LogKind | None] = set()
        splits = balanced_splits(
            load.paths, load.split_bytes, load.log, every_checkpoint=load.every_checkpoint, only=self.rows.bounds, logs=logs
        )
        require_logs(logs, load.sources, load.paths)
        splits = [left for split in splits if (left := self._wanted(split)).pieces]
        # Spark wants one partition at least, and an input may hold no batch at all.
        return [SplitPartition(split) for split in splits or [Split(())]]

    def _wanted(self, split: Split) -> Split:
        """Return the split without what lies in logs that are not read, or what no filter wants."""
        by_log = self.rows.load.options.tables_by_log
        pieces = (piece for piece in split.pieces if by_log is None or piece.log in (None, *by_log))
        return Split(tuple(piece for piece in pieces if self.rows.filters.may_hold(piece)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.rows.of(cast(SplitPartition, partition).split)


def balanced_splits(
    paths: Sequence[str],
    wanted_bytes: int,
    log: LogKind | None,
    *,
    every_checkpoint: bool = False,
    only: Bounds | None = None,
    logs: set[LogKind | None] | None = None,
) -> list[Split]:
    """Return the splits of an input, of `wanted_bytes` each; where that is 0, so that there is work for all cores. See `plan_splits`."""
    places = list(dict.fromkeys(place for path in paths for place in expand_globs(path)))
    target = wanted_bytes or SPLIT_BYTES_MIN
    splits = plan_splits(places, target, log=log, every_checkpoint=every_checkpoint, only=only, logs=logs)
    if wanted_bytes:
        return splits
    return [Split(tuple(piece for split in splits[run] for piece in split.pieces)) for run in runs_to_join(splits)]


def runs_to_join(splits: Sequence[Split]) -> list[slice]:
    """Return which splits of a large input are joined: to as many as are wanted, but none above SPLIT_BYTES by more than a split."""
    share = min(max(sum(map(_weight, splits)) // TASKS_WANTED, SPLIT_BYTES_MIN), SPLIT_BYTES)
    starts: list[int] = []
    weight = share
    for number, split in enumerate(splits):
        if weight >= share:
            starts.append(number)
            weight = 0
        weight += _weight(split)
    return [slice(start, end) for start, end in pairwise([*starts, len(splits)])]


def _weight(split: Split) -> int:
    return split.bytes + FILE_COST_BYTES * len(split.pieces)


def spark_types(schema: pa.Schema) -> StructType:
    """Return a schema as Spark's, with what its columns mean."""
    return StructType.fromJson(json.loads(spark_row_metadata(schema)))


def _agreed(own: pa.Schema, given: StructType) -> pa.Schema:
    """Return the schema that Spark expects of the rows. Errors: UsageError for a column whose type cannot be made of ours."""
    ours = spark_types(own)
    if given.names != ours.names:
        raise UsageError(f"the schema that was given has the columns {', '.join(given.names)}; they are {', '.join(ours.names)}", TABLE)
    # Newer releases need the name of a time's zone.
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


# ---- streams over growing logs

Offset = dict[str, Any]


@dataclass(frozen=True)
class NewPartition(InputPartition):
    """A task's share; `note` is a remark on its log."""

    split: Split
    note: str = ""


class GrowingLogsReader(DataSourceStreamReader):
    """Micro-batches of the logs below some directories."""

    def __init__(self, load: LoadOptions, schema: StructType) -> None:
        self.load = load
        self.rows = None if load.table == SPLITS else Rows(load, schema)
        self.split_bytes = load.split_bytes or SPLIT_BYTES
        self._known: Offset = {}
        self._run = time.time_ns()

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {}

    def latestOffset(self, start: Offset | None = None, *_: Any) -> Offset:  # noqa: N802 - Spark's name
        """Return how far whole batches reach now. Spark before 4.2 does not say where the last one ended."""
        # Spark keeps offsets in files, which must not hold credentials.
        known = {**(start or {}), **self._known}
        self._known = {log.name: position_of_log(log, known.get(log.name), self._run) for log in self._logs()}
        # As JSON gives it back.
        return cast(Offset, json.loads(json.dumps(self._known)))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return what was appended between two offsets, cut into shares."""
        if any(not isinstance(reach, dict) for reach in (*start.values(), *end.values())):
            raise MetashellError("the progress of this stream was written by an earlier release: begin a new one with another place for it")
        logs = {log.name: log for log in self._logs()}
        found: list[InputPartition] = []
        for name, reach in sorted(end.items()):
            # A log that was deleted since is skipped.
            if name in logs and reach != start.get(name):
                new = new_between(logs[name], start.get(name), reach, self.split_bytes)
                for said in filter(None, (new.note, new.stopped)):
                    sys.stderr.write(f"kafka_metadata: {said}\n")
                found += [NewPartition(Split((piece,)), "" if number else new.note) for number, piece in enumerate(new.pieces)]
                if new.stopped:
                    found.append(NewPartition(Split(()), new.stopped))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        share = cast(NewPartition, partition)
        if self.rows is None:
            yield pa.RecordBatch.from_arrays(
                [pa.array([pickle.dumps(share.split)], pa.binary()), pa.array([share.note])], schema=SPLITS_SCHEMA
            )
        else:
            yield from self.rows.of(share.split)

    def _logs(self) -> list[GrowingLog]:
        found = []
        for path in self.load.paths:
            try:
                for place in expand_globs(path):
                    found += list(input_files(place, self.load.log, may_be_empty=True))
            except UsageError:
                # A directory may be empty until its broker starts; what is not there, or no log, will never be one.
                if not is_folder(path):
                    raise
        return growing_logs(found)


def is_folder(path: str) -> bool:
    """Return whether something lies at a path or URI that may hold logs one day. Errors: UsageError where a URI leads nowhere."""
    if not is_uri(path):
        return os.path.isdir(path)
    from metashell.tables.remote_files import remote_input

    return remote_input(path)[2]


# ---- tables of the state


@dataclass(frozen=True)
class ClusterPartition(InputPartition):
    """A task's share: the copies of one cluster's log, of which it shows the one that reaches furthest."""

    paths: tuple[str, ...]


class StateReader(DataSourceReader):
    """Finds the clusters on the driver, and makes their images in the tasks."""

    def __init__(self, load: LoadOptions, schema: pa.Schema) -> None:
        self.wanted = load
        self.schema = schema
        # A time ago is one time for all clusters.
        self.moment = parse_moment(load.at, round(time.time() * 1000)) if load.at else None

    def partitions(self) -> Sequence[InputPartition]:
        places = [place for path in self.wanted.paths for place in expand_globs(path)]
        if self.wanted.table in GROUP_TABLES:
            return [ClusterPartition(tuple(places))]
        return [ClusterPartition(tuple(copies)) for copies in copies_by_cluster(places)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in self._batches(cast(ClusterPartition, partition).paths):
            shown = spark_state_batch(self.wanted.table, batch, self.wanted.options.columns)
            yield shown.select(list(self.wanted.columns)).cast(self.schema)

    def _batches(self, paths: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = self.wanted
        if wanted.table in GROUP_TABLES:
            yield from read_group_offsets(paths, on_error=wanted.options.on_error).in_form(wanted.options.columns)
            return
        image_at = None if self.moment is None else partial(image_as_of, moment=self.moment)
        for cluster in read_state(paths, on_error=wanted.options.on_error, image_at=image_at):
            yield from state_batches(wanted.table, cluster, show_secrets=wanted.options.show_secrets, columns=wanted.options.columns)


# ---- the worker of a task

_TASKS_MAX: Final = 2
"""The first task brings our modules, the next one finds what they keep, such as compiled schemas."""
_tasks = 0


def begin_task() -> None:
    """Keep memory that is freed, and take what there is by now out of the sight of the garbage collector, in the first tasks of a worker.

    A worker collects garbage after each task, and looks at every object of all modules: two fifths of its time for tasks of 8 MiB.
    Nothing happens in a process that is no worker.
    """
    global _tasks
    if _tasks < _TASKS_MAX and "pyspark.worker" in sys.modules:
        keep_memory()
        _tasks += 1
        gc.freeze()
