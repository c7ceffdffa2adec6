"""The prompt of `metashell sql`; imported only for a prompt, since prompt_toolkit takes 80 ms."""

from __future__ import annotations

import os
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth
from pygments.lexers.sql import SqlLexer

from metashell.colors import DIM
from metashell.escape import terminal_line
from metashell.forms import aligned, counted
from metashell.settings import DEFAULTS, state_folder
from metashell.shell.terminal.bar import STYLE, drawn, has_room
from metashell.shell.terminal.file_history import TextHistory
from metashell.shell.terminal.keys import SEARCHING, key_mode, session_keys
from metashell.shell.terminal.sql_lines import (
    ABOUT,
    COMMANDS,
    HELP,
    MODE,
    QUIT,
    Vocabulary,
    candidates,
    command_of,
    is_whole,
    mode_of,
    question_of,
)
from metashell.shell.terminal.toolbar import labelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from metashell.forms import Display
    from metashell.settings import Settings

GREETING = "end a question with a semicolon; .tables lists the tables, Ctrl-D leaves"
OPEN_QUESTION = "a semicolon ends the question, Ctrl-C drops it"
_PROMPT, _CONTINUED = "sql> ", "...> "
_CANDIDATES_MAX = 1000


class Tables(Protocol):
    """Whom questions go to, as far as the prompt needs it."""

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
    """Ask for questions and have them answered until Ctrl-D; Ctrl-C drops what is typed, or stops an answer.

    Shape: Enter ends a question that is whole, and begins a new line of any other. What was typed is kept in a history file.
    `answer` gets a question and the form of its answer, first `form`, then what .mode says. `label` says
    what is asked, for the line at the bottom. `meanings` says what tables and TABLE.COLUMN mean, `about` writes all that there is to
    say of one.
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
                out.write(_told(line, names))
            elif text:
                started = monotonic()
                answer(question_of(text), form)
                out.write(f"{monotonic() - started:.3f} s\n" if is_timed else "")
        except KeyboardInterrupt:
            out.write("^C\n")
        except EOFError:
            return


def _told(line: str, names: Vocabulary) -> str:
    """The answer to a command of the prompt itself."""
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
    """The session of prompt_toolkit, and what is drawn around the question."""

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
        """The next question. Errors: KeyboardInterrupt; EOFError."""
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
        return ANSI(drawn(self._display, labelled(self._label, parts, get_app().output.get_size().columns - 1)))


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
    """Completion of questions, for prompt_toolkit."""

    def __init__(self, names: Vocabulary) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for found in candidates(document.text_before_cursor, document.text_after_cursor, self._names):
            yield Completion(found.text, start_position=-found.length, display_meta=found.meta)
