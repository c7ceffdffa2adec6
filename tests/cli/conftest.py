"""Commands run as a user runs them: a process with its own streams."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from metashell.demo import demo_directory

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "kafka-shell": "kafka_shell",
    "kafka-metadata-shell": "kafka_metadata_shell",
    "dump-log": "dump_log",
    "kafka-dump-log": "kafka_dump_log",
    "metashell": "front_door",
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def command_line(name: str, *words: str) -> list[str]:
    """What starts a tool of this checkout, installed or not."""
    start = f"import sys; from metashell.cli.{MODULES[name]} import main; sys.exit(main())"
    return [sys.executable, "-c", start, *words]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", **changes}


@pytest.fixture
def run() -> Run:
    """Run a tool to its end; `stdin` is text, `env` changes the environment."""

    def start(name: str, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(name, *words),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=environment(**(env or {})),
            timeout=60,
            check=False,
        )

    return start


@pytest.fixture
def segment() -> str:
    return os.path.join(demo_directory(), "__cluster_metadata-0", "00000000000000000251.log")


@pytest.fixture
def checkpoint() -> str:
    return os.path.join(demo_directory(), "__cluster_metadata-0", "00000000000000000329-0000000001.checkpoint")
