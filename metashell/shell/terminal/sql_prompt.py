"""The prompt of `metashell sql`: whether a statement is complete, and completion.

Imported only for a prompt: prompt_toolkit takes 80 ms."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth
from pygments.lexers.sql import SqlLexer

from metashell.common.forms import aligned, counted
from metashell.common.options import SQL_FORMS
from metashell.common.settings import DEFAULTS, state_folder
from metashell.common.terminal import DIM, terminal_line
from metashell.shell.terminal.parts import SEARCHING, STYLE, TextHistory, bar_text, has_room, key_mode, labelled, session_keys
from metashell.shell.words import matching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from metashell.common.forms import Display
    from metashell.common.settings import Settings


GREETING = "end a question with a semicolon; .tables lists the tables, Ctrl-D leaves"
OPEN_QUESTION = "a semicolon ends the question, Ctrl-C drops it"
_PROMPT, _CONTINUED = "sql> ", "...> "
_CANDIDATES_MAX = 1000


class Tables(Protocol):
    """The part of a SQL session that the prompt needs."""

    def columns(self) -> dict[str, list[str]]: ...
    def functions(self) -> list[str]: ...


def run_sql_prompt(
    tables: Tables,
    answer: Callable[[str, str], object],
    state_tables: Sequence[str],
    *,
    display: Display,
    form: str = "text",
    label: str = "",
    settings: Settings = DEFAULTS,
    meanings: Mapping[str, str] = MappingProxyType({}),
    about: Callable[[str], object] | None = None,
    input: Input | None = None,
    output: Output | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Read and answer queries until Ctrl-D; Ctrl-C drops the typed text, or stops an answer.

    Shape: Enter ends a complete query, and otherwise begins a new line. Queries are kept in a history file. `answer` gets a query and
    the form of its answer: first `form`, then the one that .mode sets. `label` names the source in the status line. `meanings` are those
    of tables and TABLE.COLUMN; `about` writes all that is known of one.
    """
    names = Vocabulary(tables.columns(), state_tables, tables.functions(), meanings)
    out = display.out
    prompt = _Prompt(names, display, label, settings, input, output, environ)
    out.write(f"{GREETING}\n")
    is_timed = settings.timing
    while True:
        out.flush()
        try:
            text = prompt.ask().strip()
            line = command_of(text)
            if line == QUIT:
                return
            if line == ".timer":
                is_timed = not is_timed
                out.write(f"timer {'on' if is_timed else 'off'}\n")
            elif line.split()[:1] == [MODE]:
                form, told = mode_of(line, form)
                out.write(told)
            elif line.split()[:1] == [ABOUT] and about is not None:
                about(line.removeprefix(ABOUT).strip())
            elif line:
                out.write(_command_answer(line, names))
            elif text:
                started = monotonic()
                answer(question_of(text), form)
                out.write(f"{monotonic() - started:.3f} s\n" if is_timed else "")
        except KeyboardInterrupt:
            out.write("^C\n")
        except EOFError:
            return


def _command_answer(line: str, names: Vocabulary) -> str:
    """Return the answer to a command of the prompt itself."""
    if line == ".tables":
        rows = [
            [name, "state" if name in names.state_tables else "events", names.meanings.get(name, f"{len(names.columns[name])} columns")]
            for name in names.columns
        ]
    elif line == ".help":
        return HELP + "".join(f"{row}\n" for row in aligned(list(COMMANDS.items())))
    else:
        return f"{terminal_line(line)}: unknown; .help lists what can be typed here\n"
    return "".join(f"{row}\n" for row in aligned(rows))


class _Prompt:
    """The session of prompt_toolkit, and the text around the query."""

    def __init__(
        self,
        names: Vocabulary,
        display: Display,
        label: str,
        settings: Settings,
        input: Input | None,
        output: Output | None,
        environ: Mapping[str, str],
    ) -> None:
        self._display = display
        self._settings = settings
        tables = f"{counted(len(state_tables := names.state_tables), 'table')} of the state"
        self._label = label
        self._about = [(DIM, tables), (DIM, f"{len(names.columns) - len(state_tables)} of events")]
        history = TextHistory(state_folder(environ) / "sql_history")
        self._search, keys = session_keys(settings, _SqlCompleter(names), _CANDIDATES_MAX, lambda: history.texts, more=_enter_bindings())
        self.session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=_CONTINUED,
            history=history,
            lexer=PygmentsLexer(SqlLexer) if display.color else None,
            color_depth=None if display.color else ColorDepth.DEPTH_1_BIT,
            style=STYLE,
            input=input,
            output=output,
            **keys,
        )

    def ask(self) -> str:
        """Return the next query. Errors: KeyboardInterrupt; EOFError."""
        self._search.is_on = False
        return self.session.prompt(set_exception_handler=False, handle_sigint=False)

    def _message(self) -> str:
        size = get_app().output.get_size()
        has_bar = self._settings.toolbar and has_room(size.columns, size.rows, self._display)
        self.session.bottom_toolbar = self._bar if has_bar else None
        return (SEARCHING if self._search.is_on else "") + _PROMPT

    def _bar(self) -> ANSI:
        mode = key_mode()
        about = [(DIM, OPEN_QUESTION)] if "\n" in get_app().current_buffer.text else self._about
        parts = [*about, *([(DIM, mode)] if mode else [])]
        return ANSI(bar_text(self._display, labelled(self._label, parts, get_app().output.get_size().columns - 1)))


