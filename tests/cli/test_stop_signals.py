"""Signals that end a command: none is lost, and none is raised where it would leave something half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli.tool import STOP_SIGNALS, StopRequested, StopSignals


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield StopSignals()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_is_noted_and_raised_only_where_that_is_asked_for(signals: StopSignals) -> None:
    signals.watch()
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
    assert signals.noted == signal.SIGTERM
    with pytest.raises(StopRequested) as stopped, signals.raised():
        raise AssertionError("it came before")
    assert stopped.value.number == signal.SIGTERM


def test_a_signal_ends_waiting_once(signals: StopSignals) -> None:
    signals.watch()
    with pytest.raises(StopRequested), signals.raised():
        signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGINT)
    signals.ignore()
    signal.raise_signal(signal.SIGINT)
    assert signals.noted == signal.SIGHUP


def test_what_nohup_ignores_stays_ignored(signals: StopSignals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signals.watch()
    signal.raise_signal(signal.SIGHUP)
    assert signals.noted == 0 and signal.SIGHUP not in signals.watched


def test_an_interrupt_within_exec_of_a_text_ends_with_the_status_of_all_others(tmp_path: Path) -> None:
    """As where a dataclass is made while modules are imported: without more CPython would end `python -m` by SIGINT itself."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\nfrom metashell.common.command import Tool\nsys.exit(Tool('x', lambda _: exec('raise KeyboardInterrupt'))([]))\n"
    )
    folders = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], env={**os.environ, "PYTHONPATH": folders}, capture_output=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (130, b"")
