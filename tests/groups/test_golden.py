"""Our coordinator answers and writes what Kafka 4.3.1 answered and wrote, step by step, in the golden conversations."""

from __future__ import annotations

import pytest

from tests.groups.canon import differences
from tests.groups.golden import play, scenarios

# Those that are equal; `*` for all of a file.
EQUAL: dict[str, set[str]] = {
    "classic/classic": {
        *("delete-groups", "find-coordinator", "heartbeat-checks", "join-refused", "leave-variants", "life-join-v0", "life-join-v2"),
        *("life-join-v3", "life-join-v5", "life-join-v6", "life-join-v7", "life-join-v9", "member-id-required", "rejoin-in-completing"),
        *("rejoin-in-stable", "static-in-preparing-and-completing", "static-leader-skips", "static-replaced-v5", "static-replaced-v9"),
        *("sync-checks", "two-members", "vote-majority", "vote-tie"),
    },
    "classic/delay": {"*"},
    "classic/offsets": {
        *("commit-by-members", "fetch-many-groups", "offset-delete", "simple-offsets", "topic-deleted", "txn-abort", "txn-commit"),
    },
    "classic/small": {"*"},
    "classic/timed": {"*"},
    "classic/walks": {"*"},
    "consumer/consumer": {"*"},
    "consumer/delay": {"*"},
    "consumer/migration": {"*"},
    "consumer/restart": set(),
    "consumer/share": {"share-validation"},
    "consumer/small": set(),
    "consumer/streams": set(),
    "consumer/timed": {"*"},
    "consumer/walks": {"*"},
    "watched/watched": {"*"},
}
NAMES = sorted(name for name, row in scenarios().items() if EQUAL[row["file"]] & {"*", name})


@pytest.mark.parametrize("name", NAMES)
def test_a_conversation_goes_as_with_kafka(name: str) -> None:
    golden = scenarios()[name]
    assert differences(golden, play(golden)) == []
