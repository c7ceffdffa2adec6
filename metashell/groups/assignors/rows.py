"""Inputs and outputs of the assignors as JSON objects, which `metashell groups assign` reads and writes.

A row has `assignor`, `input` and `output`. A wrong field is reported by its place; `input_warnings` reports fields that are valid but
probably not meant: unknown keys, and partitions that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

from metashell.codec.consumer_protocol import LATEST_VERSION, Subscription, read_subscription
from metashell.common.errors import DecodeError, UsageError
from metashell.common.forms import compact_json, counted
from metashell.common.values import uuid_from_text, uuid_text
from metashell.groups.assignors import AssignorError, ClientMember, Partition, ServerGroup, ServerMember, are_homogeneous, partition_order
from metashell.groups.assignors.server import (
    CLIENT_ASSIGNORS,
    SERVER_ASSIGNORS,
    ClientAssignment,
    run_client_assignor_in_full,
    run_server_assignor,
)
from metashell.groups.topics import KnownTopics, Topic

CLIENT_NAMES: Final = tuple(CLIENT_ASSIGNORS)


def answer_client(name: str, given: Field) -> dict[str, Any]:
    """Return the output of a row. Errors: UsageError for a wrong input, AssignorError."""
    members, topics = read_client_input(given)
    return _output(run_client_assignor_in_full(name, members, topics), list(members))


def read_client_input(given: Field) -> tuple[dict[str, ClientMember], dict[str, list[list[str]]]]:
    """Read members, and the racks of each topic's partitions. Errors: UsageError."""
    fields = given.at("members").elements()
    given.at("members").distinct([field.at("id").text() for field in fields], "member")
    return {field.at("id").text(): _client_member(field) for field in fields}, _client_topics(given)


def _output(assigned: ClientAssignment, member_ids: list[str]) -> dict[str, Any]:
    output: dict[str, Any] = {"assignment": {member_id: _runs(assigned.partitions[member_id]) for member_id in member_ids}}
    if assigned.newest_generation is not None:
        output["transferring"] = None if assigned.transferring is None else _transferring(assigned.transferring)
        output["maxGeneration"] = assigned.newest_generation
    return output


def _transferring(owners: dict[Partition, str]) -> dict[str, str]:
    return {f"{topic}-{number}": owners[topic, number] for topic, number in sorted(owners, key=partition_order)}


def _runs(partitions: Iterable[Partition]) -> list[list[Any]]:
    """Group runs of partitions of one topic, without changing the order."""
    return [[topic, [partition for _, partition in run]] for topic, run in groupby(partitions, key=lambda partition: partition[0])]


def _client_topics(given: Field) -> dict[str, list[list[str]]]:
    """Read the racks of each partition's replicas."""
    racks: dict[int, str | None] | None = None
    if given.has("nodes"):
        nodes = given.at("nodes")
        ids = [node.at("id").integer(-(2**31)) for node in nodes.elements()]
        nodes.distinct(ids, "node")
        racks = {id: node.optional_text("rack") for id, node in zip(ids, nodes.elements(), strict=True)}
    topics = {}
    for name, field in given.at("topics").items():
        topics[name] = [_replica_racks(replicas, racks) for replicas in field.elements()]
    return topics


def _replica_racks(given: Field, racks: dict[int, str | None] | None) -> list[str]:
    found = []
    for replica in given.elements():
        id = replica.integer(-(2**31))
        if racks is not None and id not in racks:
            raise replica.wrong("one of the nodes")
        rack = None if racks is None else racks[id]
        if rack is not None:
            found.append(rack)
    return found


def _client_member(given: Field) -> ClientMember:
    """Read a member from its fields, from the bytes that it sent, or from both, which must agree."""
    said = _read_subscription(given) if given.has("topics") or not given.has("subscription") else None
    if given.has("subscription"):
        field = given.at("subscription")
        try:
            sent = read_subscription(field.hex())
        except DecodeError as error:
            raise UsageError(f"{field.place}: {error}") from None
        if said is not None and _sorted(sent) != _sorted(said):
            raise UsageError(f"{field.place} says something else than the fields beside it")
        said = sent
    assert said is not None
    return ClientMember(said.topics, said.owned, said.generation, said.user_data, given.optional_text("instanceId"), said.rack)


