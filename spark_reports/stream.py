"""Streaming over logs that grow: what has been appended since the last micro-batch, whole batches only.

The offset of a stream is how far each log is read (`reach`). Segments that appear are read from their start, those that a broker deletes
are forgotten; checkpoints take no part, they repeat the log. A tail that is half written waits for its rest.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from metashell.codec.uris import is_uri
from metashell.columns.inputs.files import input_files
from metashell.columns.inputs.globs import places_of
from metashell.columns.inputs.splits import Split
from metashell.errors import MetashellError, UsageError
from spark_reports.asked import SPLITS, SPLITS_SCHEMA, Asked
from spark_reports.reach import GrowingLog, growing_logs, new_between, reach_of
from spark_reports.source import SPLIT_BYTES, Rows

Offset = dict[str, Any]


@dataclass(frozen=True)
class NewPartition(InputPartition):
    """A task's share; `note` says what is odd about its log."""

    split: Split
    note: str = ""


class GrowingLogsReader(DataSourceStreamReader):
    """Micro-batches of the logs below some directories."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        self.asked = asked
        self.rows = None if asked.table == SPLITS else Rows(asked, schema)
        self.split_bytes = asked.split_bytes or SPLIT_BYTES
        self._known: Offset = {}
        self._run = time.time_ns()

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {}

    def latestOffset(self, start: Offset | None = None, *_: Any) -> Offset:  # noqa: N802 - Spark's name
        """How far whole batches reach now. Spark before 4.2 does not say where the last one ended."""
        # Spark keeps offsets in files, which must not hold credentials.
        known = {**(start or {}), **self._known}
        self._known = {log.name: reach_of(log, known.get(log.name), self._run) for log in self._logs()}
        # As JSON gives it back.
        return cast(Offset, json.loads(json.dumps(self._known)))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What was appended between two offsets, cut into shares."""
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
        for path in self.asked.paths:
            try:
                for place in places_of(path):
                    found += list(input_files(place, self.asked.log, may_be_empty=True))
            except UsageError:
                # A directory may be empty until its broker starts; what is not there, or no log, will never be one.
                if not is_folder(path):
                    raise
        return growing_logs(found)


def is_folder(path: str) -> bool:
    """Whether something lies at a path or URI that may hold logs one day. Errors: UsageError where a URI leads nowhere."""
    if not is_uri(path):
        return os.path.isdir(path)
    from metashell.columns.inputs.remote import remote_input

    return remote_input(path)[2]
