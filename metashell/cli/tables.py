"""metashell tables: what the tables are, and what their columns mean."""

from __future__ import annotations

from metashell.cli.common import STATUS_OK, declared_tool
from metashell.options.dictionary_tools import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.columns.meanings.dictionary import ListedColumn
    from metashell.forms import Display

NAME = "metashell tables"
ALL = "all"
_GAP = "  "
_BELOW = 6
_MEANING_MIN = 24
"""The least columns of a terminal that a meaning is wrapped to."""


def _show(values: SimpleNamespace) -> int:
    """Print the tables, or the columns that are asked for."""
    from metashell.forms import standard_output

    write_about(standard_output(), values.names, values.output)
    return STATUS_OK


def write_about(display: Display, names: Sequence[str], form: str = "text") -> None:
    """Write all tables, or what names are about. Errors: UsageError for a name that nothing has."""
    from metashell.columns.meanings.dictionary import ListedColumn, ListedTable, listed_tables
    from metashell.forms import write_rows

    if not names and form == "text":
        _write_tables(display)
    elif not names:
        write_rows(display, form, ListedTable._fields, listed_tables().values())
    elif form == "text":
        _write_columns(display, _columns(names))
    else:
        write_rows(display, form, ListedColumn._fields, _columns(names))


def meanings() -> dict[str, str]:
    """What each table and each TABLE.COLUMN means."""
    from metashell.columns.meanings.dictionary import listed_columns, listed_tables

    found = {table.name: table.holds for table in listed_tables().values()}
    return {**found, **{f"{column.table}.{column.name}": column.meaning for columns in listed_columns().values() for column in columns}}


def _columns(names: Sequence[str]) -> list[ListedColumn]:
    """The columns that names are about, each once. Errors: UsageError for a name that nothing has."""
    return list(dict.fromkeys(column for name in names for column in _columns_of(_our_name(name))))


def _our_name(name: str) -> str:
    """The name of a table or a column, also by that of Kafka's record or field: PARTITION_CHANGE_RECORD, PartitionChangeRecord.isr."""
    from metashell.codec.schema import snake_case

    parts = [part.lower() if part.isupper() else snake_case(part) for part in name.split(".")]
    return ".".join([parts[0].removesuffix("_record"), *parts[1:]])


def _columns_of(name: str) -> list[ListedColumn]:
    from metashell.columns.meanings.dictionary import listed_columns
    from metashell.errors import UsageError
    from metashell.options.values import did_you_mean

    columns = listed_columns()
    every = [column for table in columns.values() for column in table]
    if name == ALL:
        return every
    if name in columns:
        return columns[name]
    table, dot, path = name.partition(".")
    if dot and table in columns:
        found = [column for column in columns[table] if column.name == path or column.name.startswith(f"{path}.")]
        if not found:
            raise UsageError(f"table {table} has no column {path}{did_you_mean(path, [column.name for column in columns[table]])}", name)
        return found
    found = [column for column in every if name in (column.name, column.name.rpartition(".")[2])]
    if not found:
        known = [*columns, *dict.fromkeys(column.name for column in every)]
        raise UsageError(f"no table and no column is called {name}{did_you_mean(name, known)}; metashell tables lists all tables", name)
    return found


def _write_tables(display: Display) -> None:
    """A line for each table, under a heading for each kind and log."""
    from metashell.colors import HEADING
    from metashell.columns.meanings.dictionary import EVENTS, REPORT, STATE, listed_tables
    from metashell.log.kinds import LOG_NAMES

    headings = {STATE: "state: each thing once, as it is at the end of the log", REPORT: "answers of reports"}
    groups: dict[str, list[tuple[str, str]]] = {}
    for table in listed_tables().values():
        log = next((name for kind, name in LOG_NAMES.items() if kind == table.log), "every log")
        heading = f"events of {log}" if table.kind == EVENTS else headings[table.kind]
        groups.setdefault(heading, []).append((table.name, table.holds))
    for number, (heading, rows) in enumerate(groups.items()):
        if number:
            display.line("")
        display.line(display.paint(HEADING, heading))
        width = max(len(name) for name, _ in rows)
        for name, holds in rows:
            _write_entry(display, f"  {name:<{width}}", holds)


def _write_columns(display: Display, columns: Sequence[ListedColumn]) -> None:
    """The columns by table, each with its type, and its meaning beside it."""
    from metashell.colors import HEADING
    from metashell.columns.meanings.dictionary import listed_tables

    names = max(len(column.name) for column in columns)
    types = max(len(_type(column)) for column in columns)
    before = ""
    for column in columns:
        table = listed_tables()[column.table]
        if column.table != before:
            if before:
                display.line("")
            since = f" (since {table.since})" if table.since else ""
            _write_entry(display, display.paint(HEADING, f"{table.name}:"), f"{table.holds}{since}", start=2)
            before = column.table
        told = [column.meaning]
        if column.since not in (None, table.since):
            told.append(f"since {column.since}")
        if column.example:
            told.append(f"e.g. {column.example}")
        _write_entry(display, f"  {column.name:<{names}}  {_type(column):<{types}}", "; ".join(told))


def _type(column: ListedColumn) -> str:
    return column.type if column.unit is None else f"{column.type}, {column.unit}"


def _write_entry(display: Display, head: str, text: str, *, start: int = 0) -> None:
    """A line with a text behind its head. On a terminal it is wrapped, to where it began or to `start`; without room it goes below."""
    from textwrap import wrap

    from metashell.forms import text_width

    if display.width is None:
        display.line(display.joined((head, text), _GAP))
        return
    offset = text_width(head) + len(_GAP)
    is_below = display.width - offset < _MEANING_MIN
    offset = _BELOW if is_below else offset
    width = max(display.width, offset + _MEANING_MIN)
    indent = " " * min(start or offset, offset)
    first, *others = wrap(text, width, initial_indent=" " * offset, subsequent_indent=indent, break_on_hyphens=False)
    lines = [head, first] if is_below else [display.joined((head, first[offset:]), _GAP)]
    for line in (*lines, *others):
        display.line(line)


main = declared_tool(NAME, TABLES, _show)
