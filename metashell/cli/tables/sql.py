"""metashell sql and metashell tables: answers SQL queries about logs, and explains each table and column.

A query comes from the command line, a file, standard input or the prompt."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING

from metashell.cli.sources import path_of
from metashell.cli.tool import chosen_settings, declared_tool, left_in_order
from metashell.codec.schema import snake_case
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain, show_error
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import counted, padded, plain_text, standard_output, terminal_width, text_width, write_rows
from metashell.common.options import Argument, CommandSpec, Option, did_you_mean, file_option
from metashell.common.settings import DEFAULTS
from metashell.common.terminal import HEADING, show_progress, terminal_line
from metashell.disk.names import LOG_NAMES
from metashell.tables import only_what_we_use, require_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import SimpleNamespace
    from typing import Any

    from metashell.common.forms import Display
    from metashell.tables.dictionary import ListedColumn
    from metashell.tables.sql.query import Session
    from metashell.tables.state.clusters import ImageAt


_STATE = """\
topics         what there is now, each thing once, however many copies of the log are given; codes are words
partitions     the same of partitions, with the names of topics joined in
brokers        and controllers, configs, acls, quotas, features, voters: each thing once too
sources        what the state was read from, and up to which offset"""

SQL = CommandSpec(
    name="metashell-sql",
    summary="ask questions of logs in SQL: the current state, and the events that led to it",
    description="""
        Answers questions with DuckDB. There are two kinds of tables. The state has each thing once, as it is at the end of the log. The
        tables of `metashell export` are events: a row for each record that was written. Only the tables that a question names are
        read, events into temporary files below $TMPDIR that are deleted at the end; where a condition limits offset, epoch or timestamp,
        only what can meet it. A PATH may also be a lake, as `metashell export --append` makes it, which has the tables of events. A
        question can read these tables and nothing else: no file, no network, no extension. Ids are UUIDs, each beside its text as Kafka
        prints it (topic_id and topic_id_text), times are timestamps in UTC. `uuid_text(ID)` is the text of an id, `uuid_of(TEXT)` the id of
        a text, `time_of(MS)` the time of a number of ms.

        Without QUERY, questions are asked at a prompt, where Tab completes tables, columns and functions, or read from standard input. Each
        ends with a semicolon.
        """,
    options=(
        file_option("--file", "-f", help="read the questions from this file, - for standard input"),
        Option(
            names=("--at",),
            metavar="MOMENT",
            help="the state as of an offset (before its record), a time (2026-11-20T03:00) or a time ago (-2h); events are shown as ever",
        ),
        options.DEMO,
        options.output(*options.SQL_FORMS, help=f"{options.OUTPUT.help}; line has a line for each column of a row"),
        options.ON_ERROR,
        options.LOG_KIND,
        options.SHOW_SECRETS,
        options.VERSION,
    ),
    arguments=(
        Argument(name="query", metavar="QUERY", nargs="?", help="one SELECT, or DESCRIBE TABLE, or SHOW TABLES"),
        options.LOG_PATHS._replace(nargs="*"),
    ),
    examples=(
        ("metashell sql 'select topic, partition_id, isr from partitions where leader = -1' DIR", "which partitions have no leader now"),
        ("metashell sql 'select leader, count(*) from partitions group by all' DIR", "how many partitions each broker leads"),
        (
            "metashell sql 'select timestamp, leader from partition_change where leader >= 0' DIR -o csv",
            "who became leader and when",
        ),
        (
            "metashell sql --at -2h 'select * from partitions where is_under_replicated' DIR",
            "what lacked replicas two hours ago",
        ),
        ("metashell sql 'select count(*) from topic where timestamp >= current_date' s3://BUCKET/LAKE", "what was created today"),
        ("metashell sql DIR", "a prompt"),
        ("metashell sql -f questions.sql DIR -o jsonl", "the questions of a file"),
    ),
    epilog=(("TABLES OF THE STATE", _STATE), ("TABLES OF EVENTS", options.EVENT_TABLES), options.EXIT_STATUS),
    files=(*options.LOG_FILES, ("$XDG_STATE_HOME/metashell/sql_history", "the questions that were typed at the prompt")),
    environment=(*options.TEMPORARY_ENVIRONMENT, *options.STORE_ENVIRONMENT, *options.TERMINAL_ENVIRONMENT),
)


NAME = "metashell sql"
_STDIN = "-"


def _run_sql(values: SimpleNamespace) -> int:
    """Answer the queries from any of these places."""

    question, paths = _question_and_paths(values)
    require_packages("sql", "duckdb", "pyarrow", "numpy")

    is_typed = question is None and values.file is None and sys.stdin.isatty() and sys.stdout.isatty()
    text = None if is_typed else _text(question, values.file, paths)
    image_at = None if values.at is None else _image_as_of(values.at)
    with left_in_order(), only_what_we_use():
        from metashell.tables.sql.query import Session

        session = Session(
            paths,
            on_error=values.on_error,
            show_secrets=values.show_secrets,
            log=values.log,
            image_at=image_at,
        )
        if text is None:
            return _prompt(session, values.output, paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more")
        if question is not None:
            return _answer(session, question, values.output)
        return _answer_all(session, text, values.output)


def _answer_all(session: Session, text: str, form: str, display: Display | None = None) -> int:
    """Print the answers to the statements of a text, up to the first that fails; return the exit status."""

    status = STATUS_OK
    statements = session.statements(text)
    if not statements:
        raise UsageError("there is no question in what was given")
    for number, statement in enumerate(statements):
        if number and form in ("text", "table", "line"):
            (sys.stdout if display is None else display.out).write("\n")
        status = max(status, _answer(session, statement, form, display))
    return status


def _image_as_of(text: str) -> ImageAt:
    """Return a function that gives the image of a path as of a moment, the same for all paths. Errors: UsageError for an invalid moment."""

    from metashell.metadata.history import parse_moment
    from metashell.metadata.history.sources import image_as_of

    moment = parse_moment(text, round(time.time() * 1000))
    return lambda path: image_as_of(path, moment)


def _question_and_paths(values: SimpleNamespace) -> tuple[str | None, list[str]]:
    """Return the query on the command line, or None, and the paths. A lone word is a path; a first word that exists is one too.

    Errors: UsageError if there is no path.
    """

    words = [path_of(word, chosen_settings) for word in (values.query, *values.paths) if word is not None]
    has_question = values.file is None and len(words) > 1 and words[0] != _STDIN and not os.path.exists(words[0])
    paths = words[1:] if has_question else words
    if not paths:
        raise UsageError("name a log: a file, a checkpoint, or a directory of them")
    if not has_question and len(paths) == 1 and " " in paths[0] and not os.path.exists(paths[0]):
        raise UsageError("name a log after the query: a file, a checkpoint, or a directory of them")
    return words[0] if has_question else None, paths


def _text(question: str | None, file: str | None, paths: list[str]) -> str:
    """Return the text of all queries. Errors: PathError for an unreadable file; UsageError if standard input is also a log."""

    if question is not None:
        return question
    if file is None or file == _STDIN:
        if _STDIN in paths:
            raise UsageError("standard input cannot hold both the questions and a log", _STDIN)
        return sys.stdin.read()
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        raise PathError.of(file, error) from None
    except UnicodeDecodeError:
        raise PathError(f"{file}: this is no text in UTF-8", file) from None


def _answer(session: Session, statement: str, form: str, display: Display | None = None) -> int:
    """Print the answer to one statement, on standard output if no display is given; return the exit status."""

    with show_progress("answering"):
        answer = session.ask(statement)
        if answer.note:
            complain(NAME, answer.note)
        write = _write_lines if form == "line" else partial(write_rows, form=form)
        write(display or standard_output(note=partial(complain, NAME)), columns=answer.columns, rows=answer.rows)
    if line := answer.newer():
        complain(NAME, line)
    if answer.fault_count:
        complain(NAME, f"{counted(answer.fault_count, 'fault')} skipped; the table faults has the details")
        return STATUS_FAILED
    return STATUS_OK


def _write_lines(display: Display, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write one line per column of a row, uncut, and an empty line between rows."""

    shown = [terminal_line(name) for name in columns]
    width = max(map(text_width, shown))
    names = [display.paint(HEADING, padded(name, width)) for name in shown]
    for number, row in enumerate(rows):
        if number:
            display.line("")
        for name, value in zip(names, row, strict=True):
            text = "-" if value is None else terminal_line(plain_text(value))
            display.line(display.joined((name, text), "  "))


