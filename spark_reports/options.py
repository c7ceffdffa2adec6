"""The options of a load: which table, which columns of it, and how it is read. Unknown options are refused.

The schema of a load also says which columns can have no null, which saves Spark a check for each value. A field is null where some
version of the message allows it; where a record of a log with keys has no value, all fields of the value are. A time is null where there
was none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, cast

import pyarrow as pa

from metashell.codec.schema import NO_VERSIONS, FieldSchema
from metashell.common.errors import UsageError
from metashell.common.options import did_you_mean
from metashell.disk.names import KNOWN_LOGS, LogKind
from metashell.tables import ReadOptions, tables
from metashell.tables.columns.typed_tables import Blob, Code, Part, Time, parts_of, spark_schema
from metashell.tables.dictionary import CLUSTER_TABLES, COMMON_TABLES, GROUP_TABLES, STATE_TABLES, log_of_table
from metashell.tables.read_options import OF_BODIES, Form, OnError
from metashell.tables.reports.derived_tables import DERIVED_TABLES
from metashell.tables.schemas import BATCHES, CONTROL, PLACE, RECORDS, RecordTable, commented, tables_of_log
from metashell.tables.state.tables import spark_state_schema

OPTIONS = (
    "table",
    "tables",
    "columns",
    "onError",
    "showSecrets",
    "splitBytes",
    "log",
    "only",
    "checkpoints",
    "faultsOf",
    "at",
    "oldColumns",
    "where",
    "path",
    "paths",
)
"""All options of `kafka_metadata`. Spark itself adds `path` and `paths`, and ignores case."""
TABLE = "table"
"""The column that names the table of a row, where several are read at once."""
SPLITS = "_splits"
"""Not a table of anything in a log: the stream job asks for the splits themselves, and reads them in its own tasks."""
SPLITS_SCHEMA = pa.schema([pa.field("split", pa.binary()), pa.field("note", pa.string())])


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of a load. With several `tables` a row has its columns in a struct that is named as its table."""

    paths: tuple[str, ...]
    tables: tuple[str, ...]
    is_one: bool
    columns: tuple[str, ...]
    options: ReadOptions
    split_bytes: int
    log: LogKind | None
    every_checkpoint: bool
    at: str
    where: str

    @property
    def table(self) -> str:
        """The one table."""
        return self.tables[0]

    @property
    def sources(self) -> tuple[str, ...]:
        """The tables of events that these are made of."""
        return tuple(source for table in self.tables for source in (DERIVED_TABLES[table].sources if table in DERIVED_TABLES else (table,)))

    @property
    def is_state(self) -> bool:
        return self.table in STATE_TABLES

    def schema_of(self, table: str) -> pa.Schema:
        """Return the columns of a table in the wanted form, with their meanings."""
        return table_schema(table, self.options.columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows. Of a table of events those that are never null say so: Spark need not look then, for each value."""
        if self.is_one:
            whole = self.schema_of(self.table)
            if self.options.columns == "typed" and self.table in tables():
                whole = with_required(self.table, whole)
            return pa.schema([whole.field(name) for name in self.columns])
        structs = [pa.field(table, pa.struct(list(self.schema_of(table)))) for table in self.tables]
        return pa.schema([pa.field(TABLE, pa.string()), *structs])


def parse_options(options: Mapping[str, str]) -> LoadOptions:
    """Return the parsed options of a load. Errors: UsageError."""
    _refuse_unknown(options)
    several = names_in(options, "tables")
    if several and options.get(TABLE):
        raise UsageError("option table names one table, tables several: give one of the two", "tables")
    form: Form = "raw" if parse_bool(options, "oldColumns") else "typed"
    names = tuple(dict.fromkeys(several)) or (options.get(TABLE) or "records",)
    schemas = [table_schema(table, form) for table in names]
    if several and (state := [table for table in names if table in STATE_TABLES or table in DERIVED_TABLES]):
        raise UsageError(f"option tables takes tables of events, and {state[0]} is none", state[0])
    columns = names_in(options, "columns")
    if several and columns:
        raise UsageError("option columns is about one table; with tables all columns come", "columns")
    for column in columns:
        _require_column(names[0], column, schemas[0])
    at = options.get("at", "")
    if at and names[0] in GROUP_TABLES:
        raise UsageError(f"option at is for the tables of a cluster's metadata, and {names[0]} has the newest state only", at)
    if at and names[0] not in STATE_TABLES:
        raise UsageError(f"option at is for the tables of the state ({', '.join(CLUSTER_TABLES)}), and {names[0]} has events", at)
    if options.get("where") and names[0] in STATE_TABLES:
        raise UsageError(f"option where is for tables of events: filter the rows of {names[0]} after loading", "where")
    return LoadOptions(
        paths=tuple(load_paths(options)),
        tables=names,
        is_one=not several,
        columns=columns or tuple(schemas[0].names),
        options=_read_options(options, names, columns or tuple(schemas[0].names), form),
        split_bytes=_whole_number(options, "splitBytes"),
        log=known_log(options["log"], "log") if options.get("log") else None,
        every_checkpoint=parse_choice(options, "checkpoints", ("needed", "every")) == "every",
        at=at,
        where=options.get("where", "").strip(),
    )


def _read_options(options: Mapping[str, str], names: tuple[str, ...], columns: tuple[str, ...], form: Form) -> ReadOptions:
    faults_of = names_in(options, "faultsOf")
    for table in faults_of:
        table_schema(table, form)
    read = frozenset(
        source for table in names for source in (DERIVED_TABLES[table].sources if table in DERIVED_TABLES else (table, *faults_of))
    )
    only = names_in(options, "only")
    return ReadOptions(
        tables=read,
        tables_by_log={known_log(name, "only"): read for name in only} if only else None,
        on_error=cast(OnError, parse_choice(options, "onError", ("fail", "skip"))),
        show_secrets=parse_bool(options, "showSecrets"),
        payloads=not set(OF_BODIES).isdisjoint(columns) or len(names) > 1,
        columns=form,
    )


@cache
def table_schema(table: str, form: Form = "typed") -> pa.Schema:
    """Return the schema of a table as Spark takes it. Errors: UsageError for a name that none has."""
    if table == SPLITS:
        return SPLITS_SCHEMA
    if table in DERIVED_TABLES:
        return commented(table, DERIVED_TABLES[table].schema)
    if table in STATE_TABLES:
        return commented(table, spark_state_schema(table, form))
    known = tables()
    if table not in known:
        raise UsageError(f"unknown table {table}{_near(table, [*STATE_TABLES, *known, *DERIVED_TABLES], 'there are')}", table)
    return commented(table, known[table] if form == "raw" else spark_schema(table))


def _refuse_unknown(options: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in OPTIONS}
    for name in options:
        if name.lower() not in known:
            # Spark ignores case, and shows all options in lower case.
            near = next((f" (did you mean {known[lower]}?)" for lower in get_close_matches(name.lower(), list(known), n=1)), "")
            raise UsageError(f"unknown option {name}" + (near or f"; there are {', '.join(OPTIONS)}"), name)


def _near(word: str, names: Sequence[str], all_of_them: str) -> str:
    """Return the name that was probably meant, or all there are."""
    return did_you_mean(word, names) or f"; {all_of_them} {', '.join(names)}"


def _require_column(table: str, column: str, schema: pa.Schema) -> None:
    if column not in schema.names:
        raise UsageError(f"table {table} has no column {column}{_near(column, schema.names, 'it has')}", column)


def with_columns(load: LoadOptions, wanted: Iterable[str]) -> LoadOptions:
    """Return the load with some columns only, such as those of a given schema. Errors: UsageError for one that the table lacks."""
    names = tuple(wanted)
    for column in names:
        _require_column(load.table, column, load.schema_of(load.table))
    return replace(load, columns=names, options=replace(load.options, payloads=not set(OF_BODIES).isdisjoint(names)))


def known_log(name: str, option: str) -> LogKind:
    """Return a kind of log by its name. Errors: UsageError."""
    for kind in KNOWN_LOGS:
        if kind == name:
            return kind
    raise UsageError(f"option {option} is one of {', '.join(KNOWN_LOGS)}, not {name}{did_you_mean(name, KNOWN_LOGS)}", name)


def parse_choice(options: Mapping[str, str], option: str, choices: tuple[str, ...]) -> str:
    """Return the value of an option that has few; the first where it is not given. Errors: UsageError."""
    value = options.get(option) or choices[0]
    if value not in choices:
        raise UsageError(f"option {option} is {' or '.join(choices)}, not {value}", value)
    return value


def parse_bool(options: Mapping[str, str], option: str) -> bool:
    """Return whether an option says true. Errors: UsageError for a word that is neither."""
    value = str(options.get(option) or "false").lower()
    if value not in ("true", "false"):
        raise UsageError(f"option {option} is true or false, not {value}", value)
    return value == "true"


def _whole_number(options: Mapping[str, str], option: str) -> int:
    value = str(options.get(option) or 0)
    if not value.isdecimal():
        raise UsageError(f"option {option} is a number of bytes, not {value}", value)
    return int(value)


def names_in(options: Mapping[str, str], option: str) -> tuple[str, ...]:
    """Return the names that an option lists, with commas between."""
    return tuple(name.strip() for name in (options.get(option) or "").split(",") if name.strip())


def load_paths(options: Mapping[str, Any]) -> list[str]:
    """Return the paths of a load: one as Spark's option `path`, several as `paths`, a JSON array. Errors: UsageError if there is none."""
    several = options.get("paths")
    if several:
        try:
            found = json.loads(several)
        except ValueError:
            found = None
        if not isinstance(found, list) or not found:
            raise UsageError("option paths is a list of paths as a JSON array", "paths")
        return [str(path) for path in found]
    if options.get("path"):
        return [str(options["path"])]
    raise UsageError("load() needs a path: a log, a checkpoint, or a directory of them")


# ---- columns without nulls

_OF_ALL: Final = frozenset(name for name, _ in PLACE)
_OF_RECORDS: Final = _OF_ALL | {"offset", "epoch"}
_OF_COMMON: Final = {
    RECORDS: _OF_RECORDS | {"size", "log", "checkpoint"},
    CONTROL: _OF_RECORDS | {"producer_id"},
    BATCHES: _OF_RECORDS
    | {"last_offset", "count", "position", "size", "magic", "crc", "codec", "is_log_append_time", "is_transactional", "is_control"}
    | {"producer_id", "producer_epoch", "base_sequence"},
}


def with_required(table: str, schema: pa.Schema) -> pa.Schema:
    """Return the schema of a typed table, in whatever form, with what cannot be null marked so, elements of lists too.

    Structs, maps and what lies in them stay as they are.
    """
    known = never_null(table)
    return pa.schema([_marked(field, field.name in known) for field in schema], schema.metadata)


@cache
def never_null(table: str) -> frozenset[str]:
    """Return the columns of a typed table that are null in no row."""
    if table in COMMON_TABLES:
        return _OF_COMMON.get(table, _OF_ALL)
    log = log_of_table(table)
    assert log is not None, f"{table} is no table of events"
    (found,) = (each for each in tables_of_log(log).values() if each.name == table)
    parts = parts_of(table)[-len(found.columns) :] if found.columns else []
    own = _OF_RECORDS | ({"version"} if found.key is None else {"tombstone"})
    return own.union(*(_of_part(part) for part in _never_null_raw(found, parts)))


def _never_null_raw(table: RecordTable, parts: list[Part]) -> Iterator[Part]:
    """Yield the parts whose raw column cannot be null."""
    for column, part in zip(table.columns, parts, strict=True):
        has_value = column.from_key or table.key is None
        if has_value and not _may_be_null(column.field):
            yield part


def _may_be_null(field: FieldSchema) -> bool:
    return field.nullable != NO_VERSIONS or field.default is None


def _of_part(part: Part) -> Iterator[str]:
    """Return the columns of a part that have a value wherever the raw one has."""
    if isinstance(part, Time):
        return
    names = [field.name for field in part.fields()]
    if isinstance(part, Blob):
        yield names[1]
    elif isinstance(part, Code) and part.has_unsaid:
        yield names[0]
    else:
        yield from names


def _marked(field: pa.Field, is_required: bool) -> pa.Field:
    kind = field.type
    if pa.types.is_list(kind) and not pa.types.is_nested(kind.value_type):
        kind = pa.list_(kind.value_field.with_nullable(False))
    return field.with_type(kind).with_nullable(not is_required)
