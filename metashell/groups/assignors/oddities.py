"""What an input of an assignor has that is no error and yet may not be meant: keys that nobody reads, partitions that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from metashell.forms import compact_json, counted
from metashell.groups.assignors.client_group import Partition
from metashell.groups.assignors.client_rows import read_client_input
from metashell.groups.assignors.json_fields import Field
from metashell.groups.assignors.server_rows import SERVER_NAMES

_NAMED_MAX: Final = 3
_BESIDE: Final = ("id", "assignor", "order", "output")
"""Keys of a row, which a bare input may have too; `order` says in which order the members of a golden row stand."""
_CLIENT_INPUT: Final = ("nodes", "topics", "members", "order")
_NODE: Final = ("id", "rack")
_CLIENT_MEMBER: Final = ("id", "topics", "instanceId", "rack", "owned", "generation", "userData", "version", "subscription")
_SERVER_INPUT: Final = ("topics", "members", "assignable", "subscriptionType", "order")
_SERVER_TOPIC: Final = ("partitions", "racks")
_SERVER_MEMBER: Final = ("id", "topicIds", "previous", "instanceId", "rackId")


def oddities(assignor: str, row: dict[str, Any]) -> Iterator[str]:
    """A line for each kind of them, of a row or bare input that `answer` takes."""
    is_bare = "input" not in row
    given = Field(row) if is_bare else Field(row).at("input")
    beside = _BESIDE if is_bare else ()
    if assignor in SERVER_NAMES:
        yield from _unread([given], (*_SERVER_INPUT, *beside))
        yield from _unread((field for _, field in given.at("topics").items()), _SERVER_TOPIC)
        yield from _unread(given.at("members").elements(), _SERVER_MEMBER)
        yield from _server_partitions(given)
    else:
        yield from _unread([given], (*_CLIENT_INPUT, *beside))
        yield from _unread(given.at("nodes").elements() if given.has("nodes") else (), _NODE)
        yield from _unread(given.at("members").elements(), _CLIENT_MEMBER)
        yield from _client_partitions(given)


def _unread(fields: Iterable[Field], known: tuple[str, ...]) -> Iterator[str]:
    """Keys that are none of those that are known, each with the places where it is."""
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
    # To be subscribed to what is not there is an error of the assignor, which names the topic.
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
    """The first names, and how many more there are."""
    found = list(names)
    more = len(found) - _NAMED_MAX
    return ", ".join(found[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
