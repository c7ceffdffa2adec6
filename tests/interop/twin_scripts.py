"""Histories that random ones have found, or hardly find: each request is sent to a real controller and to ours."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.interop.real_controllers import CLUSTER_ID, Format
from tests.interop.twin_history import own_uuid, supported

Ask = tuple[Any, ...]
"""(API, version, fields), and the principal that a broker hands it on for."""
NEWEST = Format()
OLDEST = Format("3.3-IV3", is_static=True)


class Script(NamedTuple):
    """Requests, in order, to a controller that is formatted and configured so."""

    asked: list[Ask]
    kind: Format = NEWEST
    settings: dict[str, str] = {}  # noqa: RUF012 - a tuple's default


def broker(**over: Any) -> Ask:
    fields = {
        "brokerId": 1,
        "clusterId": CLUSTER_ID,
        "incarnationId": own_uuid("1"),
        "listeners": [listener("h", 9092)],
        "features": supported(),
        "logDirs": [own_uuid("d")],
        "previousBrokerEpoch": -1,
    }
    return "BrokerRegistration", 4, {**fields, **over}


def listener(host: str, port: int) -> dict[str, Any]:
    return {"name": "PLAINTEXT", "host": host, "port": port, "securityProtocol": 0}


def kraft(level: int, kind: int) -> Ask:
    return (
        "UpdateFeatures",
        2,
        {"featureUpdates": [{"feature": "kraft.version", "maxVersionLevel": level, "upgradeType": kind}], "timeoutMs": 60000},
    )


def configs(kind: int, name: str, *changes: tuple[str, int, str | None]) -> Ask:
    made = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in changes]
    return "IncrementalAlterConfigs", 1, {"resources": [{"resourceType": kind, "resourceName": name, "configs": made}]}


def settings(kind: int, name: str, **values: str) -> Ask:
    return configs(kind, name, *((key.replace("_", "."), 0, value) for key, value in values.items()))


def described(kind: int, name: str, *names: str) -> Ask:
    asked = {"resourceType": kind, "resourceName": name, "configurationKeys": list(names)}
    return "DescribeConfigs", 4, {"resources": [asked], "includeSynonyms": True, "includeDocumentation": True}


def acl(**over: Any) -> dict[str, Any]:
    fields = {"resourceType": 2, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a", "host": "*", "operation": 3}
    return {**fields, "permissionType": 3, **over}


def acl_filter(**over: Any) -> dict[str, Any]:
    anything = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "principalFilter": None, "hostFilter": None}
    return {**anything, "operation": 1, "permissionType": 1, **over}


def token(*kinds: str) -> Ask:
    renewers = [{"principalType": kind, "principalName": "x"} for kind in kinds]
    return "CreateDelegationToken", 3, {"renewers": renewers, "maxLifetimeMs": -1}, "alice"


def scram(deletions: list[tuple[str, int]], upsertions: list[tuple[str, int]]) -> Ask:
    common = {"iterations": 4096, "salt": "c2FsdA==", "saltedPassword": "cHBwcHBwcHA="}
    return (
        "AlterUserScramCredentials",
        0,
        {
            "deletions": [{"name": name, "mechanism": mechanism} for name, mechanism in deletions],
            "upsertions": [{"name": name, "mechanism": mechanism, **common} for name, mechanism in upsertions],
        },
    )


def quotas(*entries: tuple[dict[str, str | None], list[tuple[str, float]]]) -> Ask:
    made = [
        {
            "entity": [{"entityType": kind, "entityName": name} for kind, name in entity.items()],
            "ops": [{"key": key, "value": value, "remove": False} for key, value in ops],
        }
        for entity, ops in entries
    ]
    return "AlterClientQuotas", 1, {"entries": made}


TOPIC: Ask = (
    "CreateTopics",
    7,
    {
        "topics": [
            {
                "name": "t",
                "numPartitions": -1,
                "replicationFactor": -1,
                "assignments": [{"partitionIndex": 0, "brokerIds": [1]}],
                "configs": [],
            }
        ],
        "timeoutMs": 60000,
    },
)
NOTHING = {"topics": [], "timeoutMs": 0}
REMOTE = [
    *(settings(2, "t", **values) for values in (
        {"remote_storage_enable": "true"},
        {"local_retention_ms": "5", "retention_ms": "4"},
        {"local_retention_ms": "-1", "retention_ms": "4"},
        {"local_retention_ms": "4", "retention_ms": "4"},
        {"local_retention_bytes": "5", "retention_bytes": "4"},
        {"remote_log_copy_disable": "true", "local_retention_ms": "3"},
        {"remote_log_copy_disable": "true", "local_retention_ms": "4"},
        {"remote_log_copy_disable": "true", "local_retention_ms": "-2", "local_retention_bytes": "-2"},
        {"cleanup_policy": "compact"},
        {"cleanup_policy": ""},
        {"remote_storage_enable": "false"},
        {"remote_storage_enable": "false", "remote_log_delete_on_disable": "true"},
        {"remote_storage_enable": "no"},
    )),
    configs(2, "t", ("remote.storage.enable", 1, None)),
]  # fmt: skip
LARGE = {"more ACLs than a request may remove", "more settings than a request may change", "more quotas than a request may set"}
"""Scripts that take seconds."""
SCRIPTS: dict[str, Script] = {
    "endpoints without host or port": Script(
        [
            broker(listeners=[listener("h", 0)]),
            broker(listeners=[listener("", 9)]),
            broker(listeners=[]),
            broker(listeners=[listener("h", 65535)]),
        ]
    ),
    "kraft.version of a dynamic quorum stays": Script([kraft(1, 1), kraft(1, 2), kraft(1, 3), kraft(0, 2), kraft(2, 1)]),
    "kraft.version of a static quorum stays": Script([kraft(0, 1), kraft(0, 2), kraft(0, 3)], OLDEST),
    "no items at all, and too late": Script(
        [
            *((api, version, NOTHING) for api, version in (("CreateTopics", 7), ("CreatePartitions", 3), ("DeleteTopics", 6))),
            *((api, version, NOTHING) for api, version in (("AlterPartitionReassignments", 1), ("ListPartitionReassignments", 0))),
            ("AlterPartition", 3, {"brokerId": 1, "brokerEpoch": 5, "topics": []}),
            ("AssignReplicasToDirs", 0, {"brokerId": 1, "brokerEpoch": 5, "directories": []}),
            ("UpdateFeatures", 1, {"featureUpdates": [], "timeoutMs": 0}),
            ("ElectLeaders", 2, {"electionType": 7, "topicPartitions": [], "timeoutMs": 0}),
            ("ElectLeaders", 2, {"electionType": 7, "topicPartitions": None, "timeoutMs": 0}),
            ("ElectLeaders", 2, {"electionType": 7, "topicPartitions": None, "timeoutMs": 60000}),
        ]
    ),
    "tokens without a secret": Script([token("Group"), token("User")]),
    "tokens before their level": Script([token("Group"), token("User")], OLDEST, {"delegation.token.secret.key": "x"}),
    "tokens": Script([token("Group"), token("User"), token()], settings={"delegation.token.secret.key": "x"}),
    "users that come twice": Script(
        [
            scram([], [("a", 1), ("b", 1), ("a", 1)]),
            scram([], [("b", 0), ("b", 1)]),
            scram([("a", 1)], [("a", 1)]),
            scram([("b", 1), ("b", 1), ("b", 1)], [("b", 1)]),
            scram([("", 1), ("", 1)], [("c", 2), ("c", 5)]),
        ]
    ),
    "codes of ACL filters that nobody knows": Script(
        [
            ("CreateAcls", 3, {"creations": [acl(), acl(resourcePatternType=4), acl(permissionType=2)]}),
            *(
                (api, 3, {"filters": [acl_filter(), acl_filter(**over)], **acl_filter(**over)})
                for api in ("DescribeAcls", "DeleteAcls")
                for over in ({"resourceTypeFilter": 9}, {"patternTypeFilter": 9}, {"operation": 20}, {"permissionType": 7})
            ),
        ]
    ),
    "more ACLs than a request may remove": Script(
        [
            *(("CreateAcls", 3, {"creations": [acl(resourceName=f"{part}-{at}") for at in range(5001)]}) for part in range(2)),
            ("DeleteAcls", 3, {"filters": [acl_filter(resourceNameFilter="0-1"), acl_filter()]}),
            ("CreateAcls", 3, {"creations": [acl(resourceName=f"more-{at}") for at in range(10001)]}),
        ]
    ),
    "more settings than a request may change": Script([configs(4, "", *((f"k{at}", 0, "v") for at in range(10001)))]),
    "more quotas than a request may set": Script([quotas(*(({"user": f"u{at}"}, [("producer_byte_rate", 1.0)]) for at in range(10001)))]),
    "order of quota keys": Script(
        [
            quotas(({"user": "a", "ip": "10.0.0.1"}, [("connection_creation_rate", 1.0)]), ({"user": "a", "ip": "10.0.0.1"}, [])),
            quotas(({"client-id": None, "user": "a"}, [("nope", 1.0), ("producer_byte_rate", -1.0), ("request_percentage", 0.0)])),
            quotas(({"ip": "10.0.0.1"}, [("connection_creation_rate", 1.0), ("connection_creation_rate", 1.0)])),
            quotas(({"ip": "10.0.0.1"}, [("producer_byte_rate", 1.0), ("consumer_byte_rate", 1.0), ("nope", 0.0)])),
        ]
    ),
    "settings of groups": Script(
        [
            described(32, "g"),
            settings(32, "g", consumer_session_timeout_ms="46000"),
            settings(4, "", group_consumer_heartbeat_interval_ms="6000"),
            described(32, "g"),
            described(32, ""),
            settings(32, "g", consumer_session_timeout_ms="50001"),
            settings(32, "g", share_heartbeat_interval_ms="3999"),
            settings(32, "g", streams_num_standby_replicas="2"),
            settings(32, "g", consumer_session_timeout_ms="5000"),
        ],
        settings={
            "group.consumer.session.timeout.ms": "47000",
            "group.consumer.max.session.timeout.ms": "50000",
            "group.share.min.heartbeat.interval.ms": "4000",
            "group.streams.max.standby.replicas": "1",
        },
    ),
    "settings of brokers that a running node does not take": Script(
        [
            settings(4, "", unclean_leader_election_enable="no", log_retention_ms="x", nope="1", broker_id="7"),
            described(4, ""),
            described(4, "3000", "unclean.leader.election.enable", "log.retention.ms", "nope", "broker.id"),
            described(4, "7"),
            described(4, "x"),
            described(8, "7"),
            described(3, "g"),
        ]
    ),
    "tiered storage": Script([broker(), TOPIC, *REMOTE], settings={"remote.log.storage.system.enable": "true"}),
    "tiered storage where there is none": Script([broker(), TOPIC, *REMOTE[:2]]),
    "who may alter the cluster but not describe it": Script(
        [
            (
                "CreateAcls",
                3,
                {
                    "creations": [
                        acl(resourceType=4, resourceName="kafka-cluster", principal="User:*", operation=8, permissionType=2),
                        acl(resourceType=4, resourceName="kafka-cluster", principal="User:*", operation=7),
                    ]
                },
            ),
            ("DescribeCluster", 1, {"endpointType": 2, "includeClusterAuthorizedOperations": True}),
            ("ListPartitionReassignments", 0, {"topics": [{"name": "t", "partitionIndexes": [0, 1]}], "timeoutMs": 60000}),
            ("DescribeAcls", 3, acl_filter()),
        ],
        settings={"super.users": "", "allow.everyone.if.no.acl.found": "true"},
    ),
}
