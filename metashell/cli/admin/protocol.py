"""Facts about the protocol that need no connection: errors, nodes, and the name, first release and required right of each API.

`may_repeat` decides whether a request may be sent twice. `right_for` names the right that a refused user has to ask for.

Source: the request schemas of Kafka 4.4.0 and the releases in which each API or listener was added to them; KIP-919 (controllers);
kafka.server.KafkaApis, ControllerApis of 4.4.0; the table of operations in Kafka's documentation of its authorizer."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final, NamedTuple

from metashell.codec import error_codes as codes
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import error_message
from metashell.common.errors import MetashellError
from metashell.net.addresses import Address

BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
"""The codes of DescribeCluster for the two kinds of listeners."""


class Kind(Enum):
    """The kind of node at the addresses that a cluster is reached by."""

    BROKERS = "brokers"
    CONTROLLERS = "controllers"

    @property
    def noun(self) -> str:
        """The word for one node of the kind."""
        return "broker" if self is Kind.BROKERS else "controller"


class Node(NamedTuple):
    """A broker or a controller. `rack` is None if it has none; only brokers can be fenced."""

    id: int
    address: Address
    rack: str | None = None
    is_fenced: bool = False


class AdminError(MetashellError):
    """The cluster answered with an error: `orders: TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.`

    `code` is Kafka's number and `name` its name; `words` is the message of the answer, or else Kafka's message for the code; `thing` is the
    subject of the error, empty for the cluster as a whole. The caller may set `right`, the missing right (`Admin.right_refused`), and
    `was_asked_again`, if the request was sent twice (`Admin.again`): `remark` then explains it. The code alone does not tell what to do
    about an error; `metashell.cli.cluster.live_facts` asks the checks.
    """

    def __init__(self, code: int, message: str | None = None, thing: str = "") -> None:
        self.code = code
        self.name = codes.error_name(code)
        self.words = message or error_message(code)
        self.thing = thing
        self.right = ""
        self.was_asked_again = False
        # The message of a controller's refusal can be only the request as Java prints it: show Kafka's message for the code.
        words = error_message(code) if self.words.startswith("Request Request(") else self.words
        super().__init__(": ".join(part for part in (thing, self.name, words) if part))

    @property
    def remark(self) -> str:
        """A sentence on a repeated request or a missing right; empty if there is nothing to add."""
        if self.was_asked_again and self.code in _OWN_WORK:
            return _ASKED_AGAIN
        return f"It needs the right {self.right}." if self.right and self.code in REFUSALS else ""


def check_answer(code: int, message: str | None = None, thing: str = "") -> None:
    """Raise AdminError for a code that is not NONE."""
    if code != codes.NONE:
        raise AdminError(code, message, thing)


class WrongListenerError(MetashellError):
    """An address is a broker's where a controller's is needed, or the other way round."""


class UnsupportedError(MetashellError):
    """The cluster lacks an API, or a version of it; `api` is its name, `since` the first release that has it, if known.

    `java` is the message of the exception that Kafka's own client raises.
    """

    def __init__(self, message: str, *, api: str, since: str = "", java: str = "") -> None:
        super().__init__(message)
        self.api = api
        self.since = since
        self.java = java or message


class UncertainError(MetashellError):
    """The connection broke after a change was sent: it may or may not have been made."""


_OWN_WORK: Final = frozenset(
    {
        codes.TOPIC_ALREADY_EXISTS,
        codes.UNKNOWN_TOPIC_OR_PARTITION,
        codes.INVALID_PARTITIONS,
        codes.RESOURCE_NOT_FOUND,
        codes.BROKER_ID_NOT_REGISTERED,
        codes.CONTROLLER_ID_NOT_REGISTERED,
        codes.DUPLICATE_VOTER,
        codes.VOTER_NOT_FOUND,
    }
)
"""The codes that answer a change that was already made."""
_ASKED_AGAIN: Final = "It was asked for twice, since the controller or the connection was lost: the first time may have done it. Look."


REFUSALS: Final = frozenset({codes.CLUSTER_AUTHORIZATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED})
"""The error codes of a missing right."""

_ON_CLUSTER: Final = "{} on the cluster"
_NEEDED: Final = {
    2: "DESCRIBE on the topic",
    3: "DESCRIBE on the topic",
    8: "READ on the group, and on the topic",
    9: "DESCRIBE on the group",
    10: "DESCRIBE on the group",
    15: "DESCRIBE on the group",
    16: "DESCRIBE on the group, or on the cluster",
    19: "CREATE on the cluster or on the topic",
    20: "DELETE on the topic",
    29: _ON_CLUSTER.format("DESCRIBE"),
    30: _ON_CLUSTER.format("ALTER"),
    31: _ON_CLUSTER.format("ALTER"),
    32: "DESCRIBE_CONFIGS on the topic or group, or on the cluster for brokers",
    35: _ON_CLUSTER.format("DESCRIBE"),
    37: "ALTER on the topic",
    42: "DELETE on the group",
    43: _ON_CLUSTER.format("ALTER"),
    44: "ALTER_CONFIGS on the topic or group, or on the cluster for brokers",
    45: _ON_CLUSTER.format("ALTER"),
    46: _ON_CLUSTER.format("DESCRIBE"),
    47: "DELETE on the group, and READ on the topic",
    48: _ON_CLUSTER.format("DESCRIBE_CONFIGS"),
    49: _ON_CLUSTER.format("ALTER_CONFIGS"),
    50: _ON_CLUSTER.format("DESCRIBE"),
    51: _ON_CLUSTER.format("ALTER"),
    55: _ON_CLUSTER.format("DESCRIBE"),
    57: _ON_CLUSTER.format("ALTER"),
    60: _ON_CLUSTER.format("ALTER"),
    64: _ON_CLUSTER.format("ALTER"),
    69: "DESCRIBE on the group, and on its topics",
    75: "DESCRIBE on the topic",
    77: "DESCRIBE on the group, and on its topics",
    80: _ON_CLUSTER.format("ALTER"),
    81: _ON_CLUSTER.format("ALTER"),
    89: "DESCRIBE on the group, and on its topics",
    90: "DESCRIBE on the group, and on its topics",
    91: "READ on the group, and on its topics",
    92: "DELETE on the group, and READ on the topic",
    94: _ON_CLUSTER.format("ALTER"),
}
"""The right that each API needs, by api key. Only controllers require, and so refuse, a right for DescribeCluster (60)."""


def right_for(key: int) -> str:
    """Return the right that an API needs, such as `DESCRIBE on the cluster`; empty if it is not in the table."""
    return _NEEDED.get(key, "")


class Since(NamedTuple):
    """The first releases whose brokers and whose controllers answer an API; empty if they never do."""

    brokers: str
    controllers: str = ""


SINCE: Final[dict[int, Since]] = {
    2: Since("0.8"),
    3: Since("0.8"),
    8: Since("0.8.2"),
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
    42: Since("1.1"),
    43: Since("2.2", "3.0"),
    44: Since("2.3", "2.8"),
    45: Since("2.4", "3.0"),
    46: Since("2.4", "3.0"),
    47: Since("2.4"),
    48: Since("2.6"),
    49: Since("2.6", "2.8"),
    50: Since("2.7"),
    51: Since("2.7", "3.5"),
    55: Since("3.3", "3.0"),
    57: Since("2.7", "3.3"),
    60: Since("2.8", "3.7"),
    64: Since("2.8", "2.8"),
    69: Since("3.8"),
    75: Since("3.8"),
    77: Since("4.1"),
    80: Since("3.9", "3.9"),
    81: Since("3.9", "3.9"),
    89: Since("4.2"),
    90: Since("4.1"),
    91: Since("4.1"),
    92: Since("4.1"),
    94: Since("4.4", "4.4"),
}
"""The first releases of each API, by api key. A release whose nodes offer it only with unstable.api.versions.enable does not count."""

_LITERAL: Final = 3
_ANY_RESOURCE: Final = 1
_READS: Final = frozenset({2, 3, 9, 10, 15, 16, 18, 29, 32, 35, 46, 48, 50, 55, 60, 69, 75, 77, 89, 90})
_TWICE_IS_ONCE: Final = frozenset({30, 44, 49, 51})
"""CreateAcls, IncrementalAlterConfigs, AlterClientQuotas and AlterUserScramCredentials state the result they want, so repeating one changes
nothing. The effect of a second CreateTopics, UpdateFeatures or AlterPartitionReassignments depends on other changes made meanwhile."""


def api_name(key: int) -> str:
    """Return the name of an API, such as `DescribeCluster`."""
    return REQUESTS.get(key, f"api key {key}").removesuffix("Request")


def java_api_name(key: int) -> str:
    """Return the name of an API in Kafka's messages, such as `DESCRIBE_CLUSTER`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", api_name(key)).upper()


