"""What CI runs: every goal, the seconds of each, the closing line of pytest last, and the status of what failed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.generated import ROOT

pytestmark = pytest.mark.slow
CLOSING = "5 passed, 1 skipped in 3.00s"
GOALS = {"venv": "true", "style": "true", "types": "echo typed", "test": f"echo 2 failed by words; echo '{CLOSING}'; echo late"}


def ran(folder: Path, **commands: str) -> subprocess.CompletedProcess[str]:
    """The script beside a Makefile whose goals run these commands."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    goals = GOALS | commands
    (folder / "Makefile").write_text("".join(f"{goal}:\n\t@{command}\n" for goal, command in goals.items()))
    return subprocess.run([folder / ".ci" / "run"], capture_output=True, text=True, check=False)


def test_all_goals_are_run_and_the_closing_line_is_the_last(tmp_path: Path) -> None:
    done = ran(tmp_path)
    *_, venv, style, types, test, last = done.stdout.splitlines()
    assert (done.returncode, last) == (0, CLOSING)
    for goal, line in zip(GOALS, (venv, style, types, test), strict=True):
        assert re.fullmatch(rf"make {goal}: \d+ s, status 0", line)
    assert "typed" in done.stdout and "late" in done.stdout


@pytest.mark.parametrize("goal", GOALS)
def test_any_goal_that_fails_is_the_status_and_the_others_are_run(goal: str, tmp_path: Path) -> None:
    done = ran(tmp_path, **{goal: f"{GOALS[goal]}; exit 3"})
    assert done.returncode == 2, "as make says it"
    assert done.stdout.splitlines()[-1] == CLOSING
    assert re.findall(r"^make (\w+): \d+ s, status 2$", done.stdout, re.MULTILINE) == [goal]


def test_tests_that_never_began_are_said(tmp_path: Path) -> None:
    done = ran(tmp_path, test="exit 1")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (2, "no test ran: make test ended with status 2")


def test_the_goals_are_those_of_the_makefile() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    assert [goal for goal in GOALS if not re.search(rf"^{goal}:", text, re.MULTILINE)] == []
