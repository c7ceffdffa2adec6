"""Twins: the same random conversations with a real group coordinator of Kafka and with ours, with the same answers and records.

The real one goes first, as its ids decide what follows: who leads, who is given what. A failure prints the steps that differ; the seed
repeats it. `make soak` walks further, with new seeds.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator

import pytest

from metashell.codec.java import uuid_hash
from metashell.common.values import uuid_from_text
from tests.groups.canon import differences
from tests.groups.golden import play
from tests.interop.other_walks import WALKS as WALKS_BY_KIND
from tests.interop.real_groups import RealGroups, Talk, real_groups
from tests.java import KAFKA, jars, java

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("METASHELL_SEED", "0"))
WALKS = 60 if os.environ.get("METASHELL_SOAK") else 3
KINDS = os.environ.get("METASHELL_GROUPS", "classic consumer mixed streams offsets").split()
STEPS = 50


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGroups]:
    java()
    jars(KAFKA)
    with real_groups(tmp_path_factory.mktemp("groups")) as running:
        yield running


@pytest.fixture(scope="module")
def topics(node: RealGroups) -> dict[str, tuple[str, int]]:
    """Two topics whose ids do not fall into one bucket: in one, all hangs on which came first (`twin-topics-in-one-bucket`)."""
    first, second = node.topic("t", 8), node.topic("u", 3)
    while _bucket(first) == _bucket(second):
        node.delete_topic("u")
        second = node.topic("u", 3)
    return {"t": (first, 8), "u": (second, 3)}


def _bucket(topic_id: str) -> int:
    number = uuid_hash(uuid_from_text(topic_id))
    return (number ^ number >> 16) % 16


@pytest.mark.parametrize("kinds", KINDS)
def test_random_conversations_are_answered_and_written_alike(node: RealGroups, topics: dict[str, tuple[str, int]], kinds: str) -> None:
    for number in range(WALKS):
        name = f"{kinds}-{SEED}-{number}"
        node.log.read()
        with contextlib.closing(Talk(node, name, topics)) as talk:
            row = WALKS_BY_KIND[kinds](talk, random.Random(name), topics, kinds).run(STEPS)
        found = differences(row, play(row), is_salted=kinds == "streams")
        assert not found, f"{name}:\n" + "\n".join(found[:3])
