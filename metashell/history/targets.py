"""What a path asks for: which records can touch it, and how their bytes look.

A needle is a run of bytes that each record of one kind about the path holds. Batches without any needle are skipped; where no needle
is known, the type of each record decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from metashell.codec.config_types import TOPIC_RESOURCE
from metashell.codec.primitives import encode_uvarint
from metashell.nodes.configs import own_resources
from metashell.nodes.java_text import parse_int
from metashell.nodes.names import is_uuid_text, name_unescape
from metashell.values import uuid_from_text

if TYPE_CHECKING:
    from metashell.nodes.configs import Resource

_TOPIC: Final = b"\x01\x02\x00"
_CONFIG: Final = b"\x01\x04\x00"
_REMOVE_TOPIC: Final = b"\x01\x09\x00"
_CLEAR_ELR: Final = b"\x01\x1c\x00"
BEGIN_TRANSACTION: Final = b"\x01\x17\x00"
_ID_SIZE: Final = 16

_FRAME_SIZE: Final = 3
_KEY_SIZE: Final = 4 + _ID_SIZE
_TOPIC_TYPE: Final = 2
_PARTITION: Final = 3
_PARTITION_CHANGE: Final = 5
_REMOVE_TOPIC_TYPE: Final = 9
_TOPIC_TYPES = frozenset({2, 3, 5, 9, 28})
BEGIN: Final = 23
END: Final = 24
ABORT: Final = 25
TRANSACTION_TYPES: Final = frozenset({BEGIN, END, ABORT})
_TYPES_OF_PARTS = {
    "topics": _TOPIC_TYPES,
    "configs": frozenset({2, 4, 9}),
    "cluster": frozenset({0, 1, 7, 8, 17, 27, 29}),
    "acls": frozenset({18, 19}),
    "clientQuotas": frozenset({14}),
    "scram": frozenset({11, 22}),
    "delegationToken": frozenset({10, 26}),
    "features": frozenset({12, 21}),
    "producerIds": frozenset({15}),
    "voters": frozenset[int](),
}
"""The record types that touch each part of /image; removing a topic removes its configs, so those need topics too."""
ALL_TYPES: Final = frozenset().union(*_TYPES_OF_PARTS.values())
_BROKER_RECORDS = (*(bytes((1, 0, version)) for version in range(8)), b"\x01\x01\x00", b"\x01\x07\x00", b"\x01\x08\x00")
_BROKER_CHANGES = tuple(bytes((1, 17, version)) for version in range(8))
_CONTROLLER_RECORDS = tuple(bytes((1, kind, version)) for kind in (27, 29) for version in range(8))


class Target:
    """What can touch one path; with `has_controls` control records too, with `has_leaders` elections among them.

    `learn` finds the ids of topics that have the wanted name, also of those that come and go.
    """

    def __init__(
        self,
        types: frozenset[int],
        needles: Sequence[bytes] | None = None,
        *,
        topic: bytes = b"",
        number: int | None = None,
        has_controls: bool = False,
        has_leaders: bool = False,
    ) -> None:
        self.has_controls = has_controls
        self.has_leaders = has_leaders
        self.types = types | TRANSACTION_TYPES
        self.needles = None if needles is None else list(needles)
        self._topic = topic
        self._number = number

    def add_id(self, id: bytes) -> None:
        """Look for the records of this topic too."""
        assert self.needles is not None
        found = [id] if self._number is None else [self._number.to_bytes(4, "big", signed=True) + id, _REMOVE_TOPIC + id]
        self.needles += [needle for needle in found if needle not in self.needles]

    def learn(self, buf: bytes) -> None:
        """Find the topics of the wanted name that a batch creates."""
        topic = self._topic
        if not topic:
            return
        at = buf.find(topic)
        while at >= 0:
            after = at + len(topic)
            id = buf[after : after + _ID_SIZE]
            if len(id) == _ID_SIZE:
                self.add_id(id)
            at = buf.find(topic, after)

    def may_be_in(self, buf: bytes, start: int = 0, end: int | None = None) -> bool:
        """Whether bytes may hold a record about the path."""
        needles = self.needles
        if needles is None:
            return True
        last = len(buf) if end is None else end
        return any(buf.find(needle, start, last) >= 0 for needle in needles)


class PartitionsTarget(Target):
    """What touches any of these partitions, by topic id and number, however many there are."""

    def __init__(self, partitions: Iterable[tuple[bytes, int]]) -> None:
        super().__init__(frozenset({_TOPIC_TYPE, _PARTITION, _PARTITION_CHANGE, _REMOVE_TOPIC_TYPE}))
        self._keys = {number.to_bytes(4, "big", signed=True) + id for id, number in partitions}
        self._ids = {key[4:] for key in self._keys}

    def may_be_in(self, buf: bytes, start: int = 0, end: int | None = None) -> bool:
        """Whether a record is about one of them; of a whole batch nothing is known before its records are walked."""
        if end is None:
            return True
        kind = buf[start + 1]
        if kind == _TOPIC_TYPE:
            # The record ends with the id and a count of tagged fields, which is 0; `end` is one further.
            return buf[end - 2 - _ID_SIZE : end - 2] in self._ids
        begin = start + _FRAME_SIZE
        return buf[begin : begin + _ID_SIZE] in self._ids if kind == _REMOVE_TOPIC_TYPE else buf[begin : begin + _KEY_SIZE] in self._keys


def target_of(components: Sequence[str]) -> Target:
    """The target of a path below /image, of components without wildcards."""
    match [*components]:
        case ["image", "topics", "byName", name, *rest]:
            return _topic_named(name_unescape(name), _number(rest))
        case ["image", "topics", "byId", id, *rest] if is_uuid_text(id):
            target = Target(_TOPIC_TYPES, [_CLEAR_ELR], number=_number(rest))
            target.add_id(uuid_from_text(id))
            if _number(rest) is not None:
                # The record of the topic itself ends with its id.
                target.needles = [*(target.needles or ()), uuid_from_text(id) + b"\0"]
            return target
        case ["image", "cluster", "brokers" | "controllers" as kind, id, *_] if (number := parse_int(id)) is not None:
            key = number.to_bytes(4, "big", signed=True)
            frames = (*_BROKER_RECORDS, *_BROKER_CHANGES) if kind == "brokers" else _CONTROLLER_RECORDS
            return Target(_TYPES_OF_PARTS["cluster"], [frame + key for frame in frames])
        case ["image", "configs", name, *_] if own_resources(name):
            return _configs(own_resources(name))
        case ["image", part, *_] if part in _TYPES_OF_PARTS:
            return Target(_TYPES_OF_PARTS[part], has_controls=part in ("features", "voters"))
    return Target(ALL_TYPES, has_controls=True, has_leaders=True)


def _topic_named(name: str, number: int | None) -> Target:
    encoded = name.encode()
    return Target(_TOPIC_TYPES, [_topic_start(encoded), _CLEAR_ELR], topic=_topic_start(encoded), number=number)


def _topic_start(name: bytes) -> bytes:
    return _TOPIC + encode_uvarint(len(name) + 1) + name


def _number(rest: Sequence[str]) -> int | None:
    return parse_int(rest[0]) if rest else None


def _configs(resources: Sequence[Resource]) -> Target:
    needles: list[bytes] = []
    topic = b""
    for type, name in resources:
        encoded = name.encode()
        needles.append(_CONFIG + bytes((type & 0xFF,)) + encode_uvarint(len(encoded) + 1) + encoded)
        if type == TOPIC_RESOURCE:
            topic = _topic_start(encoded)
            needles.append(topic)
    return Target(_TYPES_OF_PARTS["configs"], needles, topic=topic)
