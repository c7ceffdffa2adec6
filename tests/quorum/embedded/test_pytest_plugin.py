"""The fixture `kafka_quorum`, in projects of other people: each a run of pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]["metashell"]


def run(folder: Path, test: str, *words: str) -> tuple[int, str]:
    """Status and output of pytest on one test file, with the plugin as its entry point names it."""
    (folder / "test_it.py").write_text(test)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", ENTRY, "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert {path.name for path in folder.iterdir()} <= {"test_it.py", "pytest.ini", "__pycache__"}
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_test_gets_a_quorum_and_a_marker_says_which(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest

def test_one(kafka_quorum):
    assert kafka_quorum.controller_ids == (1,)

@pytest.mark.kafka_quorum(fake_brokers=1)
class TestBrokers:
    @pytest.mark.kafka_quorum(controllers=2)
    def test_two(self, kafka_quorum):
        assert kafka_quorum.controller_ids == (1, 2)
        kafka_quorum.create_topic("orders")

@pytest.mark.kafka_quorum(3)
def test_wrong(kafka_quorum):
    pass
""",
    )
    assert status == 1 and "2 passed, 1 error" in output and "takes options by name, as in controllers=3" in output


@pytest.mark.slow
def test_a_controller_that_ended_fails_the_test(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
def test_it(kafka_quorum):
    driver = kafka_quorum._members.running[1].replica.driver
    kafka_quorum._thread.loop.call_soon_threadsafe(driver.stop, OSError(5, "the disk failed"))
""",
    )
    assert status == 1 and "1 passed, 1 error" in output and "QuorumError: controller 1 ended: [Errno 5] the disk failed" in output


def test_the_plugin_costs_nothing_where_nobody_asks_for_it() -> None:
    code = f"import sys, pytest; before = set(sys.modules); import {ENTRY}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["metashell", "metashell.quorum", "metashell.quorum.embedded", ENTRY]


def test_the_package_gives_its_names_late_and_no_others() -> None:
    package = import_module("metashell.quorum.embedded")
    assert all(getattr(package, name).__name__ == name for name in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Quorum'"):
        package.Quorum  # noqa: B018
