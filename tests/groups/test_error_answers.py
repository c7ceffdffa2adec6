"""The answer that refuses a whole request can be written, for every API of the coordinator in every version."""

from __future__ import annotations

import pytest

from metashell.codec.registry import message_names, message_type
from metashell.groups.coordinator.coordinator import HANDLERS
from metashell.groups.decision import Request, error_body

REQUESTS = {kind.key: kind for name in message_names("request") if (kind := message_type("request", name)).key in HANDLERS}


@pytest.mark.parametrize("api_key", sorted(HANDLERS))
def test_an_error_can_be_written_in_every_version(api_key: int) -> None:
    asked = REQUESTS[api_key]
    answer = message_type("response", asked.name.removesuffix("Request") + "Response")
    for version in range(asked.versions[0], asked.versions[1] + 1):
        body = error_body(Request(1, api_key, version, asked.cls()), 16)
        assert answer.read(answer.write(body, version), version) is not None


def test_every_partition_of_a_commit_has_the_error() -> None:
    kind = message_type("request", "OffsetCommitRequest")
    partitions = tuple(kind.cls.OffsetCommitRequestPartition(partition_index=index) for index in (0, 3))
    body = kind.cls(topics=(kind.cls.OffsetCommitRequestTopic(name="t", partitions=partitions),))
    answer = error_body(Request(1, 8, 9, body), 14)
    assert [(topic.name, [(row.partition_index, row.error_code) for row in topic.partitions]) for topic in answer.topics] == [
        ("t", [(0, 14), (3, 14)])
    ]


def test_a_fetch_of_many_groups_has_the_error_in_each() -> None:
    kind = message_type("request", "OffsetFetchRequest")
    body = kind.cls(groups=(kind.cls.OffsetFetchRequestGroup(group_id="a"), kind.cls.OffsetFetchRequestGroup(group_id="b")))
    assert [(group.group_id, group.error_code) for group in error_body(Request(1, 9, 8, body), 14).groups] == [("a", 14), ("b", 14)]
    assert error_body(Request(1, 9, 7, body), 14).error_code == 14
