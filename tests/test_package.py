"""What is installed is all that the code reads."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from itertools import pairwise

from tests.test_layers import PACKAGE, ROOT, tracked_files


def test_every_data_file_of_the_package_is_installed() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    data = [path for path in tracked_files() if PACKAGE in path.parents and path.suffix != ".py"]
    assert data
    missing = []
    for path in data:
        patterns = [(path.parent, pattern) for pattern in declared["*"]]
        patterns += [(ROOT / name.replace(".", "/"), pattern) for name, each in declared.items() if name != "*" for pattern in each]
        if not any(folder in path.parents and fnmatch(str(path.relative_to(folder)), pattern) for folder, pattern in patterns):
            missing.append(str(path.relative_to(ROOT)))
    assert not missing


def test_every_script_has_a_man_page() -> None:
    from tools.tool_list import TOOLS

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert set(scripts) <= set(TOOLS)


def test_every_dependency_tells_its_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("\n")
    start = lines.index("dependencies = [")
    block = lines[start + 1 : lines.index("]", start)]
    for above, line in pairwise(block):
        if line.strip().startswith('"'):
            assert above.strip().startswith("#"), line
