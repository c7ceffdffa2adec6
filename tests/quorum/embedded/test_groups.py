"""A group server on a quorum that loses controllers, and two that want to be the same broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metashell.codec import messages
from metashell.groups.server import NODE_ID, GroupServerConfig
from metashell.groups.state import Settings
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum, QuorumError
from metashell.quorum.embedded.members import Groups

LONG_S = 120.0


@pytest.fixture
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(3, groups=True, fake_brokers=1) as running:
        yield running


def beat(client: Client, epoch: int, member_id: str = "m") -> messages.ConsumerGroupHeartbeatResponse:
    is_first = epoch == 0
    made = messages.ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000 if is_first else -1,
        subscribed_topic_names=("t", "late") if is_first else None,
        topic_partitions=() if is_first else None,
    )
    answer: messages.ConsumerGroupHeartbeatResponse = client.request(made)
    assert answer.error_code == 0, answer
    return answer


def test_groups_outlive_the_active_controller_and_hear_of_topics_that_its_successor_makes(quorum: EmbeddedQuorum) -> None:
    topic_id = quorum.create_topic("t", 2)
    with Client(parse_addresses(quorum.bootstrap_servers), deadline_ms=60_000) as client:
        joined = beat(client, 0)
        assert [(each.topic_id, tuple(each.partitions)) for each in joined.assignment.topic_partitions] == [(topic_id, (0, 1))]
        quorum.kill(quorum.wait_for_leader())
        assert beat(client, joined.member_epoch).member_epoch == joined.member_epoch
        quorum.wait_for_leader(LONG_S)
        late = quorum.create_topic("late", 1)
        epoch, answer = joined.member_epoch, beat(client, joined.member_epoch)
        while answer.member_epoch == epoch:
            answer = beat(client, epoch)
        assert {each.topic_id for each in answer.assignment.topic_partitions} == {topic_id, late}


def test_the_second_that_wants_to_be_the_broker_is_refused_and_serves_nobody(quorum: EmbeddedQuorum) -> None:
    told: list[str] = []

    async def begin() -> Groups:
        config = GroupServerConfig(settings=Settings(node_id=NODE_ID, host="localhost", port=0))
        active, client = quorum._active_address, quorum._connected()
        second = Groups(
            config,
            quorum.cluster_id,
            lambda: quorum.image,
            active,
            client,
            quorum._changed,
            lambda id, line: told.append(line),
            origin=" 2",
        )
        await second.open()
        return second

    second: Groups = quorum._run(begin(), "a second one")
    try:
        quorum._wait("it is refused", lambda: any("is not registered" in line for line in told), LONG_S)
        assert not second.is_serving
        assert told[-1].startswith(f"groups: broker {NODE_ID} is not registered: This broker ID is already in use")
    finally:
        quorum._run(second.close(), "its end")


def test_a_quorum_that_is_kept_serves_groups_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = tmp_path_factory.mktemp("kept")
    with EmbeddedQuorum(1, groups=True, directory=kept) as first:
        first.create_topic("t", 2)
    with EmbeddedQuorum(directory=kept) as again, Client(parse_addresses(again.bootstrap_servers)) as client:
        assert beat(client, 0).member_epoch == 2
    with pytest.raises(QuorumError, match="no group coordinator runs"):
        _ = again.bootstrap_servers
