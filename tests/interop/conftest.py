"""What several modules share: a real node of Kafka is started once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.codec.java import uuid_hash
from metashell.common.values import uuid_from_text
from tests.interop.real_groups import RealGroups, real_groups


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGroups]:
    """A node with a group coordinator."""
    with real_groups(tmp_path_factory.mktemp("groups")) as running:
        yield running


@pytest.fixture(scope="session")
def topics(groups: RealGroups) -> dict[str, tuple[str, int]]:
    """Two topics whose ids do not fall into one bucket: in one, all hangs on which came first (`twin-topics-in-one-bucket`)."""
    first, second = groups.topic("t", 8), groups.topic("u", 3)
    while _bucket(first) == _bucket(second):
        groups.delete_topic("u")
        second = groups.topic("u", 3)
    return {"t": (first, 8), "u": (second, 3)}


def _bucket(topic_id: str) -> int:
    number = uuid_hash(uuid_from_text(topic_id))
    return (number ^ number >> 16) % 16
