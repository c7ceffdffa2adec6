"""docs/internals.md names functions that exist, and those of its first two ways are called on the way."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "internals.md"
PACKAGES = {path.stem for path in (ROOT / "metashell").iterdir() if path.is_dir() or path.suffix == ".py"}
NAME = re.compile(r"`([a-z_]+(?:\.\w+)+)`")
COMMAND = re.compile(r"^\$ (.*?)(?: \|.*)?$", re.MULTILINE)
MAINS = {"dump-log": "metashell.cli.inspect.dump_log", "kafka-shell": "metashell.cli.inspect.kafka_shell"}


@cache
def sections() -> dict[str, str]:
    """The text of the page's sections by their headings."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names_in(text: str) -> list[str]:
    """The names of modules and functions in a text, without `metashell.`."""
    return [name for name in NAME.findall(text) if name.split(".")[0] in PACKAGES]


def resolve(name: str) -> object:
    """The module, class, function or method of that name. Errors: AttributeError, ModuleNotFoundError."""
    words = name.split(".")
    found: object = import_module(f"metashell.{words[0]}")
    for number, word in enumerate(words[1:], 2):
        try:
            found = getattr(found, word)
        except AttributeError:
            found = import_module("metashell." + ".".join(words[:number]))
    return found


# What is compiled or remembered once in a process would not be called again, so each way has a process of its own.
CALLED = """
import sys
from importlib import import_module

seen = set()


def note(frame, event, _):
    module = frame.f_globals.get("__name__", "")
    if event == "call" and module.startswith("metashell."):
        seen.add(f"{module.removeprefix('metashell.')}.{frame.f_code.co_qualname}")


main = import_module(sys.argv[1]).main
sys.setprofile(note)
try:
    status = main(sys.argv[3:])
finally:
    sys.setprofile(None)
with open(sys.argv[2], "w") as found:
    found.write("\\n".join(seen))
sys.exit(status)
"""


def called(module: str, words: list[str], into: Path) -> set[str]:
    """The names of the functions of metashell that a command calls."""
    run = subprocess.run([sys.executable, "-c", CALLED, module, str(into), *words], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return set(into.read_text(encoding="utf-8").split("\n"))


def test_every_name_on_the_page_is_there() -> None:
    found = names_in(PAGE.read_text(encoding="utf-8"))
    assert len(found) > 60
    missing = []
    for name in found:
        try:
            resolve(name)
        except (AttributeError, ModuleNotFoundError):
            missing.append(name)
    assert missing == []


def home(name: str) -> str:
    """Where a name is defined: what a package gives out has its home in a module below."""
    found = resolve(name)
    if not hasattr(found, "__qualname__"):  # an object that is called like a function
        found = type(found).__call__
    return f"{found.__module__.removeprefix('metashell.')}.{found.__qualname__}"


@pytest.mark.parametrize("heading", ["A record, from a file to stdout", "A partition, from a checkpoint to `cat`"])
def test_every_function_of_a_way_is_called_by_its_command(heading: str, tmp_path: Path) -> None:
    text = sections()[heading]
    command, *words = shlex.split(COMMAND.findall(text)[0])
    seen = called(MAINS[command], words, tmp_path / "seen")
    steps = "".join(re.findall(r"^ *\d+\. .*\n(?:   .*\n)*", text, flags=re.MULTILINE))
    functions = {name for name in names_in(steps) if callable(resolve(name))}
    assert len(functions) > 15
    assert {name for name in functions if home(name) not in seen} == set()
