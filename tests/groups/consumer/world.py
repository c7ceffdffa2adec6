"""A group whose members obey the rules of KIP-848, on a clock that tests set.

`World.check` holds the group to these invariants:
- E1: no partition is assigned to, or still to be revoked by, two members.
- E2: no two clients own a partition.
- E3: epochs of the group and its members do not go back, and the target's is never above the group's.
- E4: a member's assigned and revoking partitions are disjoint.
- E5: a stable member has its target.
- E8: the log, folded, gives the coordinator's state."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from metashell.codec import codes, messages
from metashell.codec.consumer_protocol import Subscription, read_assignment, subscription_bytes
from metashell.groups.classic.group import ClassicGroup
from metashell.groups.consumer import STABLE
from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.decision import Request
from metashell.groups.state import KindSettings, Settings
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.folding import fold, logged

GROUP = "g"
BEGUN_MS = 1_000_000
NEVER_MS = 10**9
SETTINGS = Settings(max_session_timeout_ms=NEVER_MS, consumer=KindSettings(session_timeout_ms=NEVER_MS, assignment_interval_ms=0))

Owned = set[tuple[str, int]]


class Ids:
    """Chance without chance."""

    def __init__(self) -> None:
        self.made = 0

    def uuid(self) -> bytes:
        self.made += 1
        return self.made.to_bytes(16, "big")

    def producer_id(self) -> int:
        return 1


@dataclass
class Client:
    """A consumer. `owned` is what its application works on; `given` what the coordinator said last, not yet taken over."""

    name: str
    names: list[str]
    instance_id: str | None = None
    regex: str | None = None
    is_classic: bool = False
    member_id: str = ""
    epoch: int = 0
    owned: Owned = field(default_factory=set)
    given: Owned | None = None
    is_in: bool = False
    is_away: bool = False


class World:
    """Shape: `clients` are all that were ever made; those that are in the group have `is_in`."""

    def __init__(self, settings: Settings = SETTINGS, topics: tuple[tuple[str, int], ...] = (("a", 3), ("b", 2))) -> None:
        self.settings = settings
        self.now_ms = BEGUN_MS
        self.topics = {name: _topic(name, count) for name, count in topics}
        self.version = 1
        self.clients: list[Client] = []
        self.highest: dict[str, int] = {}
        self.group_epoch = 0
        self.ids = Ids()
        self.shard = Shard(GroupCoordinator(settings, self.ids, self._view()), (), self.now_ms)

    def _view(self) -> KnownTopics:
        return KnownTopics(self.topics.values(), self.version)

    # What can happen.

    def beat(self, client: Client, is_full: bool = True) -> int:
        """One heartbeat, with all that the client has to say; gives the error code."""
        self.now_ms += 10
        if client.is_classic:
            return self._join(client)
        kind = messages.ConsumerGroupHeartbeatRequest
        is_joining = client.epoch == 0
        body = kind(
            group_id=GROUP,
            member_id=client.member_id or client.name,
            member_epoch=client.epoch,
            instance_id=client.instance_id,
            rebalance_timeout_ms=NEVER_MS if is_joining or is_full else -1,
            subscribed_topic_names=tuple(client.names) if is_joining or is_full else None,
            subscribed_topic_regex=client.regex if is_joining or is_full else None,
            topic_partitions=() if is_joining else self._reported(client) if is_full else None,
        )
        answer = self._ask(codes.CONSUMER_GROUP_HEARTBEAT, 1, body, client)
        if answer.error_code:
            if answer.error_code in (25, 110):
                client.owned, client.given, client.epoch = set(), None, 0
            return int(answer.error_code)
        client.is_in, client.is_away = True, False
        client.member_id, client.epoch = answer.member_id, answer.member_epoch
        if answer.assignment is not None:
            names = {topic.id: topic.name for topic in self.topics.values()}
            client.given = {
                (names[topic.topic_id], partition)
                for topic in answer.assignment.topic_partitions
                if topic.topic_id in names
                for partition in topic.partitions
            }
        return 0

    def take_over(self, client: Client) -> None:
        """The client's callbacks: what it lost is given up, then what is new is taken."""
        if client.given is not None:
            client.owned &= client.given
            client.owned |= client.given
            client.given = None

    def leave(self, client: Client, epoch: int = -1) -> None:
        """Leave for good (-1), or, a static member, for a while (-2)."""
        self.now_ms += 10
        if client.is_classic:
            kind = messages.LeaveGroupRequest
            body = kind(group_id=GROUP, members=(kind.MemberIdentity(member_id=client.member_id),))
            self._ask(codes.LEAVE_GROUP, 5, body, client)
        else:
            body = messages.ConsumerGroupHeartbeatRequest(
                group_id=GROUP, member_id=client.member_id, member_epoch=epoch, instance_id=client.instance_id
            )
            self._ask(codes.CONSUMER_GROUP_HEARTBEAT, 1, body, client)
        client.is_in, client.is_away = epoch == -2, epoch == -2
        client.owned, client.given, client.epoch = set(), None, 0
        if epoch == -2:
            client.member_id = f"{client.name}-{self.now_ms}"
        else:
            client.member_id = ""

    def change_topics(self, **counts: int) -> None:
        """Topics with their new partition counts; 0 deletes one."""
        self.now_ms += 10
        self.version += 1
        deleted = [name for name, count in counts.items() if not count]
        for name, count in counts.items():
            known = self.topics.pop(name, None)
            if count:
                # A topic never shrinks: it is another one of that name then.
                is_same = known is not None and known.partition_count <= count
                self.topics[name] = _topic(name, count, known.id[0] if known is not None and is_same else self.version % 256)
            if known is not None and (name not in self.topics or self.topics[name].id != known.id):
                for client in self.clients:
                    client.owned = {one for one in client.owned if one[0] != name}
                    client.given = None if client.given is None else {one for one in client.given if one[0] != name}
        self.shard.topics_changed(self._view(), [name for name in counts if name not in deleted], deleted, self.now_ms)

    def restart(self) -> None:
        """Another coordinator reads the log."""
        written: tuple[Written, ...] = tuple(self.shard.written)
        self.shard = Shard(GroupCoordinator(self.settings, self.ids, self._view()), written, self.now_ms)

    def settle(self, rounds: int = 6) -> None:
        """Every client beats and does what it is told; the order is that of the clients, and a second passes between rounds."""
        for _ in range(rounds):
            self.now_ms += 1000
            for client in self.clients:
                if client.is_in and not client.is_away:
                    self.beat(client)
                    self.take_over(client)

    # What must hold.

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.shard.coordinator.state.groups.get(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def check(self) -> None:
        """Check E1 to E5 and E8 of the module."""
        state = self.shard.coordinator.state
        assert state.findings == []
        if not isinstance(state.groups.get(GROUP), ClassicGroup):
            assert logged(fold(self.shard.written)) == logged(state), "E8"
        owned = [partition for client in self.clients for partition in client.owned]
        assert len(owned) == len(set(owned)), "E2"
        group = self.group
        if group is None:
            assert isinstance(state.groups.get(GROUP), ClassicGroup | None)
            return
        assert group.assignment_epoch <= group.epoch, "E3"
        assert group.epoch >= self.group_epoch, "E3"
        self.group_epoch = group.epoch
        held: Owned = set()
        for member in group.members.values():
            assigned = {(topic.hex(), partition) for topic, epochs in member.assigned.items() for partition in epochs}
            revoking = {(topic.hex(), partition) for topic, epochs in member.revoking.items() for partition in epochs}
            assert not assigned & revoking, "E4"
            assert not held & (assigned | revoking), "E1"
            held |= assigned | revoking
            assert member.epoch <= group.assignment_epoch, "E3"
            assert member.epoch >= self.highest.get(member.member_id, 0) or member.epoch in (0, -1, -2), "E3"
            self.highest[member.member_id] = max(member.epoch, 0)
            if member.state == STABLE and member.epoch == group.assignment_epoch:
                target = {(topic.hex(), partition) for topic, numbers in group.target_of(member.member_id).items() for partition in numbers}
                assert assigned <= target, "E5"
        assert {(topic.hex(), partition) for topic, partition in group.owners} == held

    def check_settled(self) -> None:
        """E6 and E7: all are stable, have their targets, and, with one subscription, no more than one partition apart."""
        group = self.group
        if group is None or any(client.is_away for client in self.clients):
            return
        assert group.state_name() in ("Stable", "Empty"), "E6"
        by_id = {client.member_id: client for client in self.clients if client.is_in}
        assert by_id.keys() == group.members.keys()
        known = {topic.id: name for name, topic in self.topics.items()}
        for member in group.members.values():
            by_topic = group.target_of(member.member_id)
            target = {(known[id], partition) for id, numbers in by_topic.items() if id in known for partition in numbers}
            if not member.regex:
                # Who names nothing and joins while an assignment is due gets a target all the same, as in Kafka (row `empty-names`).
                target = {one for one in target if one[0] in member.names}
            assert by_id[member.member_id].owned == target, "E5"
        if len({(*member.names, member.regex or "") for member in group.members.values()}) == 1:
            sizes = [len(client.owned) for client in by_id.values()]
            assert max(sizes) - min(sizes) <= 1, "E7"

    # The wire.

    def _ask(self, api_key: int, version: int, body: object, client: Client) -> messages.ConsumerGroupHeartbeatResponse:
        answers = self.shard.submit(Request(1, api_key, version, body, client.name), self.now_ms)
        self.shard.run_due(self.now_ms)
        own = [answer.body for answer in answers if answer.ticket == 1]
        assert len(own) == 1
        return own[0]

    def _reported(self, client: Client) -> tuple[messages.ConsumerGroupHeartbeatRequest.TopicPartitions, ...]:
        by_topic: dict[str, list[int]] = {}
        for name, partition in sorted(client.owned):
            by_topic.setdefault(name, []).append(partition)
        made = messages.ConsumerGroupHeartbeatRequest.TopicPartitions
        return tuple(made(topic_id=self.topics[name].id, partitions=tuple(numbers)) for name, numbers in by_topic.items())

    def _join(self, client: Client) -> int:
        """A classic member's round: join with what it owns, then sync; eager ones would own nothing here."""
        kind = messages.JoinGroupRequest
        subscription = Subscription(tuple(client.names), owned=tuple(sorted(client.owned)), generation=client.epoch)
        body = kind(
            group_id=GROUP,
            session_timeout_ms=NEVER_MS,
            rebalance_timeout_ms=NEVER_MS,
            member_id=client.member_id,
            protocol_type="consumer",
            protocols=(kind.JoinGroupRequestProtocol(name="range", metadata=subscription_bytes(subscription)),),
        )
        joined = self._ask(codes.JOIN_GROUP, 3, body, client)
        if joined.error_code:
            if joined.error_code == 25:
                client.owned, client.member_id = set(), ""
            return int(joined.error_code)
        client.is_in, client.member_id, client.epoch = True, joined.member_id, joined.generation_id
        synced = self._ask(
            codes.SYNC_GROUP,
            3,
            messages.SyncGroupRequest(group_id=GROUP, generation_id=client.epoch, member_id=client.member_id),
            client,
        )
        if synced.error_code == 0:
            client.given = set(read_assignment(synced.assignment).partitions)
        return int(synced.error_code)


def _topic(name: str, count: int, number: int = 0) -> Topic:
    return Topic(bytes([number]) + name.encode().rjust(15, b"\0"), name, (("rack-1",),) * count)


EVENTS = (
    *("join", "join", "beat", "beat", "beat", "empty beat", "take", "take"),
    *("leave", "names", "regex", "topics", "restart"),
)


def walk(world: World, chance: random.Random, steps: int) -> None:
    """Anything that may happen to a group of the consumer protocol and classic members in it, checked after each step."""
    for number in range(steps):
        inside = [client for client in world.clients if client.is_in and not client.is_away]
        match chance.choice(
            ("join", "join", "beat", "beat", "beat", "empty beat", "take", "take", "leave", "names", "regex", "topics", "restart")
        ):
            case "join" if len(inside) < 6:
                _join_somebody(world, chance, number)
            case "beat" if inside:
                world.beat(chance.choice(inside))
            case "empty beat" if inside:
                world.beat(chance.choice(inside), is_full=False)
            case "take" if inside:
                world.take_over(chance.choice(inside))
            case "leave" if len(inside) > 1:
                client = chance.choice(inside)
                if len([other for other in inside if not other.is_classic]) > 1 or client.is_classic:
                    world.leave(client, chance.choice((-1, -2)) if client.instance_id is not None else -1)
            case "names" if inside:
                chance.choice(inside).names = _names(chance)
            case "regex" if inside:
                client = chance.choice(inside)
                if not client.is_classic:
                    client.regex = chance.choice(("", "a|b", "[b-d]", "zz.*"))
            case "topics":
                world.change_topics(**{chance.choice("abcd"): chance.choice((0, 1, 2, 3, 5, 8))})
            case "restart":
                world.restart()
        world.check()


def _join_somebody(world: World, chance: random.Random, number: int) -> None:
    away = [client for client in world.clients if client.is_away]
    if away and chance.random() < 0.7:
        world.beat(chance.choice(away))
        return
    kind = chance.choice(("dynamic", "dynamic", "static", "classic"))
    client = Client(f"m{number}", _names(chance), instance_id=f"i{number}" if kind == "static" else None)
    has_others = any(other.is_in and not other.is_away and not other.is_classic for other in world.clients)
    client.is_classic = kind == "classic" and has_others
    world.clients.append(client)
    world.beat(client)


def _names(chance: random.Random) -> list[str]:
    return chance.choice((["a"], ["a", "b"], ["b", "c"], ["a", "b", "c", "d"], [], ["nowhere"]))
