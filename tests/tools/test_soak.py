"""What `make soak` runs is there, and nothing that has more cases for it is left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import QUICK as QUICK_OF_CHECK
from tools import soak, surroundings

TESTS = soak.ROOT / "tests"
SOAKS = re.compile(r"environ\.get\(\"METASHELL_(SOAK|SEED)\"")


def test_every_file_of_the_table_is_there_and_has_more_cases_in_soak() -> None:
    named = {path for path in soak.INTEROP.values() if SOAKS.search((TESTS / path).read_text("utf-8"))}
    having = {str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py") if SOAKS.search(path.read_text("utf-8"))}
    assert named == having
    assert {*soak.INTEROP.values()} == named


def test_a_simulation_begins_at_other_seeds_in_every_worker_and_fails_with_any_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    class Ended:
        """The second worker fails."""

        def __init__(self, argv: list[str], **_: object) -> None:
            started.append(argv)
            self.status = len(started) - 1

        def wait(self) -> int:
            return self.status

    monkeypatch.setattr(subprocess, "Popen", Ended)
    kinds = []
    for name, count in soak.SEEDS.items():
        started.clear()
        assert soak.run_simulation(name, 2) == 1
        assert len({argv[argv.index("tests.simulation") + 1] for argv in started}) == 2
        assert all(argv[argv.index("--count") + 1] == str(count) for argv in started)
        kinds.append(started[0][started[0].index("--last") + 2 :])
    assert kinds == [[], ["--production"], ["--controller"], ["--brokers"]]


def test_the_tests_of_a_surrounding_are_those_of_make_check() -> None:
    assert surroundings.QUICK == QUICK_OF_CHECK
    assert QUICK_OF_CHECK in (soak.ROOT / "Makefile").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zone", "Asia/Kathmandu +0545 0o22"),
        ("umask", "UTC +0000 0o77"),
        ("archive", "UTC +0000 0o22 copy"),
        ("user", "UTC +0000 0o22 copy nobody"),
    ],
)
def test_a_surrounding_is_what_its_name_says(name: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    if name == "user" and os.getuid():
        said = said.removesuffix(" nobody")
    program = f"""
import os, pwd, sys, time
mask = os.umask(0)
words = [os.environ.get("TZ", "UTC"), time.strftime("%z"), oct(mask)]
words += ["copy"] if os.getcwd() != {str(soak.ROOT)!r} and not os.path.exists(".git") and os.path.exists("tests/conftest.py") else []
words += ["nobody"] if os.getuid() == pwd.getpwnam("nobody").pw_uid else []
print("is:", *words)
"""
    # Not below pytest's own folder, which is closed to others.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        fake = Path(folder) / "python"
        fake.write_text(f"#!{sys.executable}\n{program}")
        fake.chmod(0o755)
        script = f"import sys; sys.executable = {str(fake)!r}; from tools import surroundings; sys.exit(surroundings.run({name!r}, 1, []))"
        argv = ["bash", "-c", 'umask 022; exec "$@"', "bash", sys.executable, "-c", script]
        subprocess.run(argv, cwd=soak.ROOT, env={**os.environ, "TZ": "UTC"}, check=True)
    assert f"is: {said}\n" in capfd.readouterr().out