def _prompt(session: Session, form: str, label: str) -> int:
    """Prompt for queries until the end of input. An error is shown, and the prompt continues."""
    from metashell.shell.streams import paged, pager_command
    from metashell.shell.terminal.sql_prompt import run_sql_prompt
    from metashell.tables.dictionary import STATE_TABLES

    settings = chosen_settings(NAME) or DEFAULTS
    display = standard_output(note=lambda text: complain(NAME, _with_hint(text)))
    display.palette = {**display.palette, **settings.colors}
    pager = "" if os.environ.get("TERM") == "dumb" else pager_command(settings.pager)

    def note(text: str, can_run: bool) -> None:
        nonlocal pager
        pager = pager if can_run else ""
        complain(NAME, text)

    def written(write: Callable[[Display], object]) -> None:
        display.width = terminal_width()
        try:
            if not pager:
                write(display)
                return
            with paged(display, sys.stderr, pager, note) as (shown, err):
                shown.note = lambda text: err.write(terminal_line(f"{NAME}: {_with_hint(text)}") + "\n")
                write(shown)
        except MetashellError as error:
            show_error(NAME, error)

    run_sql_prompt(
        session,
        lambda text, form: written(lambda shown: _answer_all(session, text, form, shown)),
        STATE_TABLES,
        display=display,
        form=form,
        label=label,
        settings=settings,
        meanings=column_meanings(),
        about=lambda names: written(lambda shown: write_meanings(shown, names.split())),
    )
    return STATUS_OK


