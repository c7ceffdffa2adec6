"""SQL over the tables of logs: reads the tables that a query names, and answers it by a confined DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metashell.columns.decode.options import ReadOptions
from metashell.columns.inputs.splits import absent_log, has_log, logs_of, plan_splits
from metashell.columns.schemas import UUID_MARK, tables
from metashell.columns.sql.confined import Database, RefusedError
from metashell.columns.sql.spool import read_tables
from metashell.columns.texts import row_values
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.columns.decode.options import OnError
    from metashell.log.kinds import LogKind

_MACROS = (
    "uuid_text(id) as rtrim(replace(replace(base64(id), '+', '-'), '/', '_'), '=')",
    "time_of(ms) as case when ms between -62135596800000 and 253402300799999 then make_timestamp(ms * 1000) end",
)


@dataclass(slots=True)
class Answer:
    """The names of an answer's columns and its rows, as values that JSON knows; `fault_count` counts what was skipped."""

    columns: list[str]
    rows: Iterator[list[Any]]
    fault_count: int = 0


def query(text: str, paths: Sequence[str], *, on_error: OnError = "fail", show_secrets: bool = False, log: LogKind | None = None) -> Answer:
    """The answer to a query over the logs at `paths`.

    Errors: UsageError for a query that DuckDB refuses, with its first line, and for one that asks for a table of a log that is not
    there; LogCorruptError at a fault, unless faults are skipped.
    """
    known = tables()
    # Every word that is a table's name counts: DuckDB's own list of a query's tables fails for joins with USING (2.0).
    wanted = set(re.findall("[a-z0-9_]+", text.lower())) & set(known)
    splits = plan_splits(paths, log=log)
    options = ReadOptions(tables=sorted(wanted), on_error=on_error, show_secrets=show_secrets)
    read, fault_count = read_tables(splits if wanted else (), options, lambda name, batch: [(name, batch)] if name in wanted else [])
    # A table of a log that is not there is no empty table; its name may still be that of a column.
    absent = {name for name in wanted if not has_log(logs_of(splits), name)}
    database = Database({name: read.get(name, schema.empty_table()) for name, schema in known.items() if name not in absent}, _MACROS)
    try:
        schema, batches = database.ask(text)
    except RefusedError as error:
        named = re.search(r"Table with name (\w+) does not exist", str(error))
        if named is not None and named[1].lower() in absent:
            raise absent_log(paths, named[1].lower()) from None
        if named is not None:
            raise UsageError(f"no table {named[1]}: SHOW TABLES lists them", named[1]) from None
        raise UsageError(str(error)) from error
    return Answer(list(schema.names), _rows(schema, batches), fault_count)


def _rows(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[list[Any]]:
    # Bytes in an answer are shown as an id where they are 16: DuckDB keeps no mark of what they are.
    fields = [column.with_metadata(UUID_MARK) for column in schema]
    try:
        for batch in batches:
            yield from row_values(batch, fields)
    except RefusedError as error:
        raise UsageError(str(error)) from error
