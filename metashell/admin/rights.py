"""Which right a question or a change needs, by api key: what to ask an administrator for when it is missing.

Source: kafka.server.KafkaApis, ControllerApis of 4.4.0; the table of operations in Kafka's documentation of its authorizer.
"""

from __future__ import annotations

from typing import Final

from metashell.codec import error_codes as codes

REFUSALS: Final = frozenset({codes.CLUSTER_AUTHORIZATION_FAILED, codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED})
"""The codes of answers to who lacks a right."""

_ON_CLUSTER: Final = "{} on the cluster"
_NEEDED: Final = {
    2: "DESCRIBE on the topic",
    3: "DESCRIBE on the topic",
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
    43: _ON_CLUSTER.format("ALTER"),
    44: "ALTER_CONFIGS on the topic or group, or on the cluster for brokers",
    45: _ON_CLUSTER.format("ALTER"),
    46: _ON_CLUSTER.format("DESCRIBE"),
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
    94: _ON_CLUSTER.format("ALTER"),
}
"""DescribeCluster needs one at controllers only, and that is the only place where it can be refused."""


def right_for(key: int) -> str:
    """The right that an API needs, empty where that is not known here: `DESCRIBE on the cluster`."""
    return _NEEDED.get(key, "")
