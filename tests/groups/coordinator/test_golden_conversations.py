"""Our coordinator answers and writes what Kafka 4.3.1 answered and wrote, step by step, in the golden conversations."""

from __future__ import annotations

import pytest

from tests.groups.canon import differences
from tests.groups.golden import play, scenarios


@pytest.mark.parametrize("name", sorted(scenarios()))
def test_a_conversation_goes_as_with_kafka(name: str) -> None:
    golden = scenarios()[name]
    assert differences(golden, play(golden)) == []
