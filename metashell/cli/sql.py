"""metashell sql: questions to logs in SQL, from the command line, a file, standard input or a prompt."""

from __future__ import annotations

import os
import sys
from functools import partial

from metashell.cli.common import STATUS_FAILED, STATUS_OK, chosen_settings, complain, declared_tool
from metashell.escape import terminal_line
from metashell.options.sql_tools import SQL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import SimpleNamespace
    from typing import Any

    from metashell.columns.sql.query import Session
    from metashell.columns.state.reading import ImageAt
    from metashell.forms import Display

NAME = "metashell sql"
_STDIN = "-"


def _run(values: SimpleNamespace) -> int:
    """Answer the questions, wherever they come from."""
    from metashell.columns.packages import only_what_we_use, require_packages

    question, paths = _question_and_paths(values)
    require_packages("sql", "duckdb", "pyarrow", "numpy")
    from metashell.cli.stop_signals import left_in_order

    is_typed = question is None and values.file is None and sys.stdin.isatty() and sys.stdout.isatty()
    text = None if is_typed else _text(question, values.file, paths)
    image_at = None if values.at is None else _image_as_of(values.at)
    with left_in_order(), only_what_we_use():
        from metashell.columns.sql.query import Session

        session = Session(
            paths,
            on_error=values.on_error,
            show_secrets=values.show_secrets,
            log=values.log,
            image_at=image_at,
            columns="raw" if values.old_columns else "typed",
        )
        if text is None:
            return _prompt(session, values.output, paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more")
        if question is not None:
            return _answer(session, question, values.output)
        return _answer_all(session, text, values.output)


def _answer_all(session: Session, text: str, form: str, display: Display | None = None) -> int:
    """Print the answers to all statements of a text, up to the first that cannot be answered; gives the status."""
    from metashell.errors import UsageError

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
    """What gives the image of a path as of a moment, which is the same for all paths. Errors: UsageError for what is no moment."""
    import time

    from metashell.history import parse_moment
    from metashell.history.openers import image_as_of

    moment = parse_moment(text, round(time.time() * 1000))
    return lambda path: image_as_of(path, moment)


def _question_and_paths(values: SimpleNamespace) -> tuple[str | None, list[str]]:
    """The question on the command line, if there is one: a lone word is a path, and so is a first one that exists.

    Errors: UsageError where there is no path.
    """
    from metashell.cli.sources import path_of
    from metashell.errors import UsageError

    words = [path_of(word, chosen_settings) for word in (values.query, *values.paths) if word is not None]
    has_question = values.file is None and len(words) > 1 and words[0] != _STDIN and not os.path.exists(words[0])
    paths = words[1:] if has_question else words
    if not paths:
        raise UsageError("name a log: a file, a checkpoint, or a directory of them")
    if not has_question and len(paths) == 1 and " " in paths[0] and not os.path.exists(paths[0]):
        raise UsageError("name a log after the query: a file, a checkpoint, or a directory of them")
    return words[0] if has_question else None, paths


def _text(question: str | None, file: str | None, paths: list[str]) -> str:
    """The text of all questions. Errors: PathError for a file that cannot be read; UsageError for standard input that is a log too."""
    from metashell.errors import PathError, UsageError

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
    """Print the answer to one statement, on standard output where no display is given; gives the status."""
    from metashell.forms import counted, standard_output, write_rows
    from metashell.progress import shown_while

    with shown_while("answering"):
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
    """Write a line for each column of a row, and an empty one between rows; nothing is cut."""
    from metashell.colors import HEADING
    from metashell.forms import padded, plain_text, text_width

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
    """Ask for questions until the end of input; errors are told, and the prompt goes on."""
    from metashell.cli.common import show_error
    from metashell.cli.tables import meanings, write_about
    from metashell.columns.names import STATE_TABLES
    from metashell.errors import MetashellError
    from metashell.forms import standard_output, terminal_width
    from metashell.settings import DEFAULTS
    from metashell.shell.lines.pager import paged, pager_command
    from metashell.shell.terminal.sql_prompt import run_sql_prompt

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
        meanings=meanings(),
        about=lambda names: written(lambda shown: write_about(shown, names.split())),
    )
    return STATUS_OK


def _with_hint(note: str) -> str:
    """What is said at the prompt of a table that has no room for all columns."""
    return f"{note}; here, .mode line shows all"


main = declared_tool(NAME, SQL, _run)
