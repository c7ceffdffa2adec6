"""The prompt on a terminal; imported only for a prompt, since prompt_toolkit takes 80 ms."""

from __future__ import annotations

import os
import time
from threading import Thread
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.output import ColorDepth

from metashell.common.forms import terminal_width, text_width
from metashell.common.terminal import BAD, DIM, DIRECTORY, HEADING, terminal_line
from metashell.metadata.nodes import Directory
from metashell.shell.commands import find_command
from metashell.shell.completion import CANDIDATES_MAX, changes_cluster, complete, expansion
from metashell.shell.grammar import parse_line, unfinished
from metashell.shell.kafka_voice import KAFKA_BANNER, KAFKA_PROMPT
from metashell.shell.runner import run_typed
from metashell.shell.terminal.parts import (
    COLUMNS_MIN,
    SEARCHING,
    STYLE,
    HistorySearch,
    LineHistory,
    bar_text,
    certainty_parts,
    has_room,
    history_path,
    key_mode,
    lag_parts,
    load_history,
    session_keys,
    tab_bindings,
    toolbar_parts,
)
from metashell.shell.words import LineError, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from metashell.common.forms import Display
    from metashell.shell.completion import Candidate
    from metashell.shell.context import Context
    from metashell.shell.terminal.parts import Part

_LABEL_MAX = 32
_MENU_LINES = 4
"""Lines kept free below the prompt for the menu of completions, which may use more."""
_REFRESH_S = 1.0
_QUIET_S = 0.3
"""The delay before topic names are sorted, which keeps the first keys quick."""