def is_change(key: int, request: Any) -> bool:
    """Return whether a request changes something."""
    return key not in _READS and not getattr(request, "validate_only", False)


def may_repeat(key: int, request: Any) -> bool:
    """Return whether a request may be sent again if it is not known whether it was carried out; False for an API that is not listed."""
    match key:
        case 20:
            # A topic may have been created again under the same name meanwhile, but never with the same id.
            return all(topic.name is None for topic in request.topics) and not request.topic_names
        case 31:
            return all(map(_is_exact, request.filters))
        case _:
            return key in _READS or key in _TWICE_IS_ONCE or bool(getattr(request, "validate_only", False))


def _is_exact(acl: Any) -> bool:
    """Return whether a filter of DeleteAcls matches exactly one ACL."""
    is_named = None not in (acl.resource_name_filter, acl.principal_filter, acl.host_filter)
    kinds = (acl.resource_type_filter, acl.operation, acl.permission_type)
    return is_named and _ANY_RESOURCE not in kinds and acl.pattern_type_filter >= _LITERAL


def lacks(key: int, *, of_brokers: bool) -> tuple[str, str]:
    """Return the words for a peer that lacks an API, to follow its address, and the first release of its kind that has it, "" if none."""
    name, since = api_name(key), SINCE.get(key, Since(""))
    release = since.brokers if of_brokers else since.controllers
    if release:
        return f"does not have {name}, which {'brokers' if of_brokers else 'controllers'} have since Kafka {release}", release
    if of_brokers or not since.brokers:
        return f"does not have {name}", ""
    return f"is a controller, and controllers do not answer {name}: use --bootstrap-server", ""
