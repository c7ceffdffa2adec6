"""What a report reads: which tables of columns/, which files, and the batches of its base tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metashell.log.names import parse_name
from metashell.reports.answer import as_base
from metashell.reports.catalog import GROUP_MEMBERS

if TYPE_CHECKING:
    import pyarrow as pa

FAULTS = "faults"


def source_tables(base_tables: Sequence[str]) -> set[str]:
    """The tables of columns/ that the base tables are made of."""
    from metashell.reports.group_members import SOURCES

    found = {table for table in base_tables if table != GROUP_MEMBERS}
    return found | set(SOURCES) if GROUP_MEMBERS in base_tables else found


def base_batches(base_tables: Sequence[str], table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The base tables' batches that a batch of a table of columns/ stands for."""
    from metashell.reports.group_members import SOURCES, group_rows

    if GROUP_MEMBERS in base_tables and table in SOURCES:
        yield GROUP_MEMBERS, group_rows(table, batch)
    if table in base_tables:
        yield table, as_base(table, batch)


def report_paths(paths: Sequence[str], *, with_checkpoints: bool) -> list[str]:
    """The paths, and for reports on checkpoints all that lie in directories: by itself a directory stands for what replay needs.

    More checkpoints change no other report's answer: they repeat states that the log tells.
    """
    if not with_checkpoints:
        return list(paths)
    return [*paths, *(found for path in paths if os.path.isdir(path) for found in _checkpoints_below(path))]


def _checkpoints_below(path: str) -> Iterator[str]:
    for folder, names, files in os.walk(path):
        names.sort()
        for name in sorted(files):
            parsed = parse_name(name)
            if parsed is not None and parsed.kind == "checkpoint" and not parsed.state:
                yield os.path.join(folder, name)
