"""Who may ask what on a controller's listener, and what is forwarded in envelopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, NONE, NOT_CONTROLLER, UNKNOWN_SERVER_ERROR
from metashell.codec.registry import message_type
from metashell.net.frames import encode_request
from metashell.raft.wire.common import TOPIC
from tests.controller_server.quorum import Controllers, ask, client
from tests.server.quorum import eventually, run

STANDARD = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
NOBODY = {**STANDARD, "super.users": "User:someone"}
ANYBODY = {**STANDARD, "super.users": "User:ANONYMOUS"}

DESCRIBE = messages.DescribeQuorumRequest(
    topics=(
        messages.DescribeQuorumRequest.TopicData(
            topic_name=TOPIC, partitions=(messages.DescribeQuorumRequest.PartitionData(partition_index=0),)
        ),
    )
)
RAFT = (
    messages.VoteRequest(),
    messages.BeginQuorumEpochRequest(),
    messages.EndQuorumEpochRequest(),
    messages.FetchRequest(),
    messages.FetchSnapshotRequest(),
    messages.UpdateRaftVoterRequest(),
    DESCRIBE,
    messages.AddRaftVoterRequest(),
    messages.RemoveRaftVoterRequest(),
    messages.BrokerHeartbeatRequest(),
    messages.ControllerRegistrationRequest(),
)


@pytest.mark.parametrize("request_", RAFT, ids=lambda request: type(request).__name__)
def test_who_has_no_right_is_refused_also_by_raft(tmp_path: Path, request_: Any) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=NOBODY) as quorum:
            active = await quorum.active()
            await eventually(lambda: active.machine.is_caught_up)
            assert (await ask(active, request_)).error_code == CLUSTER_AUTHORIZATION_FAILED
            assert active.is_active

    run(main)


def test_before_the_log_was_read_nobody_but_super_users_has_a_right(tmp_path: Path) -> None:
    settings = {**NOBODY, "allow.everyone.if.no.acl.found": "true", "metadata.max.idle.interval.ms": 0}

    async def main() -> None:
        async with Controllers(tmp_path, 1, settings=settings) as quorum:
            active = await quorum.active()
            await eventually(lambda: set(active.image.cluster.controllers) == {1})
            assert (await ask(active, DESCRIBE)).error_code == NONE
            active.machine.is_caught_up = False
            assert (await ask(active, DESCRIBE)).error_code == UNKNOWN_SERVER_ERROR
            assert (await ask(active, messages.DescribeAclsRequest(resource_type_filter=1))).error_code == UNKNOWN_SERVER_ERROR

    run(main)


def envelope(message: Any, version: int, *, principal: bytes = b"\0\0\x05User\x06alice\0\0") -> messages.EnvelopeRequest:
    data = encode_request(message, version, 77, "inner")[4:]
    return messages.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=bytes((127, 0, 0, 1)))


def test_what_raft_answers_is_answered_in_an_envelope_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with Controllers(tmp_path, settings=ANYBODY) as quorum:
            active = await quorum.active()
            connection = await client(active)
            acl = messages.CreateAclsRequest.AclCreation(
                resource_type=4, resource_name="kafka-cluster", resource_pattern_type=3, principal="User:alice", host="*", operation=8,
                permission_type=3,
            )  # fmt: skip
            refused = await connection.request(envelope(DESCRIBE, 2))
            inner = message_type("response", "DescribeQuorumResponse")
            assert refused.error_code == NONE
            assert inner.read(bytes(refused.response_data), 2, 5).error_code == CLUSTER_AUTHORIZATION_FAILED
            assert (await connection.request(messages.CreateAclsRequest(creations=(acl,)))).results[0].error_code == NONE
            granted = await connection.request(envelope(DESCRIBE, 2))
            assert granted.error_code == NONE
            assert bytes(granted.response_data[:4]) == (77).to_bytes(4, "big")
            described = inner.read(bytes(granted.response_data), 2, 5)
            assert described.topics[0].partitions[0].leader_id == active.config.node.node_id
            standby = next(server for server in quorum.running.values() if not server.is_active)
            await eventually(lambda: len(standby.image.acls.by_id) == 1)
            elsewhere = await ask(standby, envelope(DESCRIBE, 2))
            assert (elsewhere.error_code, elsewhere.response_data) == (NOT_CONTROLLER, None)

    run(main)
