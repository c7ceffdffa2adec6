"""When `make` makes an environment, when it installs into it, and when it leaves it alone: with an interpreter that only takes notes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.generated import ROOT

PYTHON = """#!/bin/bash
cd "$(dirname "$0")" && while [ ! -e notes ]; do cd ..; done
echo "$*" >> notes
case "$1 $2" in
    *_base_executable*) cat "$0.base" ;;
    "-m venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0.base" .venv/bin/python.base ;;
    "-m pip")
        [ -e no-network ] && [[ "$*" == *install* && "$*" != *--no-index* ]] && echo "no network" && exit 1
        [ -e missing ] && [[ "$*" == *--no-index* ]] && exit 1
        ;;
esac
exit 0
"""


class Checkout:
    """A folder with what the script looks at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "make_venv.sh", folder / "tools")
        (folder / "pyproject.toml").touch()
        (folder / "notes").touch()
        self.interpreter("python")
        self.age()

    def interpreter(self, name: str) -> str:
        path = self.folder / name
        path.write_text(PYTHON)
        path.chmod(0o755)
        (self.folder / f"{name}.base").write_text(f"{name}\n")
        return str(path)

    def age(self) -> None:
        """Make what is there a minute old."""
        for path in self.folder.rglob("*"):
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))

    def make(self, level: str, *, python: str = "python", status: int = 0) -> list[str]:
        """What pip and venv were asked to do: `venv`, `install .`, `install --no-index .[dev]`; the answer is checked."""
        (self.folder / "notes").write_text("")
        environment = {**os.environ, "PYTHON": str(self.folder / python)}
        result = subprocess.run(
            ["tools/make_venv.sh", level], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == status, result.stderr
        self.errors = result.stderr
        self.age()
        done = []
        for line in (self.folder / "notes").read_text().splitlines():
            words = line.split()
            if words[:2] == ["-m", "venv"]:
                done.append("venv")
            elif words[:3] == ["-m", "pip", "install"] and "-e" in words:
                done.append(f"install {'--no-index ' if '--no-index' in words else ''}{words[-1]}")
        return done


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_what_the_shell_needs_is_installed_once(checkout: Checkout) -> None:
    assert checkout.make("shell") == ["venv", "install ."]
    assert checkout.make("shell") == []


def test_each_level_goes_on_with_what_the_other_made(checkout: Checkout) -> None:
    assert checkout.make("shell") == ["venv", "install ."]
    (checkout.folder / "missing").touch()
    assert checkout.make("dev") == ["install --no-index .[dev]", "install .[dev]"]
    assert checkout.make("shell") == []


def test_what_the_tests_need_holds_what_the_shell_needs(checkout: Checkout) -> None:
    assert checkout.make("dev") == ["venv", "install .[dev]"]
    assert checkout.make("shell") == []


@pytest.mark.parametrize("level", ["shell", "dev"])
def test_a_changed_project_is_installed_again_and_without_the_network_where_nothing_is_missing(checkout: Checkout, level: str) -> None:
    checkout.make("dev")
    (checkout.folder / "pyproject.toml").touch()
    (checkout.folder / "no-network").touch()
    assert checkout.make(level) == [f"install --no-index {'.' if level == 'shell' else '.[dev]'}"]
    assert checkout.make(level) == []


def test_what_was_cut_short_is_completed(checkout: Checkout) -> None:
    checkout.make("shell")
    (checkout.folder / ".venv" / ".shell").unlink()
    (checkout.folder / "missing").touch()
    assert checkout.make("shell") == ["install --no-index .", "install ."]
    (checkout.folder / ".venv" / "bin" / "python").unlink()
    assert checkout.make("shell") == ["venv", "install ."]


def test_a_failed_install_is_no_finished_one(checkout: Checkout) -> None:
    (checkout.folder / "no-network").touch()
    assert checkout.make("shell", status=1) == ["venv"]
    assert checkout.errors.endswith("no network\nmake: installing metashell into .venv failed\n")
    (checkout.folder / "no-network").unlink()
    assert checkout.make("shell") == ["install --no-index ."]


def test_another_interpreter_gets_another_environment(checkout: Checkout) -> None:
    checkout.make("dev")
    checkout.interpreter("python-other")
    assert checkout.make("dev", python="python-other") == ["venv", "install .[dev]"]
    assert checkout.make("dev", python="python-other") == []


def test_an_interpreter_that_is_not_there_leaves_the_environment_alone(checkout: Checkout) -> None:
    checkout.make("shell")
    assert checkout.make("shell", python="nowhere", status=1) == []
    assert "name one with PYTHON=" in checkout.errors
    assert checkout.make("shell") == []