def run_prompt(ctx: Context, *, input: Input | None = None, output: Output | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Read lines and run them until `exit` or Ctrl-D; return 0 even if commands failed, except in Kafka's shell.

    Shape: Ctrl-C drops the line, or stops the running command. Lines are kept in the history file; in Kafka's shell only for the
    session.
    """
    if not ctx.speaks_kafka:
        ctx.has_pager = ctx.display.is_terminal and environ.get("TERM") != "dumb"
    prompt = _Prompt(ctx, input, output, environ)
    Thread(target=_sort_names_later, args=(ctx,), daemon=True).start()
    if ctx.speaks_kafka:
        ctx.out.write(KAFKA_BANNER)
        ctx.out.flush()
    elif ctx.display.is_terminal:
        for line in greeting(ctx):
            ctx.complain(line, 0)
    while not ctx.leaving:
        is_running = False
        try:
            text = prompt.ask()
            is_running = True
            _run(ctx, text, prompt.keep)
        except KeyboardInterrupt:
            # While a command runs, the terminal itself shows ^C.
            ctx.out.write("\n" if is_running and ctx.display.is_terminal else "^C\n")
        except EOFError:
            break
        ctx.out.flush()
    return ctx.status if ctx.speaks_kafka else 0


def greeting(ctx: Context) -> list[str]:
    """Return the lines before the first prompt: the main keys, and which offsets the prompt's `committed to` warns about."""
    provenance = ctx.image.provenance
    words = "help lists the commands, Tab completes, Ctrl-R searches back, Ctrl-D leaves"
    if provenance.certain_to is None:
        return [words, "none of this is known to be committed"]
    if provenance.certain_to < provenance.end_offset:
        return [words, f"offsets from {provenance.certain_to} on may not be committed"]
    return [words]


def sort_names(ctx: Context) -> None:
    """Sort the names of all topics and make the text for searching them, both of which are kept: the first key would wait for it."""
    for match in ctx.matches("/image/topics/*"):
        if isinstance(match.node, Directory):
            text_of(match.node.child_names())


def _sort_names_later(ctx: Context) -> None:
    time.sleep(_QUIET_S)
    sort_names(ctx)


def _run(ctx: Context, text: str, keep: Callable[[str], None]) -> None:
    ctx.display.width = terminal_width()
    # A command that fails ends Kafka's shell; a wrong command line does not.
    if run_typed(ctx, text, keep) and ctx.speaks_kafka:
        ctx.leaving = True


class _Prompt:
    """The session of prompt_toolkit, and the text around the line."""

    def __init__(self, ctx: Context, input: Input | None, output: Output | None, environ: Mapping[str, str]) -> None:
        self._ctx = ctx
        history: History = InMemoryHistory()
        self.keep: Callable[[str], None] = lambda line: None
        self._search: HistorySearch | None = None
        shape: dict[str, Any] = {"completer": NodeCompleter(ctx), "complete_while_typing": True}
        if not ctx.speaks_kafka:
            path = history_path(environ)
            ctx.history[:0] = load_history(path)
            history = LineHistory(path, ctx.history, ctx.settings.aliases)
            self.keep = history.keep
            self._search, shape = session_keys(
                ctx.settings,
                NodeCompleter(ctx),
                CANDIDATES_MAX,
                lambda: ctx.history,
                expand=self._expanded,
                is_safe=lambda line: is_safe_to_suggest(line, ctx.settings.aliases),
            )
        else:
            shape["key_bindings"] = tab_bindings(shape["completer"], CANDIDATES_MAX)
        self.session: PromptSession[str] = PromptSession(
            self._message,
            history=history,
            color_depth=None if ctx.display.color else ColorDepth.DEPTH_1_BIT,
            reserve_space_for_menu=_MENU_LINES,
            refresh_interval=_REFRESH_S if ctx.feed is not None and ctx.feed.is_live else 0,
            style=STYLE,
            input=input,
            output=output,
            **shape,
        )

    def ask(self) -> str:
        """Return the next line. Errors: KeyboardInterrupt; EOFError."""
        if self._search is not None:
            self._search.is_on = False
        # prompt_toolkit's exception handler would ask for ENTER with its own prompt, and wait forever if nobody types.
        return self.session.prompt(set_exception_handler=False, handle_sigint=False)

    def _message(self) -> ANSI:
        ctx = self._ctx
        app = get_app()
        if not app.current_buffer.text:
            # Do not refresh during typing: the tree would change under its menu.
            ctx.refresh()
        size = app.output.get_size()
        has_bar = not ctx.speaks_kafka and ctx.settings.toolbar and has_room(size.columns, size.rows, ctx.display)
        self.session.bottom_toolbar = self._bar if has_bar else None
        is_searching = self._search is not None and self._search.is_on
        return ANSI((SEARCHING if is_searching else "") + prompt_text(ctx, has_bar=has_bar, width=size.columns))

    def _bar(self) -> ANSI:
        ctx = self._ctx
        view = ctx.feed.view() if ctx.feed is not None and ctx.feed.is_live else None
        width = get_app().output.get_size().columns
        parts = toolbar_parts(ctx.source_label, ctx.image, view, ctx.at, width - 1, key_mode())
        return ANSI(bar_text(ctx.display, parts))

    def _expanded(self, line: str) -> Completion | None:
        found = expansion(self._ctx, line)
        return None if found is None else _completion(found, line)


def prompt_text(ctx: Context, *, has_bar: bool = False, width: int | None = None) -> str:
    """Return the text before a line: `DIR /image> `, with `(at 300)` and `changes on` if they apply.

    Shape: without a status line it shows that too: `DIR@312 (committed to 251) 2 faults /image> `, or for a quorum `b1:9093@312 lag 0`.
    The number is the last offset of the image. If this takes more than half of the `width`, the line begins below it.
    """
    if ctx.speaks_kafka:
        return KAFKA_PROMPT
    label = ctx.source_label
    if len(label) > _LABEL_MAX:
        label = f"...{label[3 - _LABEL_MAX :]}"
    parts: list[Part] = [(HEADING, label if has_bar else f"{label}@{ctx.image.provenance.offset}")]
    view = ctx.feed.view() if ctx.feed is not None and ctx.feed.is_live else None
    certainty, *faults = certainty_parts(ctx.image, ctx.at)
    if ctx.at is not None or (not has_bar and certainty[0] != DIM):
        parts.append((certainty[0], f"({certainty[1]})"))
    if not has_bar:
        parts += lag_parts(view)
    if ctx.administrator is not None:
        parts.append((BAD, "changes on"))
    if not has_bar:
        parts += faults
    place: Part = (DIRECTORY, ctx.cwd)
    length = sum(text_width(text) + 1 for _, text in (*parts, place)) + 1
    if width is None or has_bar or length <= max(width // 2, COLUMNS_MIN // 2 + 10):
        return bar_text(ctx.display, [*parts, place], " ") + "> "
    return "\n".join([*_lines(ctx.display, parts, width), bar_text(ctx.display, [place]) + "> "])


def _lines(display: Display, parts: Iterable[Part], width: int) -> list[str]:
    """Return the pieces on lines of a width: prompt_toolkit would cut longer ones."""
    lines: list[list[Part]] = [[]]
    for role, text in parts:
        shown = text if text_width(text) < width else f"{text[: width - 2]}…"
        if lines[-1] and sum(text_width(each) + 1 for _, each in lines[-1]) + text_width(shown) >= width:
            lines.append([])
        lines[-1].append((role, shown))
    return [bar_text(display, line, " ") for line in lines]


def is_safe_to_suggest(line: str, aliases: Mapping[str, str]) -> bool:
    """Return whether an earlier line may be offered while typing: not one that changes the cluster without asking."""
    try:
        steps = parse_line(line).steps
    except LineError:
        return False
    for step in steps:
        words = [*unfinished(f"{aliases.get(step.words[0], '')} ").words, *step.words]
        commands = [find_command(word) for word in words]
        if any(command is not None and changes_cluster(command.spec) for command in commands) and any(map(_says_yes, words)):
            return False
    return True


def _says_yes(word: str) -> bool:
    return word == "--yes" or (word[:1] == "-" and word[1:2] != "-" and "y" in word)


def _completion(candidate: Candidate, line: str) -> Completion:
    return Completion(
        candidate.text,
        start_position=candidate.start - len(line),
        display=terminal_line(candidate.display),
        display_meta=terminal_line(candidate.meta),
    )


class NodeCompleter(Completer):
    """Completion of lines from the tree, for prompt_toolkit."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = document.text_before_cursor
        for candidate in complete(self._ctx, line):
            yield _completion(candidate, line)
