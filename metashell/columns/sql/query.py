"""SQL over the tables of logs, by DuckDB with everything off that reaches beyond them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.reader import read_split
from metashell.columns.inputs.splits import Split, absent_log, has_log, logs_of, plan_splits
from metashell.columns.schemas import FAULTS, UUID_MARK, tables
from metashell.columns.sql.spool import Spools
from metashell.columns.texts import converter
from metashell.errors import UsageError

if TYPE_CHECKING:
    from metashell.columns.decode.options import OnError
    from metashell.log.kinds import LogKind

_CONFINED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
_MACROS = (
    "create macro uuid_text(id) as rtrim(replace(replace(base64(id), '+', '-'), '/', '_'), '=')",
    "create macro time_of(ms) as case when ms between -62135596800000 and 253402300799999 then make_timestamp(ms * 1000) end",
)
_BATCH_ROWS = 1 << 13
_UUID_SIZE = 16


@dataclass(slots=True)
class Answer:
    """The names of an answer's columns and its rows, as values that JSON knows; `fault_count` counts what was skipped."""

    columns: list[str]
    rows: Iterator[list[Any]]
    fault_count: int = 0
    _keep: list[Any] = field(default_factory=list)


def query(text: str, paths: Sequence[str], *, on_error: OnError = "fail", show_secrets: bool = False, log: LogKind | None = None) -> Answer:
    """The answer to a query over the logs at `paths`.

    Errors: UsageError for a query that DuckDB refuses, with its first line, and for one that asks for a table of a log that is not
    there; LogCorruptError at a fault, unless faults are skipped.
    """
    connection = duckdb.connect(":memory:", config=_CONFINED)
    connection.execute("set timezone = 'UTC'")
    for macro in _MACROS:
        connection.execute(macro)
    known = tables()
    # Every word that is a table's name counts: DuckDB's own list of a query's tables fails for joins with USING (2.0).
    wanted = set(re.findall("[a-z0-9_]+", text.lower()))
    options = ReadOptions(tables=sorted(wanted & set(known)), on_error=on_error, show_secrets=show_secrets)
    splits = plan_splits(paths, log=log)
    read, fault_count = _read(splits, options)
    # A table of a log that is not there is no empty table; its name may still be that of a column.
    absent = {name for name in wanted & set(known) if not has_log(logs_of(splits), name)}
    for name, schema in known.items():
        if name not in absent:
            connection.register(name, read[name] if name in read else schema.empty_table())
    connection.execute("set lock_configuration = true")
    try:
        if len(connection.extract_statements(text)) != 1:
            raise UsageError("one statement at a time")
        relation = connection.sql(text)
        if relation is None:
            raise UsageError("the statement has no rows to show: ask with SELECT, DESCRIBE or SHOW TABLES")
        reader = _arrow_reader(relation)
    except duckdb.CatalogException as error:
        named = re.search(r"Table with name (\w+) does not exist", str(error))
        if named is not None and named[1].lower() in absent:
            raise absent_log(paths, named[1].lower()) from None
        raise UsageError(_first_line(error)) from error
    except duckdb.Error as error:
        raise UsageError(_first_line(error)) from error
    return Answer(list(reader.schema.names), _rows(reader), fault_count, [connection])


def _read(splits: list[Split], options: ReadOptions) -> tuple[dict[str, pa.Table], int]:
    """The wanted tables that have rows, and the number of faults."""
    fault_count = 0
    with Spools() as spools:
        for split in splits if options.tables else ():
            for name, batch in read_split(split, options=options):
                if name == FAULTS:
                    fault_count += batch.num_rows
                if options.wants(name):
                    spools.add(name, batch)
        return spools.tables(), fault_count


def _arrow_reader(relation: Any) -> Any:
    """The answer as Arrow, by the name that the method has in this version of DuckDB."""
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    return getattr(relation, name)(_BATCH_ROWS)


def _rows(reader: Any) -> Iterator[list[Any]]:
    converters = [converter(_marked(column)) for column in reader.schema]
    try:
        for batch in reader:
            columns = [
                column.to_pylist() if convert is None else [convert(value) for value in column.to_pylist()]
                for column, convert in zip(batch.columns, converters, strict=True)
            ]
            yield from (list(row) for row in zip(*columns, strict=True))
    except (duckdb.Error, pa.ArrowException) as error:
        raise UsageError(_first_line(error)) from error


def _marked(column: pa.Field) -> pa.Field:
    """Bytes in an answer are shown as an id where they are 16: DuckDB keeps no mark of what they are."""
    return column.with_metadata(UUID_MARK)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
