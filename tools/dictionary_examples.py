"""Real values for the dictionary: of the directory that ships with the package and, for logs that it lacks, of golden ones.

Of each table the row that says most is chosen, so that the examples of a table belong together; a column that is empty there has the first
value that says something. Records made by hand are no examples.
"""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import pyarrow as pa

from metashell.common.errors import PathError
from metashell.tables import ReadOptions, plan_splits, read_split
from metashell.tables.columns.typed_arrays import row_values
from metashell.tables.columns.typed_tables import plain_batch
from metashell.tables.dictionary import CLUSTER_TABLES
from metashell.tables.reports import REPORTS
from metashell.tables.reports.local import run_local
from metashell.tables.state.clusters import read_state
from metashell.tables.state.schemas import GROUP_OFFSETS
from metashell.tables.state.tables import read_group_offsets, state_table
from tools.generated import ROOT

PLACES: Final = ("metashell/demo/data", "tests/golden/kafka/4.3.1/main/data/stopped", "tests/golden/kafka/4.4.0/main/data/stopped")
"""The earlier one wins."""
LENGTH_MAX: Final = 100
_ABOVE_LOG: Final = re.compile(r"tests/golden/.*/(?=__)")

Row = dict[str, Any]


def examples() -> dict[str, dict[str, str]]:
    """JSON texts by table and column, `end_points.port` for the field of a struct."""
    found: dict[str, dict[str, str]] = {}
    for place in PLACES:
        for table, rows in _tables(place):
            if table not in found and rows:
                found[table] = _of_rows(rows)
    return found


def _tables(place: str) -> Iterator[tuple[str, list[Row]]]:
    """Every table of a place with its rows, as values for JSON."""
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        events: dict[str, list[Row]] = {}
        for split in plan_splits([place]):
            for table, batch in read_split(split, ReadOptions(columns="typed", tables=_AllTables())):
                events.setdefault(table, []).extend(_rows(plain_batch(batch)))
        yield from events.items()
        try:
            clusters = read_state([place])
        finally:
            # Loading hides all objects from the collector, and DuckDB complains about those of its own that outlive it.
            gc.unfreeze()
        for table in CLUSTER_TABLES:
            yield table, [row for batch in state_table(table, clusters).to_batches() for row in _rows(batch)]
        with suppress(PathError):  # a place without groups
            yield GROUP_OFFSETS, [row for batch in read_group_offsets([place]).table().to_batches() for row in _rows(batch)]
        for report, answer in run_local(list(REPORTS.values()), [place]).tables.items():
            yield report, [row for batch in answer.to_batches() for row in _rows(batch)]
    finally:
        os.chdir(here)


class _AllTables(frozenset[str]):
    """Every table is wanted."""

    def __contains__(self, name: object) -> bool:
        return True


def _rows(batch: pa.RecordBatch) -> list[Row]:
    return [dict(zip(batch.schema.names, row, strict=True)) for row in row_values(batch)]


def _of_rows(rows: Sequence[Row]) -> dict[str, str]:
    best = max(rows, key=lambda row: sum(map(_says_something, row.values())))
    found = {}
    for name in best:
        values = [best[name], *(row[name] for row in rows)]
        for path, value in _parts(name, values):
            found[path] = _text(value)
    return found


def _parts(path: str, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The example of a column and those of the fields within it: the first value that says something, null if none does."""
    chosen = next(filter(_says_something, values), next((value for value in values if value is not None), None))
    yield path, chosen
    inner = [item for value in [chosen, *values] for item in _structs(value)]
    for name in dict.fromkeys(key for item in inner for key in item):
        yield from _parts(f"{path}.{name}", [item[name] for item in inner if name in item])


def _structs(value: Any) -> list[Row]:
    """The structs that a value is or holds; those of a map are its values."""
    items = value if isinstance(value, list) else [value]
    return [struct for item in items if isinstance(item, dict) for struct in ([item, *filter(_is_struct, item.values())])]


def _is_struct(value: Any) -> bool:
    return isinstance(value, dict)


def _says_something(value: Any) -> bool:
    return value is not None and value is not False and value not in ("", -1, -2, [], {})


def _text(value: Any) -> str:
    """JSON on one line, cut where it is long; the place of a golden file is left out."""
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    text = _ABOVE_LOG.sub("", text)
    return text if len(text) <= LENGTH_MAX else f"{text[: LENGTH_MAX - 1]}…"
