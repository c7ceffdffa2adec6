"""`metashell status`, `ls`, `cat`, `find`, `log`, `diff` and `why`: one command of kafka-shell on one source, without the prompt."""

from __future__ import annotations

import sys
from functools import partial

from metashell.cli.common import STATUS_OK, Tool, chosen_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metashell.options import CommandSpec

_HELP = ("--help", "-h")


def full_spec(name: str) -> CommandSpec:
    """The command line with the options of the shell's command, for help, man pages and completions."""
    from metashell.options.shell_command_tools import SHELL_COMMANDS
    from metashell.shell.commands import find_command

    spec, command = SHELL_COMMANDS[name], find_command(name)
    assert command is not None
    own = tuple(option for option in command.spec.options if option.dest not in {one.dest for one in spec.options})
    return spec._replace(options=(*own, *spec.options), description=f"{spec.description}\n\n{command.spec.description}")


def _run(name: str, words: list[str]) -> int:
    asked = words[: words.index("--")] if "--" in words else words
    if any(word in _HELP for word in asked):
        from metashell.options.help import render_help

        sys.stdout.write(render_help(full_spec(name)._replace(name=f"metashell {name}")))
        return STATUS_OK
    from metashell.cli.kafka_shell import run
    from metashell.cli.sources import front_words

    return run(front_words(name, words, chosen_settings), f"metashell {name}")


def _tool(name: str) -> Tool:
    return Tool(f"metashell {name}", partial(_run, name))


status = _tool("status")
ls = _tool("ls")
cat = _tool("cat")
find = _tool("find")
log = _tool("log")
diff = _tool("diff")
why = _tool("why")