def _with_hint(note: str) -> str:
    """Return a note with a hint for tables that are too wide for the prompt."""
    return f"{note}; here, .mode line shows all"


main = declared_tool(NAME, SQL, _run_sql)


TABLES_FORMS = ("text", "json", "jsonl", "csv", "table")

TABLES = CommandSpec(
    name="metashell-tables",
    summary="what the tables of export, sql and reports are, and what each column means",
    description="""
        Without NAME it lists all tables: those of the state, of events, and the answers of reports. With the NAME of a table it shows each
        column: type, unit, meaning with special values, the metadata.version (for coordinators' logs, the release of Kafka) that first
        wrote it, and an example from a real log. A column's NAME shows it in every table that has it; TABLE.COLUMN is one column. Kafka's
        names of records and fields are understood: PARTITION_CHANGE_RECORD, leaderEpoch.
        """,
    options=(options.output(*TABLES_FORMS), options.VERSION),
    arguments=(
        Argument(
            name="names",
            metavar="NAME",
            nargs="*",
            kind="any-table",
            help="a table, a column, TABLE.COLUMN, or all: the columns of all tables",
        ),
    ),
    examples=(
        ("metashell tables", "all tables, with a line each"),
        ("metashell tables partition", "the columns of partition"),
        ("metashell tables partition_change.leader", "what -2 means there"),
        ("metashell tables topic_id", "every table that can be joined by it"),
        ("metashell tables all -o csv", "everything, for a spreadsheet"),
    ),
    epilog=(options.EXIT_STATUS,),
    files=(("docs/dictionary.md", "the same as a page, in the source"),),
)


TABLES_NAME = "metashell tables"
ALL = "all"
_GAP = "  "
_BELOW = 6
_MEANING_MIN = 24
"""The least width in columns to which a meaning is wrapped."""


def _show_tables(values: SimpleNamespace) -> int:
    """Print the tables, or the columns that the command line names."""

    write_meanings(standard_output(), values.names, values.output)
    return STATUS_OK


def write_meanings(display: Display, names: Sequence[str], form: str = "text") -> None:
    """Write all tables, or the named tables and columns. Errors: UsageError for an unknown name."""
    from metashell.tables.dictionary import ListedColumn, ListedTable, listed_tables

    if not names and form == "text":
        _write_tables(display)
    elif not names:
        write_rows(display, form, ListedTable._fields, listed_tables().values())
    elif form == "text":
        _write_columns(display, _columns(names))
    else:
        write_rows(display, form, ListedColumn._fields, _columns(names))


def column_meanings() -> dict[str, str]:
    """Return the meaning of each table and each TABLE.COLUMN."""
    from metashell.tables.dictionary import listed_columns, listed_tables

    found = {table.name: table.holds for table in listed_tables().values()}
    return {**found, **{f"{column.table}.{column.name}": column.meaning for columns in listed_columns().values() for column in columns}}


def _columns(names: Sequence[str]) -> list[ListedColumn]:
    """Return the columns that the names mean, each once. Errors: UsageError for an unknown name."""
    return list(dict.fromkeys(column for name in names for column in _columns_of(_our_name(name))))


def _our_name(name: str) -> str:
    """Return our name of a table or column, also from the name of Kafka's record or field: PARTITION_CHANGE_RECORD,
    PartitionChangeRecord.isr.
    """

    parts = [part.lower() if part.isupper() else snake_case(part) for part in name.split(".")]
    return ".".join([parts[0].removesuffix("_record"), *parts[1:]])


def _columns_of(name: str) -> list[ListedColumn]:
    from metashell.tables.dictionary import listed_columns

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
    """Write one line per table, under a heading for each kind and log."""
    from metashell.tables.dictionary import EVENTS, REPORT, STATE, listed_tables

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
    """Write the columns by table, each with its type and its meaning."""
    from metashell.tables.dictionary import listed_tables

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
    """Write a line with a text after its head.

    On a terminal the text wraps with its own indent, or at `start`; if there is too little room, it goes below the head.
    """

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


tables_main = declared_tool(TABLES_NAME, TABLES, _show_tables)
