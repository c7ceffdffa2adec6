"""Requests of every API of the coordinator with random contents, drawn from what may be there and from what may not."""

from __future__ import annotations

import random
from typing import Any

from metashell.codec.blobs.consumer_protocol import Subscription, subscription_bytes
from metashell.codec.registry import MessageType, message_names, message_type
from metashell.codec.schema import FieldSchema, StructSchema
from metashell.groups.coordinator.coordinator import GroupCoordinator
from metashell.groups.coordinator.routes import HANDLERS
from metashell.groups.request import Request

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
_LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_COUNTS = (0, 1, 1, 1, 2, 3)
_REQUESTS = {kind.key: kind for name in message_names("request") if (kind := message_type("request", name)).key in HANDLERS}


class RandomRequests:
    """Draws requests that fit the groups of a coordinator more often than chance alone would."""

    def __init__(self, coordinator: GroupCoordinator, chance: random.Random) -> None:
        self.coordinator = coordinator
        self._chance = chance
        self.member_ids = ["", "nobody"]
        """Ids that answers named."""

    def draw(self, ticket: int) -> Request:
        key = self._chance.choice(sorted(_REQUESTS))
        message = _REQUESTS[key]
        version = self._chance.randint(*message.versions)
        data = message.write(self._struct(message, message.schema, message.cls, version), version)
        return Request(ticket, key, version, message.read(data, version), self._chance.choice("abc"))

    def _struct(self, message: MessageType, struct: StructSchema, make: Any, version: int) -> Any:
        made = make()
        for field in struct.at(version):
            setattr(made, field.attribute, self._value(message, struct, field, version))
        return made

    def _value(self, message: MessageType, struct: StructSchema, field: FieldSchema, version: int) -> Any:
        chance = self._chance
        likely = self._likely(message, struct, field)
        if likely and not field.is_struct and chance.random() < 0.9:
            if field.is_array:
                return tuple(chance.choices(likely, k=chance.randint(0, 3)))
            return chance.choice(likely)
        if version in field.nullable and chance.random() < 0.5:
            return None
        if field.is_array:
            return tuple(self._one(message, field, version) for _ in range(chance.choice(_COUNTS)))
        return self._one(message, field, version)

    def _likely(self, message: MessageType, struct: StructSchema, field: FieldSchema) -> tuple[Any, ...]:
        name = field.attribute
        if name == "member_id":
            return tuple(self.member_ids[-12:])
        if name in EPOCHS and field.type == "int32":
            return (0, -1, -2, *(self._epochs()))
        if name == "name":
            return ("range", "sticky") if "Protocol" in struct.name else TOPICS
        if name in ("group", "key", "coordinator_keys"):
            return GROUPS if field.type == "string" else ()
        if field.type == "uuid":
            return (*(topic.id for topic in self._topics()), bytes(16), b"\7" * 16)
        found = LIKELY.get(name, ())
        fits = bool(found) and isinstance(found[0], {"string": str, "bytes": bytes}.get(field.type, int))
        return found if fits else ()

    def _topics(self) -> list[Any]:
        topics = self.coordinator.state.topics
        return [topics.named(name) for name in topics.names()]

    def _epochs(self) -> list[int]:
        return [summary.epoch for group in self.coordinator.state.groups.values() if (summary := group.summary()).epoch is not None]

    def _one(self, message: MessageType, field: FieldSchema, version: int) -> Any:
        chance = self._chance
        if field.is_struct:
            return self._struct(message, message.schema.structs[field.type], message.structs[field.type], version)
        match field.type:
            case "string":
                return chance.choice(("", "x", "é", "\0", "y" * 300, *TOPICS))
            case "bool":
                return chance.random() < 0.3
            case "bytes" | "records":
                return chance.choice(BLOBS)
            case "uuid":
                return chance.randbytes(16)
            case "uint16":
                return chance.choice((0, 1, 9092, 65535))
            case _:
                bits = _LIMITS.get(field.type, 31)
                return chance.choice((0, 1, 2, 3, -1, -2, (1 << bits) - 1, -(1 << bits)))
