"""metashell completion: the completions of all commands, as the wheel has them; a source tree makes them anew each time."""

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

    script = files("metashell").joinpath("completions", _SCRIPTS[values.shell])
    sys.stdout.write(script.read_text(encoding="utf-8") if script.is_file() else _made(values.shell))
    return STATUS_OK


def _made(shell: str) -> str:
    """The script of one shell, made by the tools of the source tree, in a process of its own: nothing here imports them."""
    import os
    import subprocess

    import metashell
    from metashell.errors import MetashellError

    root = os.path.dirname(os.path.dirname(os.path.abspath(metashell.__file__)))
    if not os.path.exists(os.path.join(root, "tools", "gen_completions.py")):
        raise MetashellError("this copy was built without completions: build it from a source tree with `pip wheel`")
    argv = [sys.executable, "-m", "tools.gen_completions", "--print", shell]
    done = subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise MetashellError("the completions could not be made")
    return done.stdout


main = declared_tool(NAME, COMPLETION, _print_script)
