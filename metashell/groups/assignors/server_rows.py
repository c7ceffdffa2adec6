"""Inputs and outputs of the broker's assignors as JSON values."""

from __future__ import annotations

from typing import Any, Final

from metashell.errors import UsageError
from metashell.groups.assignors.json_fields import Field
from metashell.groups.assignors.server import SERVER_ASSIGNORS, assign
from metashell.groups.assignors.server_group import ServerGroup, ServerMember, are_homogeneous
from metashell.groups.topics import KnownTopics, Topic
from metashell.values import uuid_from_text, uuid_text

SERVER_PREFIX: Final = "server-"
"""Before the names of the broker's assignors, since clients have a `range` too."""
SERVER_NAMES: Final = tuple(SERVER_PREFIX + name for name in SERVER_ASSIGNORS)
_MOST_PARTITIONS: Final = 1_000_000
_KINDS: Final = {True: "HOMOGENEOUS", False: "HETEROGENEOUS"}


def answer_server(name: str, given: Field) -> dict[str, Any]:
    """The output of a row. Errors: UsageError for a wrong input, AssignorError."""
    group, topics = read_server_input(given)
    assigned = assign(name.removeprefix(SERVER_PREFIX), group, topics)
    return {"assignment": {member_id: _shown(assigned.get(member_id)) for member_id in group.members}}


def _shown(target: dict[bytes, tuple[int, ...]] | None) -> dict[str, list[int]] | None:
    return None if target is None else {uuid_text(topic_id): sorted(partitions) for topic_id, partitions in target.items()}


def read_server_input(given: Field) -> tuple[ServerGroup, KnownTopics]:
    """The group and its topics. Errors: UsageError."""
    topics = _topics(given.at("topics"))
    members = _members(given.at("members"))
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


def _topics(given: Field) -> KnownTopics:
    topics = []
    for text, field in given.items():
        count = field.at("partitions").integer(0, _MOST_PARTITIONS)
        topics.append(Topic(_uuid(text, field.place), text, ((),) * count))
    given.distinct([topic.id for topic in topics], "topic")
    return KnownTopics(topics)


def _members(given: Field) -> dict[str, ServerMember]:
    fields = given.elements()
    given.distinct([field.at("id").text() for field in fields], "member")
    return {field.at("id").text(): _member(field) for field in fields}


def _member(given: Field) -> ServerMember:
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
