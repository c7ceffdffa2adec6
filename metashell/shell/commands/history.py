"""The command `history`: print the lines typed so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.options import Argument
from metashell.shell.command import make_command
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.shell.context import Context


HISTORY_HELP: Final = """history - print the lines typed so far

SYNOPSIS
    history [COUNT]

DESCRIPTION
    Each line has its number, from 0; this line is the last. With COUNT only the last COUNT lines are printed.

EXAMPLES
    >> history 1
        0  history 1
"""


def run_history(ctx: Context, args: SimpleNamespace) -> None:
    """Print the lines that were typed so far, in the prompt also those of earlier runs."""
    entries = list(last_entries(ctx.history, args.count))
    objects = [{"number": number, "line": line} for number, line in entries]
    write_answer(ctx, objects, (f"{number: 5d}  {line}" for number, line in entries))


def last_entries(history: Sequence[str], count: int | None) -> Iterator[tuple[int, str]]:
    """The last `count` lines, all for None, each with its number from 0."""
    start = 0 if count is None else max(0, len(history) - max(0, count))
    return ((index, history[index]) for index in range(start, len(history)))


HISTORY_COMMAND = make_command(
    run_history, HISTORY_HELP, arguments=(Argument(name="count", nargs="?", type="integer", help="how many lines, all by default"),)
)
