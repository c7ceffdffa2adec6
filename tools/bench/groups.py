"""The group coordinator in memory: heartbeats and commits a second, and how long 1 000 members take to form a group.

Goals: 20 000 heartbeats a second; 1 000 members join in less than 1 s. Every request goes through `Shard`: decided, written, replayed,
answered, on one core, without a network and without bytes.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from resource import RUSAGE_SELF, getrusage
from typing import Any
from uuid import UUID

from metashell.codec import messages
from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT, HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP
from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from metashell.groups.decision import Request
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics, Topic

MEMBERS = 1_000
ROUNDS = 20
DRAFT_MEMBERS, DRAFT_GROUPS = 5_000, 50
HEARTBEATS_GOAL = 20_000
JOIN_GOAL_S = 1.0
TOPIC = Topic(b"t" * 16, "t", ((),) * 10_000)
_METADATA = subscription_bytes(Subscription((TOPIC.name,)))


class Counted:
    """Ids that count up, spread over the tables of hash maps."""

    def __init__(self) -> None:
        self._number = itertools.count(1)

    def uuid(self) -> bytes:
        return (next(self._number) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128)).to_bytes(16, "big")

    def producer_id(self) -> int:
        return next(self._number)


class Clients:
    """Members of one group, whose requests are made before the clock starts."""

    def __init__(self) -> None:
        settings = Settings(initial_rebalance_delay_ms=0)
        self.shard = Shard(GroupCoordinator(settings, Counted(), KnownTopics([TOPIC])), now_ms=1_000_000)
        self.answers: dict[int, Any] = {}
        self.tickets = itertools.count(1)
        self.now_ms = 1_000_000

    def ask(self, api_key: int, version: int, body: Any, client: str = "c") -> int:
        ticket = next(self.tickets)
        for answer in self.shard.submit(Request(ticket, api_key, version, body, client), self.now_ms):
            self.answers[answer.ticket] = answer.body
        return ticket

    def run_due(self) -> None:
        for answer in self.shard.run_due(self.now_ms):
            self.answers[answer.ticket] = answer.body


@contextmanager
def timed(note: Callable[[float], None]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    note(time.perf_counter() - started)


def report(what: str, figure: str, is_met: bool | None = None) -> None:
    verdict = "" if is_met is None else "  met" if is_met else "  MISSED"
    print(f"{what:<66} {figure:>16}{verdict}", flush=True)


def rate(what: str, count: int, seconds: float, goal: int | None = None) -> None:
    report(what, f"{count / seconds:,.0f}/s", None if goal is None else count / seconds >= goal)


def join_classic(clients: Clients, group_id: str, number: int, member_id: str) -> int:
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=_METADATA)
    body = messages.JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(protocol,),
    )
    return clients.ask(JOIN_GROUP, 9, body, f"client-{number}")


def form_classic(clients: Clients, group_id: str, count: int) -> tuple[int, list[str]]:
    """Let members join, sync and become Stable. Return the generation and their ids."""
    ids, open_joins = [], {}
    for number in range(count):
        ids.append(clients.answers[join_classic(clients, group_id, number, "")].member_id)
        open_joins[ids[-1]] = join_classic(clients, group_id, number, ids[-1])
        clients.run_due()
    for number, member_id in enumerate(ids):
        if open_joins[member_id] in clients.answers:
            join_classic(clients, group_id, number, member_id)
    group: Any = clients.shard.coordinator.state.groups[group_id]
    assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment
    for member_id in sorted(ids, key=lambda id: id != group.leader):
        given = tuple(assignment(member_id=id, assignment=b"a" * 40) for id in ids) if member_id == group.leader else ()
        clients.ask(SYNC_GROUP, 4, messages.SyncGroupRequest(group_id, group.generation, member_id, assignments=given))
    assert group.state_name() == "Stable" and len(group.members) == count
    return group.generation, ids


def classic() -> None:
    clients = Clients()
    group_id = "classic"
    with timed(lambda s: report(f"classic: {MEMBERS:,} members join, sync and are Stable", f"{s:.3f} s", s < JOIN_GOAL_S)):
        generation, ids = form_classic(clients, group_id, MEMBERS)
    beats = [messages.HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id) for member_id in ids]
    with timed(lambda s: rate("classic: heartbeats", ROUNDS * MEMBERS, s, HEARTBEATS_GOAL)):
        for _ in range(ROUNDS):
            clients.now_ms += 3_000
            for body in beats:
                clients.ask(HEARTBEAT, 4, body)
            clients.run_due()
    commits(clients, group_id, generation, ids)


def draft() -> None:
    """What the draft of a coordinator wanted of one: 5 000 consumers, here in 50 groups; their joins, and a minute of their requests."""
    clients = Clients()
    began = time.process_time()
    groups = {f"group-{number}": form_classic(clients, f"group-{number}", DRAFT_MEMBERS // DRAFT_GROUPS) for number in range(DRAFT_GROUPS)}
    report(f"draft: {DRAFT_MEMBERS:,} consumers in {DRAFT_GROUPS} groups join", f"{time.process_time() - began:.2f} CPU s")
    made = messages.OffsetCommitRequest
    beats, offsets = [], []
    for group_id, (generation, ids) in groups.items():
        for number, member_id in enumerate(ids):
            beats.append(messages.HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id))
            partition = made.OffsetCommitRequestPartition(partition_index=number, committed_offset=number)
            topic = made.OffsetCommitRequestTopic(name=TOPIC.name, partitions=(partition,))
            offsets.append(made(group_id=group_id, generation_id_or_member_epoch=generation, member_id=member_id, topics=(topic,)))
    began, count = time.process_time(), 0
    for second in range(60):
        clients.now_ms += 1_000
        for bodies, every, api_key, version in ((beats, 3, HEARTBEAT, 4), (offsets, 5, OFFSET_COMMIT, 9)):
            for body in bodies[second % every :: every]:
                clients.ask(api_key, version, body)
                count += 1
        clients.run_due()
        clients.answers.clear()
    used = time.process_time() - began
    report(f"draft: their minute, {count:,} heartbeats (3 s) and commits (5 s)", f"{used:.2f} CPU s", used < 60)
    report("draft: the most memory of this process", f"{getrusage(RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    assert all(clients.shard.coordinator.state.groups[id].summary().state == "Stable" for id in groups)


def consumer() -> None:
    clients = Clients()
    group_id = "consumer"
    ids = [str(UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128))) for number in range(1, MEMBERS + 1)]

    def beat(member_id: str, epoch: int, **about: Any) -> messages.ConsumerGroupHeartbeatResponse:
        body = messages.ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=member_id, member_epoch=epoch, **about)
        answer: messages.ConsumerGroupHeartbeatResponse = clients.answers[clients.ask(CONSUMER_GROUP_HEARTBEAT, 1, body)]
        assert answer.error_code == 0, answer
        return answer

    epochs: dict[str, int] = {}

    def form() -> None:
        for member_id in ids:
            about = {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": (TOPIC.name,), "topic_partitions": ()}
            epochs[member_id] = beat(member_id, 0, **about).member_epoch

    with timed(
        lambda s: report(f"consumer: {MEMBERS:,} members join, {TOPIC.partition_count:,} partitions", f"{s:.3f} s", s < JOIN_GOAL_S)
    ):
        form()
    clients.now_ms += 1_000
    with timed(lambda s: report(f"consumer: {MEMBERS:,} members reconcile", f"{s:.3f} s")):
        while len(set(epochs.values())) > 1 or epochs[ids[0]] <= 2:
            for member_id in ids:
                epochs[member_id] = beat(member_id, epochs[member_id], topic_partitions=()).member_epoch
    with timed(lambda s: rate("consumer: heartbeats of members that are up to date", ROUNDS * MEMBERS, s, HEARTBEATS_GOAL)):
        for _ in range(ROUNDS):
            clients.now_ms += 5_000
            for member_id in ids:
                beat(member_id, epochs[member_id])
            clients.run_due()


def commits(clients: Clients, group_id: str, generation: int, ids: list[str]) -> None:
    kind = messages.OffsetCommitRequest
    count = 10
    bodies = []
    for number, member_id in enumerate(ids):
        partitions = tuple(
            kind.OffsetCommitRequestPartition(partition_index=number * count + at, committed_offset=at) for at in range(count)
        )
        topic = kind.OffsetCommitRequestTopic(name=TOPIC.name, partitions=partitions)
        bodies.append(kind(group_id=group_id, generation_id_or_member_epoch=generation, member_id=member_id, topics=(topic,)))
    with timed(lambda s: rate(f"classic: commits of {count} partitions each", len(bodies), s)):
        for body in bodies:
            clients.ask(OFFSET_COMMIT, 9, body)
    assert len(clients.shard.coordinator.state.offsets[group_id]) == count * len(ids)


def main() -> int:
    classic()
    consumer()
    draft()
    return 0
