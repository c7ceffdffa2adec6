"""The prompt on a terminal; imported only for a prompt, since prompt_toolkit takes 80 ms."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.output import ColorDepth

from metashell.escape import terminal_line
from metashell.forms import counted, terminal_width
from metashell.nodes import Directory
from metashell.shell.completion import CANDIDATES_MAX, complete
from metashell.shell.history import append_history, history_path, load_history, remember
from metashell.shell.kafka_voice import KAFKA_BANNER, KAFKA_PROMPT
from metashell.shell.run import run_line
from metashell.shell.tab_key import tab_bindings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from metashell.shell.context import Context

_LABEL_MAX = 32
_MENU_LINES = 4
"""Lines kept free below the prompt for the menu of completions, which uses more if there are more."""
_REFRESH_S = 1.0
_BOLD, _RED, _YELLOW, _BLUE, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[1;34m", "\x1b[0m"


def run_prompt(ctx: Context, *, input: Input | None = None, output: Output | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Ask for lines and run them until `exit` or Ctrl-D; the status is 0, even if commands failed.

    Shape: Ctrl-C drops the line, or stops the running command. Lines are kept in the history file; in Kafka's shell only for the
    session.
    """
    session = _make_session(ctx, input, output, environ)
    Thread(target=sort_names, args=(ctx,), daemon=True).start()
    if ctx.speaks_kafka:
        ctx.out.write(KAFKA_BANNER)
        ctx.out.flush()
    elif ctx.display.is_terminal:
        ctx.complain(greeting(ctx), 0)
    while not ctx.leaving:
        try:
            # The handler of prompt_toolkit would ask for ENTER with a prompt of its own, for ever where nobody types.
            line = session.prompt(set_exception_handler=False)
            _run(ctx, line)
        except KeyboardInterrupt:
            ctx.out.write("^C\n")
        except EOFError:
            break
        ctx.out.flush()
    return ctx.status if ctx.speaks_kafka else 0


def greeting(ctx: Context) -> str:
    """The one line before the first prompt: how to go on, and which offsets the prompt's `certain to` warns about."""
    provenance = ctx.image.provenance
    words = "help lists the commands, Tab completes, Ctrl-D leaves"
    if provenance.certain_to is None:
        return f"{words}; none of this is certainly committed"
    if provenance.certain_to < provenance.end_offset:
        return f"{words}; offsets from {provenance.certain_to} on may not be committed"
    return words


def sort_names(ctx: Context) -> None:
    """Sort the names of all topics, which are then kept: with 100 000 of them the first key press would wait for it."""
    for match in ctx.matches("/image/topics/*"):
        if isinstance(match.node, Directory):
            match.node.child_names()


def _run(ctx: Context, line: str) -> None:
    ctx.display.width = terminal_width()
    # A command that fails ends Kafka's shell; a wrong command line does not.
    if run_line(ctx, line) and ctx.speaks_kafka:
        ctx.leaving = True


def _make_session(ctx: Context, input: Input | None, output: Output | None, environ: Mapping[str, str]) -> PromptSession[str]:
    history: History = InMemoryHistory()
    if not ctx.speaks_kafka:
        path = history_path(environ)
        ctx.history[:0] = load_history(path)
        history = FileHistory(path, ctx.history)
    completer = NodeCompleter(ctx)
    return PromptSession(
        lambda: ANSI(prompt_text(ctx)),
        history=history,
        completer=completer,
        key_bindings=tab_bindings(completer, CANDIDATES_MAX),
        complete_while_typing=True,
        color_depth=None if ctx.display.color else ColorDepth.DEPTH_1_BIT,
        reserve_space_for_menu=_MENU_LINES,
        refresh_interval=_REFRESH_S if ctx.feed is not None and ctx.feed.is_live else 0,
        input=input,
        output=output,
    )


def prompt_text(ctx: Context) -> str:
    """The text before a line: `DIR@312 (certain to 251) 2 faults /image> `, for a quorum `b1:9093@312 lag 0 /image> `.

    Shape: the number is the last offset of the image. `certain to` is shown while later records may still be undone, the number
    of faults if there are any. A live source shows its lag in records or, if it is not updated, the reason. `changes on` is shown where
    commands may change the cluster.
    """
    if ctx.speaks_kafka:
        return KAFKA_PROMPT
    ctx.refresh()
    provenance = ctx.image.provenance
    label = ctx.source_label
    if len(label) > _LABEL_MAX:
        label = f"...{label[3 - _LABEL_MAX :]}"
    words = [_style(ctx, _BOLD, f"{label}@{provenance.offset}")]
    if provenance.certain_to is None:
        words.append(_style(ctx, _YELLOW, "(uncertain)"))
    elif provenance.certain_to < provenance.end_offset:
        words.append(_style(ctx, _YELLOW, f"(certain to {provenance.certain_to})"))
    words += _feed_words(ctx)
    if ctx.administrator is not None:
        words.append(_style(ctx, _RED, "changes on"))
    count = len(ctx.image.faults)
    if count:
        words.append(_style(ctx, _RED, counted(count, "fault")))
    return " ".join([*words, _style(ctx, _BLUE, ctx.cwd)]) + "> "


def _feed_words(ctx: Context) -> list[str]:
    if ctx.feed is None or not ctx.feed.is_live:
        return []
    view = ctx.feed.view()
    if view.trouble:
        return [_style(ctx, _RED, view.trouble)]
    return [_style(ctx, _YELLOW if view.lag else _PLAIN, "lag ?" if view.lag is None else f"lag {view.lag}")]


def _style(ctx: Context, code: str, text: str) -> str:
    shown = terminal_line(text)
    return f"{code}{shown}{_PLAIN}" if ctx.display.color else shown


class NodeCompleter(Completer):
    """Completion of lines from the tree, for prompt_toolkit."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = document.text_before_cursor
        for candidate in complete(self._ctx, line):
            yield Completion(
                candidate.text,
                start_position=candidate.start - len(line),
                display=terminal_line(candidate.display),
                display_meta=candidate.meta,
            )


class FileHistory(History):
    """The lines of earlier sessions and of this one, kept in a file that only its owner can read."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        super().__init__()
        self._path = path
        self._earlier = list(lines)

    def load_history_strings(self) -> Iterable[str]:
        """The earlier lines, newest first, as prompt_toolkit wants them."""
        return reversed(self._earlier)

    def store_string(self, string: str) -> None:
        kept: list[str] = self._earlier[-1:]
        before = len(kept)
        remember(kept, string)
        if len(kept) > before:
            self._earlier.append(kept[-1])
            append_history(self._path, kept[-1])
