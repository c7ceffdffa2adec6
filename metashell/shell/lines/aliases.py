"""Names that a person has given to commands: the first word of a step may be one, and stands for one step.

[aliases]
ll = "ls -l"                      # words after it follow: ll -R /image
behind = "find / -under-replicated | head"  # takes no words: they would have to go into the text of /bin/sh
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import UsageError
from metashell.shell.lines.grammar import Line, LineError, Step, parse_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT: Final = frozenset(("alter", "at", "create", "delete", "elect", "exit", "quit", "rm", "set", "unregister", "unset"))
"""A settings file must not redefine these: they change the cluster or the time that is shown, or end the shell."""

_TIME: Final = "time"


def check_alias(name: str, text: str) -> None:
    """Errors: UsageError for a name that must keep its meaning, and for a text that is not one command."""
    if name in _KEPT:
        raise UsageError(f"{name} means the same everywhere, and cannot be an alias")
    try:
        steps = parse_line(text).steps
    except LineError as error:
        raise UsageError(f"{text!r}: {error}") from None
    if len(steps) != 1:
        raise UsageError(f"{text!r}: an alias is one command")


def with_aliases(line: Line, aliases: Mapping[str, str], typed: str) -> Line:
    """The line with what its aliases stand for, each expanded once.

    Errors: LineError at a word that follows an alias with a pipe or a file, and at a second pipe or file.
    """
    return Line([_expanded(step, aliases, typed) for step in line.steps]) if aliases else line


def _expanded(step: Step, aliases: Mapping[str, str], typed: str) -> Step:
    at = 1 if step.words[0] == _TIME and len(step.words) > 1 else 0
    name = step.words[at]
    text = aliases.get(name)
    # A word that is quoted stands for itself.
    if text is None or typed[step.starts[at] : step.ends[at]] != name:
        return step
    (meant,) = parse_line(text).steps
    after = at + 1
    if meant.pipe is not None or meant.redirect is not None:
        if len(step.words) > after:
            raise LineError(f"{name} takes no words: its answer goes to another program or a file", typed, step.starts[after])
        if step.pipe is not None or step.redirect is not None:
            raise LineError(f"the answer of {name} already goes to a program or a file: it stands for {text}", typed, step.starts[at])
    # The places are those of what was typed: an error points there.
    count = len(meant.words)
    return Step(
        step.connector,
        [*step.words[:at], *meant.words, *step.words[after:]],
        [*step.starts[:at], *[step.starts[at]] * count, *step.starts[after:]],
        [*step.ends[:at], *[step.ends[at]] * count, *step.ends[after:]],
        meant.redirect or step.redirect,
        meant.pipe if meant.pipe is not None else step.pipe,
    )
