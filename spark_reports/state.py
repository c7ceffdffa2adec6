"""The tables of the state in Spark: one task a cluster, since an image is made from a log front to back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from metashell.columns.inputs.globs import places_of
from metashell.columns.state.reading import copies_by_cluster, read_state
from metashell.columns.state.tables import spark_state_batch, state_batches
from metashell.history import parse_moment
from metashell.history.openers import image_as_of

if TYPE_CHECKING:
    from spark_reports.asked import Asked


@dataclass(frozen=True)
class ClusterPartition(InputPartition):
    """A task's share: the copies of one cluster's log, of which it shows the one that reaches furthest."""

    paths: tuple[str, ...]


class StateReader(DataSourceReader):
    """Finds the clusters on the driver, and makes their images in the tasks."""

    def __init__(self, asked: Asked, schema: pa.Schema) -> None:
        self.wanted = asked
        self.schema = schema
        # A time ago is one time for all clusters.
        self.moment = parse_moment(asked.at, round(time.time() * 1000)) if asked.at else None

    def partitions(self) -> Sequence[InputPartition]:
        return [
            ClusterPartition(tuple(copies))
            for copies in copies_by_cluster([place for path in self.wanted.paths for place in places_of(path)])
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        wanted = self.wanted
        image_at = None if self.moment is None else partial(image_as_of, moment=self.moment)
        for cluster in read_state(cast(ClusterPartition, partition).paths, on_error=wanted.options.on_error, image_at=image_at):
            form = wanted.options.columns
            for batch in state_batches(wanted.table, cluster, show_secrets=wanted.options.show_secrets, columns=form):
                yield spark_state_batch(wanted.table, batch, form).select(list(wanted.columns)).cast(self.schema)
