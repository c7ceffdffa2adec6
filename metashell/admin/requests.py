"""What is known of a request before it is sent: its API's name and age, and whether it may be sent twice.

Source: the request schemas of Kafka 4.4.0 and the releases in which each API or listener was added to them; KIP-919 (controllers).
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from metashell.codec.dispatch import REQUESTS


class Since(NamedTuple):
    """The first releases whose brokers, and whose controllers, answer an API; empty where these never do."""

    brokers: str
    controllers: str = ""


SINCE: Final[dict[int, Since]] = {
    2: Since("0.8"),
    3: Since("0.8"),
    9: Since("0.8.2"),
    10: Since("0.8.2"),
    15: Since("0.9"),
    16: Since("0.9"),
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
    69: Since("3.7"),
    75: Since("3.7"),
    77: Since("4.0"),
    80: Since("3.9", "3.9"),
    81: Since("3.9", "3.9"),
    89: Since("4.1"),
    94: Since("4.4", "4.4"),
}
"""By api key."""

_LITERAL: Final = 3
_ANY_RESOURCE: Final = 1
_READS: Final = frozenset({2, 3, 9, 10, 15, 16, 18, 29, 32, 35, 46, 48, 50, 55, 60, 69, 75, 77, 89})
_TWICE_IS_ONCE: Final = frozenset({30, 44, 49, 51})
"""CreateAcls, IncrementalAlterConfigs, AlterClientQuotas, AlterUserScramCredentials say what shall then be so. What a second CreateTopics,
UpdateFeatures or AlterPartitionReassignments does depends on what others have done meanwhile."""


def api_name(key: int) -> str:
    """The name of an API: `DescribeCluster`."""
    return REQUESTS.get(key, f"api key {key}").removesuffix("Request")


def java_api_name(key: int) -> str:
    """Its name in Kafka's messages: `DESCRIBE_CLUSTER`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api_name(key)).upper()


def is_change(key: int, request: Any) -> bool:
    """Whether a request changes something."""
    return key not in _READS and not getattr(request, "validate_only", False)


def may_repeat(key: int, request: Any) -> bool:
    """Whether a request may be sent again when nobody knows whether it was carried out; no, where nothing says so."""
    match key:
        case 20:
            # A topic of the same name may have been made meanwhile; one with the same id cannot.
            return all(topic.name is None for topic in request.topics) and not request.topic_names
        case 31:
            return all(map(_is_exact, request.filters))
        case _:
            return key in _READS or key in _TWICE_IS_ONCE or bool(getattr(request, "validate_only", False))


def _is_exact(acl: Any) -> bool:
    """Whether a filter of DeleteAcls names one binding."""
    is_named = None not in (acl.resource_name_filter, acl.principal_filter, acl.host_filter)
    kinds = (acl.resource_type_filter, acl.operation, acl.permission_type)
    return is_named and _ANY_RESOURCE not in kinds and acl.pattern_type_filter >= _LITERAL


def lacks(key: int, *, of_brokers: bool) -> tuple[str, str]:
    """What to say of a peer that lacks an API, after its address, and the first release of its kind that has it."""
    name, since = api_name(key), SINCE.get(key, Since(""))
    release = since.brokers if of_brokers else since.controllers
    if release:
        return f"does not have {name}, which {'brokers' if of_brokers else 'controllers'} have since Kafka {release}", release
    if of_brokers or not since.brokers:
        return f"does not have {name}", ""
    return f"is a controller, and controllers do not answer {name}: use --bootstrap-server", ""
