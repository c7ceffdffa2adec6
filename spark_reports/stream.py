"""Streaming over logs that grow: what has been appended since the last micro-batch, whole batches only.

The offset of a stream is how far each file is read. Segments that appear are read from their start, those that a broker deletes are
forgotten; checkpoints take no part, they repeat the log. A tail that is half written waits for its rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from metashell.codec.uris import is_uri, shown_uri
from metashell.columns.inputs.files import input_files, open_input
from metashell.columns.inputs.splits import Piece, Split
from metashell.errors import UsageError
from metashell.log.inputs import InputFile
from metashell.log.kinds import METADATA
from metashell.log.segment import BadBatch, BatchFault, read_batches
from metashell.log.tail import Tail
from spark_reports.source import SPLIT_BYTES, SplitPartition, kind_of_log, load_paths, split_bytes, wanted

Offset = dict[str, int]


class GrowingFilesReader(DataSourceStreamReader):
    """Micro-batches of the logs below some directories."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths = load_paths(options)
        self.log = kind_of_log(options)
        self.split_bytes = split_bytes(options) or SPLIT_BYTES
        self.wanted = wanted(options)
        self._known: Offset = {}

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {}

    def latestOffset(self, *_: Any) -> Offset:  # noqa: N802 - Spark's name
        """How far whole batches reach now."""
        # Spark keeps offsets in files, which must not hold credentials.
        known = self._known
        self._known = {name: self._end_of(file, known.get(name, 0)) for name, file in self._named_files().items()}
        return dict(self._known)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What was appended between two offsets, cut into shares."""
        files = self._named_files()
        pieces = [
            piece
            for path, until in sorted(end.items())
            # A file that was deleted since is skipped.
            if path in files and until > start.get(path, 0)
            for piece in self._pieces(files[path], start.get(path, 0), until)
        ]
        return [SplitPartition(Split((piece,))) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.wanted.batches(cast(SplitPartition, partition).split)

    def _named_files(self) -> dict[str, InputFile]:
        return {shown_uri(file.path): file for file in self._files()}

    def _files(self) -> list[InputFile]:
        found = []
        for path in self.paths:
            try:
                found += list(input_files(path, self.log, may_be_empty=True))
            except UsageError:
                # A directory may be empty until its broker starts; what is not there, or no log, will never be one.
                if not is_folder(path):
                    raise
        return [file for file in found if not file.checkpoint]

    def _end_of(self, file: InputFile, start: int) -> int:
        """The end of the last whole batch after `start`; bytes that are damaged, but framed, are part of the log."""
        end = start
        with open_input(file.path) as opened:
            for item in read_batches(opened, start=start):
                if isinstance(item, Tail):
                    break
                end = item.position + (item.size if isinstance(item, BadBatch) else len(item.data))
        return end

    def _pieces(self, file: InputFile, start: int, end: int) -> Iterator[Piece]:
        with open_input(file.path) as opened:
            log = file.log or METADATA
            cuts = [start]
            for item in read_batches(opened, start=start):
                if isinstance(item, BatchFault) or item.position >= end:
                    break
                if item.position - cuts[-1] >= self.split_bytes:
                    cuts.append(item.position)
        for begin, until in zip(cuts, [*cuts[1:], end], strict=True):
            yield Piece(path=file.path, log=log, cluster_id=file.cluster_id, start=begin, end=until, size=end, may_end_early=False)


def is_folder(path: str) -> bool:
    """Whether something lies at a path or URI that may hold logs one day. Errors: UsageError where a URI leads nowhere."""
    if not is_uri(path):
        return os.path.isdir(path)
    from metashell.columns.inputs.remote import remote_input

    return remote_input(path)[2]
