"""The newest committed offsets of all groups as a table of the state, as `metashell groups offsets` has them: from one fold of each log.

A commit of a transaction counts once its marker is in the log, and a deleted one does not. Of several copies of a log the newest counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from metashell.codec.primitives import kafka_text
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import ZERO_UUID
from metashell.disk.directory import is_marked
from metashell.disk.inputs import find_logs, named_file, paths_of
from metashell.disk.names import OFFSETS
from metashell.groups.log.queries import LoadedLog, load_logs
from metashell.tables.input_files import fetch_logs
from metashell.tables.read_options import Form
from metashell.tables.splits import absent_log
from metashell.tables.state.schemas import GROUP_OFFSETS, old_batch
from metashell.tables.state.tables import rows_batch

if TYPE_CHECKING:
    from metashell.tables.read_options import OnError

_BATCH_ROWS: Final = 1 << 16


class GroupOffsets(NamedTuple):
    """The rows of the table, in batches, and the number of places that could not be read."""

    batches: list[pa.RecordBatch]
    fault_count: int

    def table(self, columns: Form = "typed") -> pa.Table:
        """Return all rows."""
        return pa.Table.from_batches(self.in_form(columns))

    def in_form(self, columns: Form) -> list[pa.RecordBatch]:
        """Return the rows in one form, in at least one batch."""
        batches = self.batches or [rows_batch(GROUP_OFFSETS, [], "")]
        return [old_batch(GROUP_OFFSETS, batch) for batch in batches] if columns == "raw" else batches


def read_group_offsets(paths: Sequence[str], *, on_error: OnError = "fail") -> GroupOffsets:
    """Return the offsets of all groups of the logs at `paths`, by cluster, group, topic and partition.

    Logs at URIs are fetched to this machine first.
    Errors: UsageError for a path that cannot be opened, and where no path has a log of groups; MetashellError for a log with damage, unless
    that is skipped.
    """
    with fetch_logs(paths, OFFSETS) as copies:
        try:
            found = _read_local(copies.paths, on_error)
        except MetashellError as error:
            if not copies.uris:
                raise
            raise MetashellError(copies.shown(str(error))) from error
    return found


def _read_local(paths: Sequence[str], on_error: OnError) -> GroupOffsets:
    batches: list[pa.RecordBatch] = []
    fault_count = 0
    for cluster_id, places in sorted(_by_cluster(paths).items()):
        loaded = load_logs(places)
        troubles = [str(fault) for fault in loaded.faults if not fault.is_tail]
        for log in loaded.logs:
            for finding in log.fold.state.findings:
                troubles.append(f"{log.log.file_of(finding.place.offset)}: offset {finding.place.offset}: {finding.text}")
        if troubles and on_error == "fail":
            raise MetashellError(f"{troubles[0]} (1 of {len(troubles)} faults; --on-error skip shows the state without them)")
        fault_count += len(troubles)
        rows = [row for log in loaded.logs for row in _rows(log)]
        rows.sort(key=lambda row: (row["group_id"], row["topic"], row["partition_id"]))
        for start in range(0, len(rows), _BATCH_ROWS):
            batches.append(rows_batch(GROUP_OFFSETS, rows[start : start + _BATCH_ROWS], cluster_id))
    return GroupOffsets(batches, fault_count)


def _by_cluster(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the directories and named files of logs of groups by the id of their cluster. Errors: UsageError if there is none."""
    found: dict[str, list[str]] = {}
    for path in (place for named in paths for place in paths_of(named)):
        if not os.path.isdir(path):
            file = named_file(path)
            if file.log in (OFFSETS, None):
                found.setdefault(file.cluster_id, []).append(path)
            continue
        try:
            for log in find_logs(path):
                is_left = is_marked(os.path.basename(log.directory)) and os.path.abspath(log.directory) != os.path.abspath(path)
                if log.kind == OFFSETS and not is_left:
                    found.setdefault(log.cluster_id, []).append(log.directory)
        except OSError as error:
            raise PathError.of(path, error) from error
    if not found:
        raise absent_log(paths, GROUP_OFFSETS)
    return found


def _rows(log: LoadedLog) -> Iterator[dict[str, Any]]:
    fold = log.fold
    for raw in fold.groups():
        group_id = kafka_text(raw)
        group = fold.state.groups.get(group_id)
        if group is None and not fold.is_simple(raw):
            continue
        for (topic, partition), committed in fold.committed(raw):
            yield {
                "group_id": group_id,
                "topic": topic,
                "topic_id": None if committed.topic_id == ZERO_UUID else committed.topic_id,
                "partition_id": partition,
                "committed_offset": committed.offset,
                "leader_epoch": None if committed.leader_epoch < 0 else committed.leader_epoch,
                "metadata": committed.metadata,
                "commit_timestamp": committed.commit_ms,
                "expire_timestamp": None if committed.expire_ms < 0 else committed.expire_ms,
                "offset": committed.record_offset,
            }
