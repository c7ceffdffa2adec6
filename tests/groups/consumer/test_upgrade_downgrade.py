"""From a classic group to a consumer group and back, also where the batch cannot be written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metashell.codec import codes, messages
from metashell.codec.consumer_protocol import Subscription, read_assignment, subscription_bytes
from metashell.codec.error_codes import NOT_COORDINATOR
from metashell.groups.classic import GROUP_METADATA
from metashell.groups.classic.group import ClassicGroup, ClassicState
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.decision import Request
from tests.groups.consumer.world import GROUP, SETTINGS, Client, World

NOT_LEADER = 6


def mixed_world() -> tuple[World, Client, Client]:
    """One member of each protocol, each with its half of four partitions."""
    world = World(topics=(("t", 4),))
    new, old = Client("new", ["t"]), Client("old", ["t"], is_classic=True)
    world.clients = [new, old]
    world.beat(new)
    world.beat(old)
    world.settle()
    world.check_settled()
    return world, new, old


def leave_request(client: Client) -> Request:
    body = messages.ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=client.member_id, member_epoch=-1)
    return Request(7, codes.CONSUMER_GROUP_HEARTBEAT, 1, body, client.name)


def test_the_last_member_of_the_consumer_protocol_leaves_a_classic_group_that_rebalances() -> None:
    world, new, old = mixed_world()
    assert world.group is not None
    epoch = world.group.epoch
    world.leave(new)
    world.check()
    group = world.shard.coordinator.state.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert group.state is ClassicState.PREPARING
    assert group.generation == epoch, "the epoch as it was: nobody is assigned anew before the next generation"
    member = group.members[old.member_id]
    assert set(read_assignment(member.assignment).partitions) == old.owned


def test_a_downgrade_that_cannot_be_written_never_was() -> None:
    world, new, _old = mixed_world()
    coordinator = world.shard.coordinator
    before = coordinator.state.groups[GROUP]
    decision = coordinator.decide(leave_request(new), world.now_ms)
    assert decision.records and not decision.replays
    assert isinstance(coordinator.state.groups[GROUP], ClassicGroup)
    undone = coordinator.failed(decision, NOT_LEADER, world.now_ms)
    assert coordinator.state.groups[GROUP] is before
    assert [(answer.ticket, answer.body.error_code) for answer in undone.answers] == [(7, NOT_COORDINATOR)]
    world.settle()
    world.check()
    world.check_settled()


def test_a_member_whose_session_ends_with_a_downgrade_that_cannot_be_written_is_put_out_later() -> None:
    settings = replace(SETTINGS, consumer=replace(SETTINGS.consumer, session_timeout_ms=1_000))
    world = World(settings, topics=(("t", 4),))
    new, old = Client("new", ["t"]), Client("old", ["t"], is_classic=True)
    world.clients = [new, old]
    for client in world.clients:
        world.beat(client)
    coordinator = world.shard.coordinator
    due_ms = coordinator.next_due_ms()
    assert due_ms is not None
    decision = coordinator.run_due(due_ms)
    assert decision is not None and decision.records
    assert coordinator.failed(decision, NOT_LEADER, due_ms).answers == []
    assert isinstance(coordinator.state.groups[GROUP], ConsumerGroup)
    world.shard.run_due(due_ms + 1_000)
    assert isinstance(coordinator.state.groups[GROUP], ClassicGroup)


def classic_world() -> World:
    """A classic group of one member that is stable."""
    world = World(replace(SETTINGS, initial_rebalance_delay_ms=0), topics=(("t", 4),))
    kind = messages.JoinGroupRequest
    blob = subscription_bytes(Subscription(("t",)))
    body = kind(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(kind.JoinGroupRequestProtocol(name="range", metadata=blob),),
    )
    world.shard.submit(Request(1, codes.JOIN_GROUP, 3, body, "old"), world.now_ms)
    joined = world.shard.run_due(world.now_ms)[0].body
    sync = messages.SyncGroupRequest
    world.shard.submit(
        Request(2, codes.SYNC_GROUP, 3, sync(group_id=GROUP, generation_id=1, member_id=joined.member_id), "old"), world.now_ms
    )
    return world


def test_an_upgrade_that_cannot_be_written_leaves_the_classic_group() -> None:
    world = classic_world()
    coordinator = world.shard.coordinator
    before = coordinator.state.groups[GROUP]
    assert isinstance(before, ClassicGroup) and before.state is ClassicState.STABLE
    body = messages.ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id="new", member_epoch=0, rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=()
    )
    decision = coordinator.decide(Request(7, codes.CONSUMER_GROUP_HEARTBEAT, 1, body, "new"), world.now_ms)
    assert decision.records[0].type == GROUP_METADATA and decision.records[0].value is None
    undone = coordinator.failed(decision, NOT_LEADER, world.now_ms)
    assert [(answer.ticket, answer.body.error_code) for answer in undone.answers] == [(7, NOT_COORDINATOR)]
    assert coordinator.state.groups[GROUP] is before
    world.shard.run_due(world.now_ms + 60_000)
    assert not before.members, "its session still ends"


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_without_the_policy_a_classic_group_stays_one(policy: str) -> None:
    world = classic_world()
    world.shard.coordinator.context.settings = replace(world.settings, migration_policy=policy)
    client = Client("new", ["t"])
    assert world.beat(client) == 69
    assert isinstance(world.shard.coordinator.state.groups[GROUP], ClassicGroup)
