"""What is known of a request before it is sent: its API's name and age, and whether it may be sent twice.

Source: the request schemas of Kafka 4.3.1 and the releases in which each API or listener was added to them; KIP-919 (controllers).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.codec.dispatch import REQUESTS


class Since(NamedTuple):
    """The first releases whose brokers, and whose controllers, answer an API; empty where these never do."""

    brokers: str
    controllers: str = ""


SINCE: Final[dict[int, Since]] = {
    3: Since("0.8"),
    18: Since("0.10", "2.8"),
    19: Since("0.10.1", "3.0"),
    20: Since("0.10.1", "3.0"),
    29: Since("0.11", "3.7"),
    30: Since("0.11", "3.2"),
    31: Since("0.11", "3.2"),
    32: Since("0.11", "3.7"),
    35: Since("1.0"),
    37: Since("1.0", "3.0"),
    43: Since("2.2", "3.0"),
    44: Since("2.3", "2.8"),
    45: Since("2.4", "3.0"),
    46: Since("2.4", "3.0"),
    48: Since("2.6"),
    49: Since("2.6", "2.8"),
    50: Since("2.7"),
    51: Since("2.7", "3.5"),
    55: Since("3.3", "3.0"),
    57: Since("2.7", "3.3"),
    60: Since("2.8", "3.7"),
    64: Since("2.8", "2.8"),
    75: Since("3.7"),
    80: Since("3.9", "3.9"),
    81: Since("3.9", "3.9"),
}
"""By api key."""

_TWICE_IS_NOT_ONCE: Final = frozenset({19, 20, 37, 64, 80, 81})
"""CreateTopics, DeleteTopics, CreatePartitions, UnregisterBroker, AddRaftVoter, RemoveRaftVoter: the second time is an error, or, with a
topic that somebody made again meanwhile, a loss. Everything else reads, or sets what is then so."""


def api_name(key: int) -> str:
    """The name of an API: `DescribeCluster`."""
    return REQUESTS.get(key, f"api key {key}").removesuffix("Request")


def may_repeat(key: int, request: Any) -> bool:
    """Whether a request may be sent again when nobody knows whether it was carried out."""
    return key not in _TWICE_IS_NOT_ONCE or bool(getattr(request, "validate_only", False))


def lacks(key: int, *, of_brokers: bool) -> tuple[str, str]:
    """What to say of a peer that lacks an API, after its address, and the first release of its kind that has it."""
    name, since = api_name(key), SINCE.get(key, Since(""))
    release = since.brokers if of_brokers else since.controllers
    if release:
        return f"does not have {name}, which {'brokers' if of_brokers else 'controllers'} have since Kafka {release}", release
    if of_brokers or not since.brokers:
        return f"does not have {name}", ""
    return f"is a controller, and controllers do not answer {name}: use --bootstrap-server", ""