def _sorted(one: Subscription) -> tuple[Any, ...]:
    return sorted(one.topics), one.user_data, sorted(one.owned), one.generation, one.rack, one.version


def _read_subscription(given: Field) -> Subscription:
    return Subscription(
        topics=tuple(field.text() for field in given.at("topics").elements()),
        user_data=given.at("userData").hex() if given.has("userData") else None,
        owned=tuple(_owned(given.at("owned"))) if given.has("owned") else (),
        generation=given.at("generation").integer(-1) if given.has("generation") else -1,
        rack=given.optional_text("rack"),
        version=given.at("version").integer(0, 2**15 - 1) if given.has("version") else LATEST_VERSION,
    )


def _owned(given: Field) -> Iterable[Partition]:
    for pair in given.elements():
        parts = pair.elements()
        if len(parts) != 2:
            raise pair.wrong("a topic and its partitions")
        topic = parts[0].text()
        yield from ((topic, partition.integer()) for partition in parts[1].elements())


SERVER_PREFIX: Final = "server-"
"""The prefix of the broker's assignors, since clients have a `range` too."""
SERVER_NAMES: Final = tuple(SERVER_PREFIX + name for name in SERVER_ASSIGNORS)
_MOST_PARTITIONS: Final = 1_000_000
_KINDS: Final = {True: "HOMOGENEOUS", False: "HETEROGENEOUS"}


def answer_server(name: str, given: Field) -> dict[str, Any]:
    """Return the output of a row. Errors: UsageError for a wrong input, AssignorError."""
    group, topics = read_server_input(given)
    assigned = run_server_assignor(name.removeprefix(SERVER_PREFIX), group, topics)
    return {"assignment": {member_id: _shown(assigned.get(member_id)) for member_id in group.members}}


def _shown(target: dict[bytes, tuple[int, ...]] | None) -> dict[str, list[int]] | None:
    return None if target is None else {uuid_text(topic_id): sorted(partitions) for topic_id, partitions in target.items()}


def read_server_input(given: Field) -> tuple[ServerGroup, KnownTopics]:
    """Read the group and its topics. Errors: UsageError."""
    topics = _server_topics(given.at("topics"))
    members = _server_members(given.at("members"))
    is_homogeneous = are_homogeneous(members.values())
    if given.has("subscriptionType"):
        kind = given.at("subscriptionType")
        if kind.text() not in _KINDS.values():
            raise kind.wrong("HOMOGENEOUS or HETEROGENEOUS")
        if kind.text() != _KINDS[is_homogeneous]:
            raise UsageError(f"{kind.place} is {kind.text()}, but the members' topicIds are {_KINDS[is_homogeneous]}")
    assignable = None
    if given.has("assignable"):
        assignable = {_uuid(key, field.place): frozenset(_partitions(field)) for key, field in given.at("assignable").items()}
    return ServerGroup(members, is_homogeneous, assignable), topics


def _server_topics(given: Field) -> KnownTopics:
    topics = []
    for text, field in given.items():
        count = field.at("partitions").integer(0, _MOST_PARTITIONS)
        topics.append(Topic(_uuid(text, field.place), text, ((),) * count))
    given.distinct([topic.id for topic in topics], "topic")
    return KnownTopics(topics)


def _server_members(given: Field) -> dict[str, ServerMember]:
    fields = given.elements()
    given.distinct([field.at("id").text() for field in fields], "member")
    return {field.at("id").text(): _server_member(field) for field in fields}


