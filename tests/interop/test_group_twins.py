"""Twins: the same random conversations with a real group coordinator of Kafka and with ours, with the same answers and records.

The real one goes first, as its ids decide what follows: who leads, who is given what. A failure prints the steps that differ; the seed
repeats it. `make soak` walks further, with new seeds.
"""

from __future__ import annotations

import contextlib
import os
import random

import pytest

from tests.groups.canon import differences
from tests.groups.golden import play
from tests.interop.other_walks import WALKS as WALKS_BY_KIND
from tests.interop.real_groups import RealGroups, Talk

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("METASHELL_SEED", "0"))
WALKS = 60 if os.environ.get("METASHELL_SOAK") else 3
KINDS = os.environ.get("METASHELL_GROUPS", "classic consumer mixed streams offsets").split()
STEPS = 50


@pytest.mark.parametrize("kinds", KINDS)
def test_random_conversations_are_answered_and_written_alike(groups: RealGroups, topics: dict[str, tuple[str, int]], kinds: str) -> None:
    for number in range(WALKS):
        name = f"{kinds}-{SEED}-{number}"
        groups.log.read()
        with contextlib.closing(Talk(groups, name, topics)) as talk:
            row = WALKS_BY_KIND[kinds](talk, random.Random(name), topics, kinds).run(STEPS)
        found = differences(row, play(row), is_salted=kinds == "streams")
        assert not found, f"{name}:\n" + "\n".join(found[:3])
