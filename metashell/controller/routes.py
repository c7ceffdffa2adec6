"""Which function decides about which request, at which versions, and what a sender needs to be allowed.

Source: controller.md 32.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.controller import (
    acls,
    brokers,
    client_quotas,
    cluster_answers,
    configs,
    controllers,
    describe_configs,
    directories,
    elections,
    features,
    isr,
    producer_ids,
    reassignment,
    scram,
    tokens,
    topic_deletion,
    topic_growth,
    topics,
)
from metashell.controller.authorizer import Operation
from metashell.controller.decision import Decision
from metashell.controller.request import Request
from metashell.controller.state import State

Decide = Callable[[State, Request, int], Decision]
Refuse = Callable[[Request, int, str | None], Any]


NOT_AUTHORIZED: Final = "Request Request(processor=0, ...) is not authorized."
"""Kafka shows the whole request, as its own memory has it."""
CLUSTER_REFUSED: Final = "Cluster authorization failed."


class Route(NamedTuple):
    """One API.

    Shape: `right` is what the cluster has to allow before anything else is looked at, None where the function asks for finer rights
    itself; `refuse` makes the answer that refuses the whole request.
    """

    name: str
    versions: tuple[int, int]
    decide: Decide
    refuse: Refuse
    right: Operation | None = None
    refusal: str = NOT_AUTHORIZED
    is_write: bool = True


def _top_level(name: str) -> Refuse:
    """Answers with an error code, and where the response has one a message, at the top."""

    def refuse(request: Request, code: int, message: str | None) -> Any:
        made = getattr(messages, name + "Response")(error_code=code)
        if hasattr(made, "error_message"):
            made.error_message = message
        return made

    return refuse


_ACTION = Operation.CLUSTER_ACTION
_ALTER = Operation.ALTER
_DESCRIBE = Operation.DESCRIBE


def _ask_raft(state: State, request: Request, now_ms: int) -> Decision:
    """What raft answers; here it is only held against the rights of the sender."""
    return Decision(None)


ROUTES: Final[dict[int, Route]] = {
    18: Route("ApiVersions", (0, 4), cluster_answers.api_versions, cluster_answers.refuse_api_versions, is_write=False),
    19: Route("CreateTopics", (2, 7), topics.create, topics.refuse_create),
    20: Route("DeleteTopics", (1, 6), topic_deletion.delete, topic_deletion.refuse),
    29: Route("DescribeAcls", (1, 3), acls.describe, _top_level("DescribeAcls"), _DESCRIBE, is_write=False),
    30: Route("CreateAcls", (1, 3), acls.create, acls.refuse_create, _ALTER),
    31: Route("DeleteAcls", (1, 3), acls.delete, acls.refuse_delete, _ALTER),
    32: Route("DescribeConfigs", (1, 4), describe_configs.describe, describe_configs.refuse, is_write=False),
    33: Route("AlterConfigs", (0, 2), configs.alter, configs.refuse),
    37: Route("CreatePartitions", (0, 3), topic_growth.create_partitions, topic_growth.refuse),
    38: Route("CreateDelegationToken", (1, 3), tokens.create, tokens.refuse_create),
    39: Route("RenewDelegationToken", (1, 2), tokens.renew, tokens.refuse_renew),
    40: Route("ExpireDelegationToken", (1, 2), tokens.expire, tokens.refuse_expire),
    43: Route("ElectLeaders", (0, 2), elections.elect_leaders, elections.refuse, _ALTER),
    44: Route("IncrementalAlterConfigs", (0, 1), configs.alter_incrementally, configs.refuse_incremental),
    45: Route("AlterPartitionReassignments", (0, 1), reassignment.alter_reassignments, reassignment.refuse, _ALTER),
    46: Route(
        "ListPartitionReassignments",
        (0, 0),
        reassignment.list_reassignments,
        _top_level("ListPartitionReassignments"),
        _DESCRIBE,
        is_write=False,
    ),
    49: Route("AlterClientQuotas", (0, 1), client_quotas.alter, client_quotas.refuse, Operation.ALTER_CONFIGS, CLUSTER_REFUSED),
    51: Route("AlterUserScramCredentials", (0, 0), scram.alter, scram.refuse, _ALTER),
    55: Route("DescribeQuorum", (0, 2), _ask_raft, _top_level("DescribeQuorum"), _DESCRIBE, CLUSTER_REFUSED, is_write=False),
    56: Route("AlterPartition", (2, 3), isr.alter_partition, _top_level("AlterPartition"), _ACTION),
    57: Route("UpdateFeatures", (0, 2), features.update, features.refuse, _ALTER),
    60: Route(
        "DescribeCluster",
        (0, 2),
        cluster_answers.describe_cluster,
        cluster_answers.refuse_describe_cluster,
        _ALTER,
        is_write=False,
    ),
    62: Route("BrokerRegistration", (0, 4), brokers.register, _top_level("BrokerRegistration"), _ACTION),
    63: Route("BrokerHeartbeat", (0, 2), brokers.heartbeat, _top_level("BrokerHeartbeat"), _ACTION),
    64: Route("UnregisterBroker", (0, 0), brokers.unregister, _top_level("UnregisterBroker"), _ALTER),
    67: Route("AllocateProducerIds", (0, 0), producer_ids.allocate, _top_level("AllocateProducerIds"), _ACTION),
    70: Route("ControllerRegistration", (0, 0), controllers.register, _top_level("ControllerRegistration"), _ACTION, CLUSTER_REFUSED),
    80: Route("AddRaftVoter", (0, 1), _ask_raft, _top_level("AddRaftVoter"), _ALTER, CLUSTER_REFUSED, is_write=False),
    81: Route("RemoveRaftVoter", (0, 0), _ask_raft, _top_level("RemoveRaftVoter"), _ALTER, CLUSTER_REFUSED, is_write=False),
    73: Route("AssignReplicasToDirs", (0, 0), directories.assign, directories.refuse, _ACTION),
}
