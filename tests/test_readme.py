"""The README shows real output: every `console` block is run, and what it prints is compared.

`pytest --rewrite` takes what is printed now.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
NEEDED = ("jq",)


def commands(block: str) -> list[tuple[str, str]]:
    """The command lines of a block, each with the output that follows it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like the top of a checkout; what commands leave in it does not stay."""
    for entry in ROOT.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


def run(command: str, folder: Path) -> str:
    """What a command prints on both streams, run as a user would at the top of a checkout."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout.decode()


@pytest.mark.slow
def test_every_command_of_the_readme_prints_what_it_shows(request: pytest.FixtureRequest, checkout: Path) -> None:
    text = README.read_text()
    shown = [pair for block in BLOCK.findall(text) for pair in commands(block)]
    assert len(shown) > 5
    missing = [tool for tool in NEEDED if shutil.which(tool) is None]
    runnable = [pair for pair in shown if not any(f"| {tool} " in pair[0] for tool in missing)]
    printed = {command: run(command, checkout) for command, _ in runnable}
    if request.config.getoption("--rewrite"):
        for command, output in runnable:
            text = text.replace(f"$ {command}\n{output}", f"$ {command}\n{printed[command]}", 1)
        README.write_text(text)
    else:
        assert printed == dict(runnable)
