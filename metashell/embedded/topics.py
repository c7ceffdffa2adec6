"""Topics, made by asking controllers: no broker and no Java is needed for that, only brokers that are registered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from metashell.client.client import Client
from metashell.client.errors import ConnectError
from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from metashell.embedded.errors import QuorumError, RefusedError
from metashell.net.addresses import Address, parse_addresses

TIMEOUT_S: Final = 10.0
RETRY_S: Final = 0.02
CONTROLLERS: Final = 2
"""The endpoints that DescribeCluster is asked for: those of controllers."""


def create_topic(
    controllers: str,
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    configs: Mapping[str, str] | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
) -> bytes:
    """Make a topic in the quorum that one of these `HOST:PORT,...` belongs to, and return its id.

    Errors: RefusedError, with Kafka's code and message; QuorumError for no active controller in time; UsageError for addresses that are
    none.
    """
    request = topic_request(name, partitions, replication_factor, configs, timeout_s)
    ends_at = time.monotonic() + timeout_s
    reason = "nobody leads"
    with Client(parse_addresses(controllers), client_id="metashell-topics", deadline_ms=int(timeout_s * 1000), attempts_max=1) as client:
        while True:
            try:
                leader = _active(client)
                if leader is not None and (answer := client.request(request, node=leader).topics[0]).error_code != NOT_CONTROLLER:
                    return topic_id_of(answer)
            except ConnectError as error:
                reason = str(error)
            if time.monotonic() > ends_at:
                raise QuorumError(f"topic {name}: not within {timeout_s:g} s: {reason}")
            time.sleep(RETRY_S)


def _active(client: Client) -> Address | None:
    """Where the active controller is, as the first that answers says; None where it knows of none. Errors: ConnectError."""
    answer = client.request(messages.DescribeClusterRequest(endpoint_type=CONTROLLERS))
    if answer.error_code != NONE:
        raise RefusedError("DescribeCluster", answer.error_code, answer.error_message)
    return next((Address(node.host, node.port) for node in answer.brokers if node.broker_id == answer.controller_id), None)


def topic_request(
    name: str, partitions: int, replication_factor: int, configs: Mapping[str, str] | None, timeout_s: float
) -> messages.CreateTopicsRequest:
    """What makes one topic."""
    config = messages.CreateTopicsRequest.CreatableTopicConfig
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=tuple(config(name=key, value=value) for key, value in (configs or {}).items()),
    )
    return messages.CreateTopicsRequest(topics=(topic,), timeout_ms=int(timeout_s * 1000))


def topic_id_of(answer: Any) -> bytes:
    """The id of a topic that was made. Errors: RefusedError for one that was not."""
    if answer.error_code != NONE:
        raise RefusedError(f"topic {answer.name}", answer.error_code, answer.error_message)
    return bytes(answer.topic_id)