def _server_member(given: Field) -> ServerMember:
    topic_ids = given.at("topicIds")
    texts = [field.text() for field in topic_ids.elements()]
    topic_ids.distinct(texts, "topic")
    previous = {}
    if given.has("previous"):
        previous = {_uuid(key, field.place): _partitions(field) for key, field in given.at("previous").items()}
    return ServerMember(
        tuple(_uuid(text, topic_ids.place) for text in texts),
        previous,
        given.optional_text("instanceId"),
        given.optional_text("rackId"),
    )


def _partitions(given: Field) -> tuple[int, ...]:
    partitions = [field.integer() for field in given.elements()]
    given.distinct(partitions, "partition")
    return tuple(partitions)


def _uuid(text: str, place: str) -> bytes:
    try:
        return uuid_from_text(text)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


ASSIGNORS: Final = (*CLIENT_NAMES, *SERVER_NAMES)


def answer_row(assignor: str | None, row: dict[str, Any], place: str = "") -> dict[str, Any]:
    """Return a row with its output, by the given assignor or else by the one that the row names. A bare input becomes a row.

    Shape: other keys of the row stay. The output has `error` and `message` if Kafka's class throws.
    Errors: UsageError with the place for an invalid input.
    """
    given = Field(row, place)
    is_bare = "input" not in row and "members" in row
    if assignor is None:
        if not given.has("assignor"):
            raise UsageError(f"{place + ': ' if place else ''}no assignor is named: give --assignor", "--assignor")
        field = given.at("assignor")
        assignor = field.text()
        if assignor not in ASSIGNORS:
            raise field.wrong(f"one of {', '.join(ASSIGNORS)}")
    try:
        answer_from = answer_server if assignor in SERVER_NAMES else answer_client
        output = answer_from(assignor, given if is_bare else given.at("input"))
    except AssignorError as error:
        output = {"error": error.java_class, "message": error.message}
    if is_bare:
        return {"assignor": assignor, "input": {key: value for key, value in row.items() if key != "assignor"}, "output": output}
    return {**row, "assignor": assignor, "output": output}


_NAMED_MAX: Final = 3
_BESIDE: Final = ("id", "assignor", "order", "output")
"""Keys of a row, which a bare input may have too; `order` is the order of members in a golden row."""
_CLIENT_INPUT: Final = ("nodes", "topics", "members", "order")
_NODE: Final = ("id", "rack")
_CLIENT_MEMBER: Final = ("id", "topics", "instanceId", "rack", "owned", "generation", "userData", "version", "subscription")
_SERVER_INPUT: Final = ("topics", "members", "assignable", "subscriptionType", "order")
_SERVER_TOPIC: Final = ("partitions", "racks")
_SERVER_MEMBER: Final = ("id", "topicIds", "previous", "instanceId", "rackId")


def input_warnings(assignor: str, row: dict[str, Any]) -> Iterator[str]:
    """Return a line for each kind of valid but suspicious field of a row or bare input that `answer_row` accepts."""
    is_bare = "input" not in row
    given = Field(row) if is_bare else Field(row).at("input")
    beside = _BESIDE if is_bare else ()
    if assignor in SERVER_NAMES:
        yield from _unread_keys([given], (*_SERVER_INPUT, *beside))
        yield from _unread_keys((field for _, field in given.at("topics").items()), _SERVER_TOPIC)
        yield from _unread_keys(given.at("members").elements(), _SERVER_MEMBER)
        yield from _server_partitions(given)
    else:
        yield from _unread_keys([given], (*_CLIENT_INPUT, *beside))
        yield from _unread_keys(given.at("nodes").elements() if given.has("nodes") else (), _NODE)
        yield from _unread_keys(given.at("members").elements(), _CLIENT_MEMBER)
        yield from _client_partitions(given)


def _unread_keys(fields: Iterable[Field], known: tuple[str, ...]) -> Iterator[str]:
    """Return unknown keys, each with its places."""
    places: dict[str, list[str]] = {}
    for field in fields:
        for key in field.object():
            if key not in known:
                places.setdefault(key, []).append(field.path)
    for key, found in places.items():
        where = f" in {_some(found)}" if any(found) else ""
        yield f"unknown key {compact_json(key)}{where} is ignored: known are {', '.join(key for key in known if key not in _BESIDE[1:])}"