def _enter_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings


class _SqlCompleter(Completer):
    """Completion of queries, for prompt_toolkit."""

    def __init__(self, names: Vocabulary) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for found in candidates(document.text_before_cursor, document.text_after_cursor, self._names):
            yield Completion(found.text, start_position=-found.length, display_meta=found.meta)


COMMANDS: Final = {
    ".tables": "the tables, and what they hold",
    ".about NAME": "what a table, a column or TABLE.COLUMN means",
    ".mode FORM": "how answers are shown: line has a line for each column of a row; text, json, jsonl, csv",
    ".timer": "show how long each answer takes, or show it no longer",
    ".help": "what can be typed here",
    ".quit": "leave; so do exit and Ctrl-D",
}
QUIT: Final = ".quit"
MODE: Final = ".mode"
ABOUT: Final = ".about"
_OTHER_NAMES: Final = {
    **dict.fromkeys((".exit", "quit", "exit", "\\q", ":q"), QUIT),
    **dict.fromkeys(("help", "?", "\\?", "\\h"), ".help"),
    **dict.fromkeys(("\\d", "\\dt"), ".tables"),
    **dict.fromkeys(("timing", "\\timing"), ".timer"),
    "\\x": ".mode line",
}
"""Whole lines that users of another SQL prompt type."""
HELP: Final = """\
Type a question and end it with a semicolon; it may go over several lines. Tab completes tables, columns and functions.
describe TABLE    the columns of a table
"""
_KEYWORDS: Final = tuple(
    re.findall(
        "[a-z]+",
        "select from where group by order having limit join left on using as and or not in is null like distinct case when then else end "
        "with union all describe show tables summarize between asc desc exists true false over partition filter unnest values",
    )
)
_DESCRIBED: Final = r"\s*\\d\s+([\w.\"]+)[\s;]*"
_WITHOUT_SEMICOLON: Final = r"(?is)\s*(?:describe|desc|summarize)\s+[\w.\"]+\s*|\s*show\s+tables\s*"
_FOUND_MAX: Final = 1000
_PIECES: Final = r"'(?:[^']|'')*(?:'|$)|\"[^\"]*(?:\"|$)|--[^\n]*|/\*.*?(?:\*/|$)|\$\$.*?(?:\$\$|$)|[^'\"$/-]+|."
_WORD: Final = r"[A-Za-z0-9_]*$"
_NAMED_TABLE: Final = (
    r"(?i)\b(?:from|join|describe|summarize)\s+(\w+)(?:\s+(?:as\s+)?(?!using\b|on\b|where\b|join\b|left\b|group\b|order\b)(\w+))?"
)
_WANTS_TABLE: Final = r"(?i)\b(?:from|join|describe|summarize|desc)\s+$"


class Vocabulary(NamedTuple):
    """The known names: columns of each table, tables that hold state, functions, and the meanings of tables and of TABLE.COLUMN."""

    columns: Mapping[str, Sequence[str]]
    state_tables: Sequence[str]
    functions: Sequence[str]
    meanings: Mapping[str, str] = MappingProxyType({})

    def about(self, table: str, column: str) -> str:
        """Return a short meaning of a column."""
        return re.split(r"[;(]|\. ", self.meanings.get(f"{table}.{column}", ""))[0].strip() or f"column of {table}"


class Candidate(NamedTuple):
    """A completion: the text that replaces the last `length` characters, and its description."""

    text: str
    length: int
    meta: str


def command_of(text: str) -> str:
    """Return the prompt's own command for a text, by its main name in lower case; empty for SQL."""
    line = text.strip().rstrip(";").rstrip().lower()
    line = _OTHER_NAMES.get(line, line)
    return line if line.startswith(".") else ""


