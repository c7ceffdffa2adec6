"""Measurements: `python -m tools.bench [NAME... [WORD...]]` runs those that are named, by default all, one after another.

Each is a process of its own. Words that name no bench go to the last one that is named: `python -m tools.bench quorum 5`.
"""

from __future__ import annotations

import ast
import compileall
import inspect
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from tools.bench.common import REPOSITORY, measure, print_interpreter

HERE = Path(__file__).parent
COMMANDS = "commands"
"""The module in which a bench is a function that yields its cases; in any other it is the module, which has a `main`."""


def benches() -> dict[str, tuple[str, str]]:
    """The module of each bench and the first line of its docstring, by its name."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}
        named = functions if path.stem == COMMANDS else {path.stem: tree} if "main" in functions and path.stem[0] != "_" else {}
        found |= {name: (path.stem, (ast.get_docstring(node) or "").split("\n")[0]) for name, node in named.items()}
    return dict(sorted((name, about) for name, about in found.items() if name not in ("gen_metadata", "table")))


def run_here(name: str, words: list[str]) -> int:
    """Run a bench in this process."""
    module, _ = benches()[name]
    work = import_module(f"tools.bench.{module}")
    print_interpreter()
    if module == COMMANDS:
        if words:
            sys.exit(f"{name} takes no words: {' '.join(words)}")
        return measure(getattr(work, name)())
    status: int = work.main(words) if inspect.signature(work.main).parameters else work.main()
    return status


def main(words: list[str]) -> int:
    """Run every bench that is asked for as a process of its own; the status is that of the worst."""
    known = benches()
    if words[:1] == ["--here"]:
        return run_here(words[1], words[2:])
    if {"--list", "--help", "-h"} & {*words[:1]}:
        # A reader that has seen enough closes its end.
        with suppress(BrokenPipeError):
            for line in (__doc__, *(f"  {name:<17}{text}" for name, (_, text) in known.items())):
                print(line, flush=True)
        return 0
    names = words[: next((at for at, word in enumerate(words) if word not in known), len(words))]
    if words and not names:
        sys.exit(f"no bench is called {words[0]}: python -m tools.bench --list")
    # An installed package is byte-compiled; PYTHONDONTWRITEBYTECODE in the environment must not make every run recompile it.
    compileall.compile_dir(REPOSITORY / "metashell", quiet=2)
    status = 0
    for at, name in enumerate(names or known, 1):
        print(f"\n== {name}", flush=True)
        more = words[len(names) :] if at == len(names) else []
        status = max(status, subprocess.run([sys.executable, "-m", "tools.bench", "--here", name, *more], check=False).returncode)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