def _client_partitions(given: Field) -> Iterator[str]:
    members, topics = read_client_input(given)
    unknown = dict.fromkeys(topic for member in members.values() for topic in member.topics if topic not in topics)
    if unknown:
        yield f"members subscribe to what is not among the topics, which nobody gets: {_some(unknown)}"
    missing: list[str] = []
    conflicts: list[str] = []
    owners: dict[tuple[Partition, int], str] = {}
    for member_id, member in members.items():
        for partition in member.owned:
            name = f"{partition[0]}-{partition[1]}"
            if partition[1] >= len(topics.get(partition[0], ())):
                missing.append(f"{name} ({member_id})")
            other = owners.setdefault((partition, member.generation), member_id)
            if other != member_id:
                conflicts.append(f"{name} ({other}, {member_id})")
        twice = len(member.owned) - len(set(member.owned))
        if twice:
            yield f"member {member_id} owns {counted(twice, 'partition')} more than once"
    if missing:
        yield f"owned partitions that do not exist: {_some(missing)}"
    if conflicts:
        yield f"two members own the same partition in one generation: {_some(conflicts)}"


def _server_partitions(given: Field) -> Iterator[str]:
    counts = {topic: field.at("partitions").integer() for topic, field in given.at("topics").items()}
    # A subscription to an unknown topic is not a warning: the assignor fails and names the topic.
    wanted = {topic.text() for member in given.at("members").elements() for topic in member.at("topicIds").elements()}
    missing = [
        f"{topic}-{partition} ({member.at('id').text()})"
        for member in given.at("members").elements()
        if member.has("previous")
        for topic, partitions in member.at("previous").items()
        for partition in (one.integer() for one in partitions.elements())
        if (partition >= counts[topic] if topic in counts else topic not in wanted)
    ]
    if missing:
        yield f"previous partitions that do not exist: {_some(missing)}"


def _some(names: Iterable[str]) -> str:
    """Return the first names and the number of others."""
    found = list(names)
    more = len(found) - _NAMED_MAX
    return ", ".join(found[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


_SHOWN_MAX: Final = 40


class Field(NamedTuple):
    """A value with its source, such as `group.json: line 2`, and its path, such as `input.members[2].topics`.

    Errors of all methods: UsageError, which names both.
    """

    value: Any
    source: str = ""
    path: str = ""

    @property
    def place(self) -> str:
        return ": ".join(filter(None, (self.source, self.path)))

    def wrong(self, what: str) -> UsageError:
        text = compact_json(self.value)
        shown = text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
        return UsageError(f"{self.place}: {shown} is not {what}")

    def has(self, key: str) -> bool:
        """Return whether an object has a key with a value other than null."""
        return self.object().get(key) is not None

    def at(self, key: str) -> Field:
        fields = self.object()
        found = Field(fields.get(key), self.source, f"{self.path}.{key}" if self.path else key)
        if key not in fields:
            raise UsageError(f"{found.place} is missing")
        return found

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def items(self) -> list[tuple[str, Field]]:
        return [(key, self.at(key)) for key in self.object()]

    def elements(self) -> list[Field]:
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return [Field(value, self.source, f"{self.path}[{number}]") for number, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def hex(self) -> bytes:
        try:
            return bytes.fromhex(self.text())
        except ValueError:
            raise self.wrong("bytes in hex") from None

    def optional_text(self, key: str) -> str | None:
        """Return a text, None for null or a missing key."""
        return self.at(key).text() if self.has(key) else None

    def integer(self, low: int = 0, high: int = 2**31 - 1) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.wrong(f"an integer from {low} to {high}")
        return self.value

    def distinct(self, values: list[Any], what: str) -> None:
        """Errors: UsageError if two of this field's values are equal."""
        seen = set()
        for value in values:
            if value in seen:
                raise UsageError(f"{self.place}: {what} {value} is there twice")
            seen.add(value)
