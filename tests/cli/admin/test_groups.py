"""Questions about the groups of a live cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.groups import committed_offsets, describe_group, end_offsets, find_coordinators, list_groups, with_ends
from metashell.cli.admin.protocol import AdminError, Kind
from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND
from metashell.groups.server import NODE_ID
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("orders", 3)
        with Client(parse_addresses(running.bootstrap_servers)) as client:
            made = messages.OffsetCommitRequest
            for group, offset in (("billing", 7), ("audit", 30)):
                partitions = tuple(
                    made.OffsetCommitRequestPartition(partition_index=id, committed_offset=offset + id, committed_metadata="by hand")
                    for id in (0, 2)
                )
                topics = (made.OffsetCommitRequestTopic(name="orders", partitions=partitions),)
                client.request(made(group_id=group, topics=topics), version=9)
        yield running


@pytest.fixture
def admin(quorum: EmbeddedQuorum) -> Iterator[Admin]:
    with Admin(Kind.BROKERS, parse_addresses(quorum.bootstrap_servers), timeout_ms=20_000) as made:
        yield made


def test_groups_are_listed_with_their_coordinator(admin: Admin) -> None:
    found, failed = list_groups(admin)
    assert not failed
    assert [(group.group_id, group.kind, group.state, group.coordinator) for group in found] == [
        ("audit", "classic", "Empty", NODE_ID),
        ("billing", "classic", "Empty", NODE_ID),
    ]
    assert list_groups(admin, states=["Stable"]) == ([], [])
    assert [group.group_id for group in list_groups(admin, kinds=["classic"])[0]] == ["audit", "billing"]
    assert find_coordinators(admin, ["billing", "none", "billing"]) == {"billing": NODE_ID, "none": NODE_ID}


def test_offsets_come_with_the_end_of_the_log(admin: Admin) -> None:
    rows = with_ends(admin, committed_offsets(admin, "billing"))
    assert [(row.topic, row.partition, row.offset, row.end_offset, row.lag, row.metadata) for row in rows] == [
        ("orders", 0, 7, 30, 23, "by hand"),
        ("orders", 2, 9, 32, 23, "by hand"),
    ]
    assert end_offsets(admin, [("orders", 1), ("orders", 9), ("nope", 0)]) == {("orders", 1): 0}
    assert committed_offsets(admin, "none") == []


def test_a_group_is_described_and_one_that_is_not_there_is_not_found(admin: Admin) -> None:
    group = describe_group(admin, "billing")
    assert (group.summary.kind, group.summary.state, group.members) == ("classic", "Empty", ())
    with pytest.raises(AdminError) as caught:
        describe_group(admin, "none")
    assert caught.value.code == GROUP_ID_NOT_FOUND
