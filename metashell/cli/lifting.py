"""Options of kafka-shell that stand behind the one-shot command: `kafka-shell ls / --snapshot DIR`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.options import CommandSpec, Option


def lift_options(spec: CommandSpec, words: Sequence[str], command: Sequence[str]) -> list[str]:
    """The words with the tool's own options moved before the command, where the command has none of that name.

    Shape: `command` is the tail of `words`. An option that both have stays with the command. After `--` nothing is an option.
    """
    from metashell.shell.commands import find_command

    called = find_command(command[0])
    taken = {name for option in called.spec.options for name in option.names} if called else set()
    own = {name: option for option in spec.options for name in option.names if name not in taken}
    lifted: list[str] = []
    kept: list[str] = []
    rest = list(command)
    while rest:
        word = rest.pop(0)
        if word == "--":
            kept += [word, *rest]
            break
        name, equals, _ = word.partition("=")
        if name not in own:
            kept.append(word)
            kept += _value_of(called.spec.options if called else (), name, equals, rest)
            continue
        lifted.append(word)
        lifted += _value_of((own[name],), name, equals, rest)
    before = list(words[: len(words) - len(command)])
    return [*lifted, *before, *kept] if lifted else list(words)


def _value_of(options: Sequence[Option], name: str, equals: str, rest: list[str]) -> list[str]:
    """The next word, taken from `rest`, if it is the value of the option of that name."""
    takes_value = any(name in option.names and not option.is_flag for option in options)
    return [rest.pop(0)] if takes_value and not equals and rest else []
