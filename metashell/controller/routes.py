"""Which function decides about which request, at which versions, and what a sender needs to be allowed.

Source: kafka.server.ControllerApis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.controller.access import acls, client_quotas, scram, tokens
from metashell.controller.access.authorizer import Operation
from metashell.controller.cluster import brokers, cluster_answers, controllers, features, producer_ids
from metashell.controller.configs import alteration, description
from metashell.controller.decision import Decision
from metashell.controller.partitions import directories, elections, isr, reassignment
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import Steps
from metashell.controller.topics import creation, deletion, growth

Decide = Callable[[State, Request, int], Decision | Steps[Decision]]
Refuse = Callable[[Request, int, str | None], Any]


CLUSTER_REFUSED: Final = "Cluster authorization failed."


class Route(NamedTuple):
    """One API.

    Shape: `right` is what the cluster has to allow before anything else is looked at, None where the function asks for finer rights
    itself; `refuse` makes the answer that refuses the whole request, for which `refusal` is another reason than the usual one.
    """

    decide: Decide
    refuse: Refuse
    right: Operation | None = None
    refusal: str | None = None
    is_write: bool = True

    @property
    def why_refused(self) -> str:
        """What is said to those who lack the right. Kafka shows the whole request, as its own memory has it."""
        assert self.right is not None, "nobody is refused"
        return self.refusal or f"Request Request(processor=0, ...) needs {self.right.name} permission."


def top_level(name: str) -> Refuse:
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
    18: Route(cluster_answers.api_versions, cluster_answers.refuse_api_versions, is_write=False),
    19: Route(creation.create, creation.refuse),
    20: Route(deletion.delete, deletion.refuse),
    29: Route(acls.describe, top_level("DescribeAcls"), _DESCRIBE, is_write=False),
    30: Route(acls.create, acls.refuse_create, _ALTER),
    31: Route(acls.delete, acls.refuse_delete, _ALTER),
    32: Route(description.describe, description.refuse, is_write=False),
    33: Route(alteration.alter, alteration.refuse),
    37: Route(growth.create_partitions, growth.refuse),
    38: Route(tokens.create, tokens.refuse_create),
    39: Route(tokens.renew, tokens.refuse_renew),
    40: Route(tokens.expire, tokens.refuse_expire),
    43: Route(elections.elect_leaders, elections.refuse, _ALTER),
    44: Route(alteration.alter_incrementally, alteration.refuse_incremental),
    45: Route(reassignment.alter_reassignments, reassignment.refuse, _ALTER),
    46: Route(reassignment.list_reassignments, reassignment.refuse_list, _DESCRIBE, is_write=False),
    49: Route(client_quotas.alter, client_quotas.refuse, Operation.ALTER_CONFIGS, CLUSTER_REFUSED),
    51: Route(scram.alter, scram.refuse, _ALTER),
    55: Route(_ask_raft, top_level("DescribeQuorum"), _DESCRIBE, CLUSTER_REFUSED, is_write=False),
    56: Route(isr.alter_partition, top_level("AlterPartition"), _ACTION),
    57: Route(features.update, features.refuse, _ALTER),
    60: Route(
        cluster_answers.describe_cluster,
        cluster_answers.refuse_describe_cluster,
        _ALTER,
        is_write=False,
    ),
    62: Route(brokers.register, top_level("BrokerRegistration"), _ACTION),
    63: Route(brokers.heartbeat, top_level("BrokerHeartbeat"), _ACTION),
    64: Route(brokers.unregister, top_level("UnregisterBroker"), _ALTER),
    67: Route(producer_ids.allocate, top_level("AllocateProducerIds"), _ACTION),
    70: Route(controllers.register, top_level("ControllerRegistration"), _ACTION, CLUSTER_REFUSED),
    80: Route(_ask_raft, top_level("AddRaftVoter"), _ALTER, CLUSTER_REFUSED, is_write=False),
    81: Route(_ask_raft, top_level("RemoveRaftVoter"), _ALTER, CLUSTER_REFUSED, is_write=False),
    73: Route(directories.assign, directories.refuse, _ACTION),
    94: Route(controllers.unregister, top_level("UnregisterController"), _ALTER),
}
