"""Real brokers on three of our controllers, while clients write and read and nodes die: see tools/interop/brokers_story.py.

A story is a process of its own: what hangs in a client's library, or ends with it, ends that process alone. With METASHELL_SOAK there is
one story more, and nodes die at random for ten minutes more in each; METASHELL_SEED says which.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.java import BEFORE, KAFKA, jars, java
from tools.interop.brokers_story import OLDER, STORIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOAK_S = 600
SOAKS = bool(os.environ.get("METASHELL_SOAK"))
LIMIT_S = 480
"""For a story of a minute: then it hangs, or the machine does nothing else."""


@pytest.mark.parametrize("name", STORIES if SOAKS else ("mixed", "newest"))
def test_nothing_is_lost_or_there_twice_whoever_dies(name: str, tmp_path: Path) -> None:
    java()
    for version in (KAFKA, BEFORE, OLDER):
        jars(version)
    seed, seconds = os.environ.get("METASHELL_SEED", "0"), SOAK_S if SOAKS else 0
    command = [sys.executable, "-m", "tools.interop.brokers_story", "--story", name, "--dir", str(tmp_path)]
    log = tmp_path / "story.log"
    with log.open("wb") as output:
        story = subprocess.Popen(
            [*command, "--seed", seed, "--seconds", str(seconds)], cwd=ROOT, stdout=output, stderr=output, start_new_session=True
        )
        try:
            status: int | str = story.wait(LIMIT_S + seconds)
        except subprocess.TimeoutExpired:
            status = f"not within {LIMIT_S + seconds} s"
        finally:
            # Its nodes, too, where it did not come to that.
            with suppress(ProcessLookupError):
                os.killpg(story.pid, signal.SIGKILL)
            story.wait()
    told = log.read_text(errors="replace")
    assert (status, f"{name}: all that must hold does" in told) == (0, True), told
