"""Real brokers on three of our controllers, while clients write and read and nodes die: see tools/interop/brokers_story.py.

With METASHELL_SOAK there is one story more, and nodes die at random for ten minutes more in each; METASHELL_SEED says which.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.java import KAFKA, jars, java
from tools.interop.brokers_story import OLDER, STORIES, run_story

pytestmark = pytest.mark.slow

SOAK_S = 600
SOAKS = bool(os.environ.get("METASHELL_SOAK"))


@pytest.mark.parametrize("name", STORIES if SOAKS else ("mixed", "newest"))
def test_nothing_is_lost_or_there_twice_whoever_dies(name: str, tmp_path: Path) -> None:
    java()
    for version in (KAFKA, OLDER):
        jars(version)
    seed, seconds = int(os.environ.get("METASHELL_SEED", "0")), SOAK_S if SOAKS else 0
    run_story(name, tmp_path, print, seed=seed, seconds=seconds)
