"""Commands run as a user runs them: with their own streams, in this process or in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import pytest

from metashell.demo import demo_directory
from tests.running import run_main

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "kafka-shell": "inspect.kafka_shell:main",
    "kafka-metadata-shell": "kafka.file_tools:shell_main",
    "dump-log": "inspect.dump_log:main",
    "kafka-dump-log": "inspect.dump_log:kafka_main",
    "kafka-storage": "kafka.file_tools:storage_main",
    "metashell": "main:main",
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def command_line(name: str, *words: str) -> list[str]:
    """What starts a tool of this checkout, installed or not."""
    module, _, main = MODULES[name].partition(":")
    start = f"import sys; from metashell.cli.{module} import {main} as main; sys.exit(main())"
    return [sys.executable, "-c", start, *words]


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", **changes}


def run_process(name: str, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end as a process of its own; `stdin` is text, `env` changes the environment."""
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


@pytest.fixture
def run() -> Run:
    """`run_process` inside this process, with its own three descriptors: the start of an interpreter costs more than most answers.

    What a process alone can show (signals, pipes, a terminal, what is imported) asks for `run_process`.
    """

    def start(name: str, *words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        module, _, attribute = MODULES[name].partition(":")
        main = getattr(import_module(f"metashell.cli.{module}"), attribute)
        with patch.dict(os.environ, environment(**(env or {})), clear=True):
            done = run_main(main, words, cwd=Path.cwd(), stdin=stdin)
        return subprocess.CompletedProcess(words, done.status, done.stdout.decode("utf-8", "surrogateescape"), done.stderr)

    return start


@pytest.fixture
def segment() -> str:
    return os.path.join(demo_directory(), "__cluster_metadata-0", "00000000000000000251.log")


@pytest.fixture
def checkpoint() -> str:
    return os.path.join(demo_directory(), "__cluster_metadata-0", "00000000000000000329-0000000001.checkpoint")
