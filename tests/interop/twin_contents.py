"""What histories of twins are made of: brokers, topics, values that settings may have, kinds of controllers."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from metashell.common.values import uuid_text
from metashell.quorum.controller.settings import ConfigKey, config_keys
from tests.interop.real_controllers import Format
from tests.quorum.controller.canon import NODE

BROKERS = (1, 2, 3, 4)
TOPICS = ("t", "u", "v.w", "x-y")
UNASSIGNED, LOST = uuid_text(bytes(15) + b"\x01"), uuid_text(bytes(15) + b"\x02")
SECRET = {"delegation.token.secret.key": "secret"}
RAFT = {"DescribeQuorum", "AddRaftVoter", "RemoveRaftVoter"}
GROUP_BOUNDS = {
    "group.consumer.max.session.timeout.ms": "50000",
    "group.consumer.session.timeout.ms": "46000",
    "group.share.min.heartbeat.interval.ms": "4000",
    "group.streams.max.standby.replicas": "1",
}
KINDS: tuple[tuple[Format, dict[str, str]], ...] = (
    (Format(), {}),
    (Format(features=("eligible.leader.replicas.version=0",)), {}),
    (Format("4.0-IV3", ("eligible.leader.replicas.version=1",)), {}),
    (Format("3.9-IV0", is_static=True), {}),
    (Format("3.3-IV3", is_static=True), {}),
    (Format("3.7-IV1", is_static=True), {}),
    (Format("4.3-IV0"), {"min.insync.replicas": "2", "default.replication.factor": "2", "num.partitions": "2"}),
    (Format(), {"unclean.leader.election.enable": "true", "delete.topic.enable": "false"}),
    (Format("3.6-IV2", is_static=True), {}),
    (Format("4.1-IV1"), {"allow.everyone.if.no.acl.found": "true"}),
    (Format(), {"super.users": "User:ANONYMOUS;User:alice", "remote.log.storage.system.enable": "true"}),
    (Format(), {"super.users": "", "allow.everyone.if.no.acl.found": "true"}),
    (Format("4.2-IV1"), GROUP_BOUNDS),
)
"""What directories are formatted for, and how controllers are configured."""
SETTINGS = {"controller.quorum.election.timeout.ms": "100", "controller.quorum.election.backoff.max.ms": "50", **SECRET}
REPLICAS = st.one_of(
    st.permutations(BROKERS).flatmap(lambda ids: st.integers(1, 3).map(lambda count: list(ids[:count]))),
    st.permutations(BROKERS).flatmap(lambda ids: st.integers(2, 3).map(lambda count: list(ids[:count]))),
    st.permutations(BROKERS[:3]).map(list),
    st.sampled_from([[], [99], [1, 1], [-1], [2, 1, 4, 3]]),
)
VALUES = {
    "min.insync.replicas": ["1", "2", "3", "0", None, "x"],
    "unclean.leader.election.enable": ["true", "false", None, "TRUE", "no"],
    "retention.ms": ["1", "-1", "9", None, "-2", "1e3"],
    "cleanup.policy": ["compact", "delete", "compact,delete", "", None, "burn"],
    "interval.ms": ["1000", "99", "100", None, "3600001"],
    "match": ["client_id=x.*", "client_id=[", "what", None],
    "consumer.session.timeout.ms": ["45000", "1", "60000", None],
    "num.io.threads": ["1", "0", "9", None],
}
NUMBERS = [0, 1, -1, -2, 2, 5, 100, 1000, 4096, 30000, 45000, 60000, 3600000, 1 << 31, (1 << 31) - 1, 1 << 63, (1 << 63) - 1, -(1 << 63)]
TEXTS = {
    "BOOLEAN": ["true", "false", "True", " false ", "yes", ""],
    "LIST": ["", "a", "a,b", " a , b ", "delete", "compact", "delete,compact", "delete,delete", ",", "a,,b"],
    "STRING": [
        "",
        "producer",
        "gzip",
        "CreateTime",
        "LogAppendTime",
        "latest",
        "earliest",
        "by_duration:PT1H",
        "none",
        "classic",
        "read_committed",
    ],
    "DOUBLE": ["0.5", "0", "1", "1.0001", "-0.1", "NaN", "1e-3", "Infinity", "0x1p1", "0.5d", "half"],
}
ODD_NUMBERS = ["", " 7 ", "+7", "007", "1.0", "1_0", "0x10", "٣", "1e3", "7L", "seven", "-0", "\u00a07"]
ODD_VALUES = ["1", "", None, "true", "x", "compact", " 1 "]
TOPIC_KEYS = ["min.insync.replicas", "unclean.leader.election.enable", "retention.ms", "cleanup.policy", "nope", "compression.type"]
BROKER_KEYS = [
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "num.io.threads",
    "log.cleanup.policy",
    "nope",
    "log.retention.ms",
    "broker.id",
]
METRICS_KEYS = ["interval.ms", "match", "metrics", "nope"]
GROUP_KEYS = [
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "share.auto.offset.reset",
    "streams.num.standby.replicas",
    "nope",
]
RESOURCES: list[tuple[int, str, list[str]]] = [
    *((2, name, TOPIC_KEYS) for name in (*TOPICS, "nope", "")),
    *((4, name, BROKER_KEYS) for name in ("", "1", "2", str(NODE), "99", "x")),
    *((16, name, METRICS_KEYS) for name in ("m", "")),
    *((32, name, GROUP_KEYS) for name in ("g", "")),
    (8, "1", ["org.apache.kafka", "nope"]),
    (3, "g", ["x"]),
]
TOPIC_CONFIG = st.sampled_from(TOPIC_KEYS[:4]).flatmap(
    lambda key: st.sampled_from(VALUES[key]).map(lambda value: {"name": key, "value": value})
)
ENTITY = st.sampled_from(
    [
        *((kind, name) for kind in ("user", "client-id") for name in ("a", None, "")),
        ("ip", "10.0.0.1"),
        ("ip", None),
        ("ip", "?"),
        ("group", "g"),
    ]
)
QUOTA = st.tuples(
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate", "nope"]),
    st.sampled_from([1.0, 2.5, 0.0, -1.0, 100.0, math.inf, -math.inf]),
    st.sampled_from([False, False, True]),
)
HOSTS = ["*", "127.0.0.1", "10.0.0.1", "*", "127.0.0.0/8", "10.0.0.0/33", "::1/128", "0.0.0.0/0", "x/8"]
USER = st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from([1, 2, 0, 3]))
FEATURES = [
    "metadata.version",
    "metadata.version",
    "group.version",
    "transaction.version",
    "eligible.leader.replicas.version",
    "share.version",
    "streams.version",
    "kraft.version",
    "nope",
]


def value_of(key: ConfigKey) -> st.SearchStrategy[str | None]:
    """A value that fits the type of a setting, or nearly."""
    if key.type in ("INT", "SHORT", "LONG"):
        near = [] if key.default is None else [int(key.default) - 1, int(key.default), int(key.default) + 1]
        return st.sampled_from([None, *map(str, [*NUMBERS, *near]), *ODD_NUMBERS])
    return st.sampled_from([None, *TEXTS.get(key.type, TEXTS["STRING"]), *TEXTS["STRING"][:3]])


EVERY_SETTING: list[tuple[tuple[int, str], ConfigKey]] = [
    *(((2, "t"), key) for key in config_keys("topic").values()),
    *(((32, "g"), key) for key in config_keys("group").values()),
    *(((16, "m"), key) for key in config_keys("client_metrics").values()),
]
# By its place: hypothesis refuses to print a strategy of all of them.
ANY_SETTING = st.integers(0, len(EVERY_SETTING) - 1).map(lambda at: EVERY_SETTING[at])
