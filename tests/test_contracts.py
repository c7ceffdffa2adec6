"""The list of packages is whole, and their contracts name only what is there."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.test_layers import WINGS

ROOT = Path(__file__).parent.parent
QUORUM = (
    "metashell.quorum.raft",
    "metashell.quorum.raft.wire",
    "metashell.net",
    "metashell.quorum.server",
    "metashell.quorum.embedded",
    "metashell.quorum.observer",
    "metashell.cli.admin",
)
PACKAGES = (
    *QUORUM,
    "metashell.rehearse.placement",
    "metashell.codec",
    "metashell.disk",
    "metashell.metadata.image",
    "metashell.rehearse",
    "metashell.groups.simulation",
)
NAME = re.compile(r"`(?:await )?([A-Za-z_][A-Za-z_.]*)")


def names_in(folder: Path) -> set[str]:
    """Modules and folders below a folder, and all that the modules define, take as parameters, or import, and from where."""
    found = {path.name for path in folder.rglob("*") if path.is_dir()}
    for path in folder.rglob("*.py"):
        found.add(path.stem)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name) | ast.arg(name) | ast.alias(name):
                    found.add(name)
                case ast.ImportFrom(module=str(name)):
                    found.update(name.split("."))
                case ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
    return found


def test_the_list_of_packages_names_each_that_is_there_and_no_other() -> None:
    named = NAME.findall(import_module("metashell").__doc__ or "")
    folder = ROOT / "metashell"
    is_there = {name: (folder / name / "__init__.py").exists() or (folder / f"{name}.py").exists() for name in WINGS}
    # A row may stand in the table before its package is there.
    assert sorted(named) == sorted(name for name in WINGS if is_there[name])


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_contract_names_is_there(package: str) -> None:
    text = import_module(package).__doc__ or ""
    folder = ROOT.joinpath(*package.split("."))
    code = " ".join(line for line in text.splitlines() if line.startswith("    "))
    known = names_in(folder).union(re.findall(r"\w+", code))
    named = [name.strip(".") for name in NAME.findall(text) if not name.startswith("metashell.")]
    assert len(named) > 3
    assert [name for name in named if not known.issuperset(name.split("."))] == []
    far = [name for name in NAME.findall(text) if name.startswith("metashell.")]
    assert [name for name in far if not any(ROOT.glob("/".join(name.split(".")) + end) for end in (".py", "/__init__.py"))] == []
