"""Inputs and outputs of the clients' assignors as JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

from metashell.codec.blobs.consumer_protocol import LATEST_VERSION, Subscription, read_subscription
from metashell.errors import DecodeError, UsageError
from metashell.groups.assignors.client import CLIENT_ASSIGNORS, ClientAssignment, assign_in_full
from metashell.groups.assignors.client_group import ClientMember, Partition, partition_order
from metashell.groups.assignors.json_fields import Field

CLIENT_NAMES: Final = tuple(CLIENT_ASSIGNORS)


def answer_client(name: str, given: Field) -> dict[str, Any]:
    """The output of a row. Errors: UsageError for a wrong input, AssignorError."""
    members, topics = read_client_input(given)
    return _output(assign_in_full(name, members, topics), list(members))


def read_client_input(given: Field) -> tuple[dict[str, ClientMember], dict[str, list[list[str]]]]:
    """Members, and the racks of each topic's partitions. Errors: UsageError."""
    fields = given.at("members").elements()
    given.at("members").distinct([field.at("id").text() for field in fields], "member")
    return {field.at("id").text(): _member(field) for field in fields}, _topics(given)


def _output(assigned: ClientAssignment, member_ids: list[str]) -> dict[str, Any]:
    output: dict[str, Any] = {"assignment": {member_id: _runs(assigned.partitions[member_id]) for member_id in member_ids}}
    if assigned.newest_generation is not None:
        output["transferring"] = None if assigned.transferring is None else _transferring(assigned.transferring)
        output["maxGeneration"] = assigned.newest_generation
    return output


def _transferring(owners: dict[Partition, str]) -> dict[str, str]:
    return {f"{topic}-{number}": owners[topic, number] for topic, number in sorted(owners, key=partition_order)}


def _runs(partitions: Iterable[Partition]) -> list[list[Any]]:
    """Partitions in their order; neighbours of one topic together."""
    return [[topic, [partition for _, partition in run]] for topic, run in groupby(partitions, key=lambda partition: partition[0])]


def _topics(given: Field) -> dict[str, list[list[str]]]:
    """The racks of each partition's replicas."""
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


def _member(given: Field) -> ClientMember:
    """A member from its fields, from the bytes that it sent, or from both, which have to agree."""
    said = _said(given) if given.has("topics") or not given.has("subscription") else None
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


def _said(given: Field) -> Subscription:
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
