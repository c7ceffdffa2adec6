"""metashell completion: the completions of all commands, as they lie in the package."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, answers_version, parsed, run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "metashell completion"
_SCRIPTS = {"bash": "bash/metashell", "zsh": "zsh/_metashell", "fish": "fish/metashell.fish"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its status."""
    if answers_version(NAME, argv):
        return STATUS_OK
    return run_tool(NAME, run, argv)


def run(words: list[str]) -> int:
    """Print the script of one shell."""
    from importlib.resources import files

    from metashell.options.completion_tools import COMPLETION

    values = parsed(COMPLETION._replace(name=NAME), words)
    if values is not None:
        sys.stdout.write(files("metashell").joinpath("completions", _SCRIPTS[values.shell]).read_text(encoding="utf-8"))
    return STATUS_OK