def mode_of(line: str, form: str) -> tuple[str, str]:
    """Return the form that a `.mode` line sets, given the present one, and the message about it."""
    words = line.split()[1:]
    if len(words) == 1 and words[0] in SQL_FORMS:
        return words[0], f"mode {words[0]}\n"
    choices = ", ".join(SQL_FORMS)
    if not words:
        return form, f"mode {form}; there are {choices}\n"
    return form, f"{terminal_line(line)}: a mode is one of {choices}\n"


def question_of(text: str) -> str:
    """Return the SQL of a text: `\\d TABLE` describes a table."""
    described = re.fullmatch(_DESCRIBED, text)
    return text if described is None else f"describe {described[1]}"


def is_whole(text: str) -> bool:
    """Return whether a text is complete: a command, or SQL that ends with a semicolon outside quotes and comments."""
    line = text.strip()
    if not line or command_of(line) or re.fullmatch(_WITHOUT_SEMICOLON, question_of(line)):
        return True
    last = ""
    for piece in re.findall(_PIECES, line, re.DOTALL):
        if not piece.startswith(("--", "/*")) and piece.strip():
            last = piece.strip()
    return last.endswith(";") and last[0] not in "'\"$"


def candidates(before: str, after: str, names: Vocabulary) -> Iterator[Candidate]:
    """Yield completions of the word before the cursor; columns of the tables in the query come first."""
    found = re.search(_WORD, before)
    word = found[0] if found is not None else ""
    ahead = before[: len(before) - len(word)]
    if before.startswith("."):
        forms = {f"{MODE} {form}": "" for form in SQL_FORMS} if before.startswith(f"{MODE} ") else {}
        tables = {f"{ABOUT} {name}": meta for name, meta in _tables(names).items()} if before.startswith(f"{ABOUT} ") else {}
        words = {**{usage.split(" ")[0]: meta for usage, meta in COMMANDS.items()}, **forms, **tables}
        yield from (Candidate(name, len(before), meta) for name, meta in words.items() if name.startswith(before))
        return
    if _is_in_text(ahead):
        return
    named = _named_tables(before + after, names)
    qualified = re.search(r"(\w+)\.$", ahead)
    if qualified is not None:
        table = named.get(qualified[1].lower(), "")
        yield from _matching(word, {column: names.about(table, column) for column in names.columns.get(table, ())})
    elif re.search(_WANTS_TABLE, ahead):
        yield from _matching(word, _tables(names))
    elif word or named:
        for candidate in _matching(word, _words(dict.fromkeys(named.values()), names, is_long=bool(word))):
            table_of = re.fullmatch("column of (.*)", candidate.meta)
            yield candidate if table_of is None else candidate._replace(meta=names.about(table_of[1], candidate.text))


def _is_in_text(ahead: str) -> bool:
    pieces = re.findall(_PIECES, ahead, re.DOTALL)
    return bool(pieces) and pieces[-1].startswith(("'", "--")) and (len(pieces[-1]) == 1 or not pieces[-1].endswith("'"))


def _named_tables(text: str, names: Vocabulary) -> dict[str, str]:
    """Return the tables that a text names, by their names and their aliases."""
    named = {}
    for table, alias in re.findall(_NAMED_TABLE, text):
        if table.lower() in names.columns:
            named[table.lower()] = table.lower()
            if alias:
                named[alias.lower()] = table.lower()
    return named


def _tables(names: Vocabulary) -> dict[str, str]:
    return {name: "state" if name in names.state_tables else "events" for name in names.columns}


def _words(tables: Mapping[str, object], names: Vocabulary, *, is_long: bool) -> dict[str, str]:
    """Return all words that may come next, each with its description; before a word is begun, only columns."""
    words: dict[str, str] = {}
    for table in tables or (names.columns if is_long else ()):
        for column in names.columns[table]:
            words.setdefault(column, f"column of {table}")
    if is_long:
        for more in (_tables(names), dict.fromkeys(_KEYWORDS, ""), dict.fromkeys((f"{name}(" for name in names.functions), "function")):
            words = {**more, **words}
        kinds = {"column": 0, "state": 1, "events": 2, "": 3, "function": 4}
        words = dict(sorted(words.items(), key=lambda item: kinds.get(item[1].split(" ")[0], 9)))
    return words


def _matching(word: str, words: Mapping[str, str]) -> Iterator[Candidate]:
    for text in matching(word.lower(), list(words), _FOUND_MAX):
        if text != word:
            yield Candidate(text, len(word), words[text])
