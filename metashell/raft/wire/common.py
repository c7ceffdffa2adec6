"""What the conversions share: the one partition, endpoints by listener, and the address of a leader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from metashell.raft.messages import Endpoint, Endpoints, Request, Response

TOPIC: Final = "__cluster_metadata"
PORT_MAX: Final = 65535


class Row(NamedTuple):
    """The functions that turn an API's flat messages into codec's of a version, and back."""

    request_to: Callable[[Any, int], Any]
    request_from: Callable[[Any, int], Request]
    response_to: Callable[[Any, int], Any]
    response_from: Callable[[Any, int], Response]


def only_partition(topics: Sequence[Any]) -> Any | None:
    """The one partition of the one topic, where that is the metadata partition; else None."""
    if len(topics) != 1 or topics[0].topic_name != TOPIC:
        return None
    partitions = topics[0].partitions
    return partitions[0] if len(partitions) == 1 and partitions[0].partition_index == 0 else None


def endpoints_from(entries: Iterable[Any]) -> Endpoints:
    """Listener structs as endpoints; names upper-cased, of two with one name the later counts."""
    return {entry.name.upper(): (entry.host, entry.port) for entry in entries}


def endpoints_to(make: Callable[..., Any], endpoints: Endpoints) -> tuple[Any, ...]:
    """Endpoints as listener structs."""
    return tuple(make(name=name, host=host, port=port) for name, (host, port) in endpoints.items())


def leader_endpoint_from(entries: Iterable[Any], leader_id: int) -> Endpoint | None:
    """The address of a leader among NodeEndpoints: the first of that node that has a port which exists (Fetch has it as int32)."""
    for entry in entries:
        if entry.node_id == leader_id and 0 <= entry.port <= PORT_MAX:
            return entry.host, entry.port
    return None


def leader_endpoint_to(make: Callable[..., Any], leader_id: int, endpoint: Endpoint | None) -> tuple[Any, ...]:
    """NodeEndpoints with the leader alone, or none."""
    return () if endpoint is None else (make(node_id=leader_id, host=endpoint[0], port=endpoint[1]),)
