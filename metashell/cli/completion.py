"""metashell completion: the completions of all commands, as they lie in the package."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_OK, declared_tool
from metashell.options.completion_tools import COMPLETION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

NAME = "metashell completion"
_SCRIPTS = {"bash": "bash/metashell", "zsh": "zsh/_metashell", "fish": "fish/metashell.fish"}


def _print_script(values: SimpleNamespace) -> int:
    """Print the script of one shell."""
    from importlib.resources import files

    sys.stdout.write(files("metashell").joinpath("completions", _SCRIPTS[values.shell]).read_text(encoding="utf-8"))
    return STATUS_OK


main = declared_tool(NAME, COMPLETION, _print_script)
