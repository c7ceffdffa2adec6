"""Our coordinator answers and writes what Kafka 4.3.1 answered and wrote, step by step, in the golden conversations."""

from __future__ import annotations

import pytest

from tests.groups.canon import differences
from tests.groups.golden import play, scenarios

# Those that are equal; `*` for all of a file.
EQUAL: dict[str, set[str]] = {
    "classic/classic": {"find-coordinator", "heartbeat-checks", "rejoin-in-stable"},
    "classic/delay": set(),
    "classic/offsets": {"commit-by-members", "fetch-many-groups", "offset-delete", "topic-deleted", "txn-abort", "txn-commit"},
    "classic/small": set(),
    "classic/timed": set(),
    "classic/walks": {"walk-classic-8"},
    "consumer/consumer": set(),
    "consumer/delay": set(),
    "consumer/migration": set(),
    "consumer/restart": set(),
    "consumer/share": set(),
    "consumer/small": set(),
    "consumer/streams": set(),
    "consumer/timed": set(),
    "consumer/walks": set(),
}
NAMES = sorted(name for name, row in scenarios().items() if EQUAL[row["file"]] & {"*", name})


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_goes_as_with_kafka(name: str) -> None:
    golden = scenarios()[name]
    assert differences(golden, play(golden)) == []
