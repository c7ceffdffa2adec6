"""Requests of every API of the coordinator with random contents, drawn from what may be there and from what may not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.codec.registry import MessageType, message_names, message_type
from metashell.codec.schema import FieldSchema, StructSchema
from metashell.groups.coordinator.coordinator import HANDLERS, GroupCoordinator
from metashell.groups.decision import Request
from tests.random_messages import RandomMessages

GROUPS = ("g", "h", "s", "st", "empty", "", "\0é", "x" * 300)
TOPICS = ("t", "u", "nope", "", "é")
BLOBS = (
    *(b"", b"\0", b"\0\0\0\0\0\1", b"\xff\xff", bytes(40), b"\0\3\0\0\0\1\0\1t\xff\xff\xff\xff"),
    *(subscription_bytes(Subscription(("t",))), subscription_bytes(Subscription(("t", "u"), owned=(("t", 0),), generation=1, rack="r"))),
)
LIKELY: dict[str, tuple[Any, ...]] = {
    "group_id": GROUPS,
    "protocol_type": ("consumer", "consumer", "connect", ""),
    "protocol_name": ("range", "sticky"),
    "group_instance_id": ("i", "j"),
    "instance_id": ("i", "j"),
    "session_timeout_ms": (6000, 30000, 45000),
    "rebalance_timeout_ms": (6000, 60000),
    "subscribed_topic_names": TOPICS,
    "subscribed_topic_regex": ("t.*", "(", "", "[tu]"),
    "server_assignor": ("uniform", "range", "nope"),
    "partitions": (0, 1, 2),
    "partition_indexes": (0, 1, 2),
    "partition_index": (0, 1, 2, 99),
    "committed_offset": (0, 5, -1),
    "committed_metadata": ("", "m", "m" * 5000),
    "retention_time_ms": (-1, -1, 1000),
    "transactional_id": ("tx", "ty"),
    "producer_id": (1, 2, -1),
    "producer_epoch": (0, 1, -1),
    "metadata": BLOBS,
    "assignment": BLOBS,
    "groups": GROUPS,
    "groups_names": GROUPS,
    "group_ids": GROUPS,
    "states_filter": ("Stable", "empty"),
    "types_filter": ("classic", "Consumer"),
    "key_type": (0, 1, 2),
    "process_id": ("p", "q"),
    "source_topics": ("t", "u"),
}
EPOCHS = ("generation_id", "member_epoch", "generation_id_or_member_epoch")
_REQUESTS = {kind.key: kind for name in message_names("request") if (kind := message_type("request", name)).key in HANDLERS}


def _join_classic(body: Any, chance: random.Random, member_id: str = "") -> None:
    body.member_id = member_id
    body.session_timeout_ms, body.rebalance_timeout_ms = 30_000, 60_000
    body.protocol_type = "consumer"
    blob = chance.choice(BLOBS[-2:])
    kind = type(body).JoinGroupRequestProtocol
    body.protocols = tuple(kind(name=name, metadata=blob) for name in chance.sample(("range", "sticky"), chance.choice((1, 2))))
    if not member_id:
        body.group_id = chance.choice("ghs")


def _join_modern(body: Any, chance: random.Random) -> None:
    body.group_id = chance.choice("ghs")
    body.member_id, body.member_epoch = f"m{chance.randint(0, 5)}", 0
    body.subscribed_topic_names = tuple(sorted(chance.sample("tu", chance.choice((1, 2)))))
    if hasattr(body, "topic_partitions"):
        body.rebalance_timeout_ms, body.topic_partitions = 60_000, ()
        body.subscribed_topic_regex = chance.choice((None, None, "[tu]"))
        body.server_assignor = chance.choice((None, "uniform", "range"))
        body.instance_id = chance.choice((None, None, "i"))


def _join_streams(body: Any, chance: random.Random) -> None:
    kind = type(body)
    body.group_id = chance.choice(("st", "h"))
    body.member_id, body.member_epoch, body.instance_id = f"m{chance.randint(0, 5)}", 0, None
    body.rebalance_timeout_ms, body.process_id = 60_000, chance.choice("pq")
    body.active_tasks = body.standby_tasks = body.warmup_tasks = ()
    body.shutdown_application = False
    subtopology = kind.Subtopology(subtopology_id="0", source_topics=tuple(sorted(chance.sample("tu", chance.choice((1, 2))))))
    body.topology = kind.Topology(epoch=0, subtopologies=(subtopology,))


_JOINS: dict[str, Callable[[Any, random.Random], None]] = {
    "JoinGroupRequest": _join_classic,
    "ConsumerGroupHeartbeatRequest": _join_modern,
    "StreamsGroupHeartbeatRequest": _join_streams,
}


class RandomRequests(RandomMessages):
    """Draws requests that fit the groups of a coordinator more often than chance alone would."""

    strings, blobs, integers = ("", "x", "é", "\0", "y" * 300, *TOPICS), BLOBS, (0, 1, 2, 3, -1, -2)
    likely_part, null_part = 0.9, 0.5

    def __init__(self, coordinator: GroupCoordinator, chance: random.Random) -> None:
        super().__init__(chance)
        self.coordinator = coordinator
        self.member_ids = ["", "nobody"]
        """Ids that answers named."""

    def draw(self, ticket: int) -> Request:
        key = self._chance.choice(sorted(_REQUESTS))
        message = _REQUESTS[key]
        version = self._chance.randint(*message.versions)
        body = self.message(message, version)
        if self._chance.random() < 0.8:
            self._fit(body)
            plain = message.cls()
            for field in set(message.schema.fields) - set(message.schema.at(version)):
                setattr(body, field.attribute, getattr(plain, field.attribute))
        data = message.write(body, version)
        return Request(ticket, key, version, message.read(data, version), self._chance.choice("abc"))

    def _fit(self, body: Any) -> None:
        """Let a request come from a member, as it is, or from somebody who joins as clients do."""
        chance = self._chance
        known = [
            (group.group_id, member_id, getattr(member, "epoch", getattr(group, "generation", 0)), getattr(member, "instance_id", None))
            for group in self.coordinator.state.groups.values()
            for member_id, member in getattr(group, "members", {}).items()
        ]
        joins = _JOINS.get(type(body).__name__)
        if joins is not None and (not known or chance.random() < 0.3):
            joins(body, chance)
            if hasattr(body, "group_instance_id"):
                body.group_instance_id = chance.choice((None, None, "i"))
        elif known and getattr(body, "members", None):
            body.group_id, body.members[0].member_id, _, body.members[0].group_instance_id = chance.choice(known)
        elif known and hasattr(body, "group_id") and hasattr(body, "member_id") and not hasattr(body, "members"):
            body.group_id, body.member_id, epoch, instance_id = chance.choice(known)
            for name in EPOCHS:
                if hasattr(body, name):
                    setattr(body, name, epoch if chance.random() < 0.9 else -1)
            if hasattr(body, "instance_id"):
                body.instance_id = instance_id
            if hasattr(body, "group_instance_id"):
                body.group_instance_id = instance_id
            if hasattr(body, "protocols"):
                _join_classic(body, chance, body.member_id)
            for name in ("server_assignor", "topology"):
                if hasattr(body, name):
                    setattr(body, name, None)
            if hasattr(body, "subscribed_topic_regex") and chance.random() < 0.8:
                body.subscribed_topic_regex = None

    def likely(self, message: MessageType, struct: StructSchema, field: FieldSchema) -> tuple[Any, ...]:
        name = field.attribute
        if name == "member_id":
            return tuple(self.member_ids[-12:])
        if name in EPOCHS and field.type == "int32":
            return (0, -1, -2, *(self._epochs()))
        if name == "name":
            return ("range", "sticky") if "Protocol" in struct.name else TOPICS
        if name in ("group", "key", "coordinator_keys"):
            return GROUPS if field.type == "string" else ()
        found = LIKELY.get(name, ())
        fits = bool(found) and isinstance(found[0], {"string": str, "bytes": bytes}.get(field.type, int))
        return found if fits else ()

    def uuids(self) -> tuple[bytes, ...]:
        topics = self.coordinator.state.topics
        return (*(topic.id for name in topics.names() if (topic := topics.named(name)) is not None), bytes(16), b"\7" * 16)

    def _epochs(self) -> list[int]:
        return [summary.epoch for group in self.coordinator.state.groups.values() if (summary := group.summary()).epoch is not None]
