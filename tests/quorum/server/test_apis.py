"""Who may ask what on a controller's listener, and what is forwarded in envelopes.
SCRAM users and delegation tokens of an image, as a listener asks for them."""

from __future__ import annotations

from base64 import b64encode
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    NONE,
    NOT_CONTROLLER,
    PRINCIPAL_DESERIALIZATION_FAILURE,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.codec.registry import message_type
from metashell.metadata.image import DelegationToken, MetadataImage
from metashell.metadata.image.settings import ScramCredential
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import encode_request
from metashell.net.sasl import ScramClient, ScramServer
from metashell.net.scram_credentials import make_credential
from metashell.net.transport import ConnectionFailedError, connect
from metashell.quorum.controller.acls_and_tokens import hmac_of_token
from metashell.quorum.raft.messages import TOPIC
from metashell.quorum.server.apis import ImageCredentials
from tests.coroutines import eventually
from tests.quorum.server.controllers import Controllers, ask, client
from tests.seeds import shows
from tools.interop.nodes import free_ports

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


@shows("KIP-631/acls")
@pytest.mark.parametrize("request_", RAFT, ids=lambda request: type(request).__name__)
async def test_who_has_no_right_is_refused_also_by_raft(tmp_path: Path, request_: Any) -> None:
    async with Controllers(tmp_path, 1, settings=NOBODY) as quorum:
        active = await quorum.active()
        await eventually(lambda: active.machine.is_caught_up)
        assert (await ask(active, request_)).error_code == CLUSTER_AUTHORIZATION_FAILED
        assert active.is_active


async def test_only_the_metadata_partition_is_described(tmp_path: Path) -> None:
    made = messages.DescribeQuorumRequest

    def asked(*topics: tuple[str, tuple[int, ...]]) -> Any:
        own = {name: tuple(made.PartitionData(partition_index=number) for number in numbers) for name, numbers in topics}
        return made(topics=tuple(made.TopicData(topic_name=name, partitions=partitions) for name, partitions in own.items()))

    async with Controllers(tmp_path, 1) as quorum:
        active = await quorum.active()
        for topics in ([("t", (0,))], [(TOPIC, (1,))], [(TOPIC, (0, 1))], [(TOPIC, (0,)), ("t", (0, 2))]):
            answer = await ask(active, asked(*topics))
            found = [(topic.topic_name, tuple(one.partition_index for one in topic.partitions)) for topic in answer.topics]
            assert (answer.error_code, found) == (NONE, topics)
            assert {one.error_code for topic in answer.topics for one in topic.partitions} == {UNKNOWN_TOPIC_OR_PARTITION}
        (topic,) = (await ask(active, DESCRIBE)).topics
        assert (topic.partitions[0].error_code, topic.partitions[0].leader_id) == (NONE, 1)


async def test_before_the_log_was_read_nobody_but_super_users_has_a_right(tmp_path: Path) -> None:
    settings = {**NOBODY, "allow.everyone.if.no.acl.found": "true", "metadata.max.idle.interval.ms": 0}
    async with Controllers(tmp_path, 1, settings=settings) as quorum:
        active = await quorum.active()
        await eventually(lambda: set(active.image.cluster.controllers) == {1})
        assert (await ask(active, DESCRIBE)).error_code == NONE
        active.machine.is_caught_up = False
        assert (await ask(active, DESCRIBE)).error_code == UNKNOWN_SERVER_ERROR
        assert (await ask(active, messages.DescribeAclsRequest(resource_type_filter=1))).error_code == UNKNOWN_SERVER_ERROR


async def test_before_the_log_was_read_nobody_logs_in_by_the_image(tmp_path: Path) -> None:
    """What is read so far may have a credential that a later record removes."""
    own, secured = free_ports(2)
    settings = {
        "metadata.max.idle.interval.ms": 0,
        "listeners": f"CONTROLLER://localhost:{own},SECURED://localhost:{secured}",
        "controller.listener.names": "CONTROLLER,SECURED",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.secured.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "controller.quorum.bootstrap.servers": f"localhost:{own}",
    }
    user = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name="alice", mechanism=2, iterations=4096, salt=b"salt", salted_password=pbkdf2_hmac("sha512", b"alice-secret", b"salt", 4096)
    )

    async def log_in() -> None:
        core = ClientConnection(client_id="a-client", sasl=ScramClient("SCRAM-SHA-512", "alice", "alice-secret"))
        (await connect(Address("localhost", secured), core=core)).close("done")

    async with Controllers(tmp_path, 1, settings=settings) as quorum:
        active = await quorum.active()
        answer = await ask(active, messages.AlterUserScramCredentialsRequest(upsertions=(user,)))
        assert answer.results[0].error_code == NONE and active.machine.is_caught_up
        await log_in()
        active.machine.is_caught_up = False
        with pytest.raises(ConnectionFailedError, match="invalid credentials"):
            await log_in()


async def test_before_the_log_was_read_an_envelope_gives_nobody_a_right(tmp_path: Path) -> None:
    settings = {**ANYBODY, "allow.everyone.if.no.acl.found": "true", "metadata.max.idle.interval.ms": 0}
    asked = messages.DescribeQuorumRequest(topics=())
    inner = message_type("response", "DescribeQuorumResponse")
    async with Controllers(tmp_path, 1, settings=settings) as quorum:
        active = await quorum.active()
        await eventually(lambda: set(active.image.cluster.controllers) == {1} and active.machine.is_caught_up)

        async def code(principal: bytes) -> int:
            answer = await ask(active, envelope(asked, 2, principal=principal))
            assert answer.error_code == NONE
            found: int = inner.read(bytes(answer.response_data), 2, 5).error_code
            return found

        assert await code(ALICE) == NONE
        active.machine.is_caught_up = False
        assert await code(ALICE) == UNKNOWN_SERVER_ERROR
        assert await code(SUPER) == NONE
        spoilt = await ask(active, envelope(asked, 2, principal=b"what is this"))
        assert spoilt.error_code == PRINCIPAL_DESERIALIZATION_FAILURE


ALICE = b"\0\0\x05User\x06alice\0\0"
SUPER = b"\0\0\x05User\x0aANONYMOUS\0\0"


def envelope(message: Any, version: int, *, principal: bytes = ALICE) -> messages.EnvelopeRequest:
    data = encode_request(message, version, 77, "inner")[4:]
    return messages.EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=bytes((127, 0, 0, 1)))


async def test_what_raft_answers_is_answered_in_an_envelope_too(tmp_path: Path) -> None:
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


SECRET = "token-secret"
NOW_MS = 1_000_000


class State:
    """An image that changes, and a clock."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.now_ms = NOW_MS

    def credentials(self, secret: str | None = SECRET) -> ImageCredentials:
        return ImageCredentials(lambda: self.image, secret, lambda: self.now_ms)

    def add_user(self, name: str, password: str, mechanism: int = 2) -> None:
        made = ScramCredential(*make_credential("SCRAM-SHA-512" if mechanism == 2 else "SCRAM-SHA-256", password))
        users = self.image.scram.get(mechanism)
        empty = type(self.image.scram)()
        self.image = self.image._replace(scram=self.image.scram.set(mechanism, (empty if users is None else users).set(name, made)))

    def add_token(self, token_id: str, expires_ms: int, owner: str = "User:alice") -> None:
        token = DelegationToken(owner, owner, (), NOW_MS - 5, NOW_MS + 1_000, expires_ms, token_id)
        self.image = self.image._replace(delegation_tokens=self.image.delegation_tokens.set(token_id, token))


def logged_in(server: ScramServer, client: ScramClient) -> str:
    client.next(server.next(client.next(server.next(client.first())) or b""))
    return server.principal


def test_users_of_the_image_log_in_by_their_mechanism_from_when_they_are_there() -> None:
    state = State()
    credentials = state.credentials()
    assert credentials.scram("SCRAM-SHA-512", "bob") is None
    state.add_user("bob", "pw")
    assert logged_in(ScramServer("SCRAM-SHA-512", credentials), ScramClient("SCRAM-SHA-512", "bob", "pw")) == "User:bob"
    assert credentials.scram("SCRAM-SHA-256", "bob") is None
    assert credentials.plain("bob") is None


def test_a_token_is_good_until_it_expires_or_is_removed() -> None:
    state = State()
    credentials = state.credentials()
    state.add_token("one", NOW_MS + 300)
    found = credentials.token("SCRAM-SHA-256", "one")
    assert found is not None and (found.owner, found.lifetime_ms) == ("User:alice", 300)
    state.now_ms += 299
    again = credentials.token("SCRAM-SHA-256", "one")
    assert again is not None and again == found._replace(lifetime_ms=1)
    state.now_ms += 1
    assert credentials.token("SCRAM-SHA-256", "one") is None
    state.now_ms = NOW_MS
    state.add_token("late", NOW_MS + 5_000)
    late = credentials.token("SCRAM-SHA-256", "late")
    assert late is not None and late.lifetime_ms == 1_000
    state.image = MetadataImage()
    assert credentials.token("SCRAM-SHA-256", "late") is None


def test_the_password_of_a_token_is_its_hmac_in_base64() -> None:
    state = State()
    state.add_token("one", NOW_MS + 300)
    found = state.credentials().token("SCRAM-SHA-512", "one")
    assert found is not None
    password = b64encode(hmac_of_token(SECRET, "one")).decode()
    assert found.credential == make_credential("SCRAM-SHA-512", password, salt=found.credential.salt)


def test_without_a_secret_no_token_is_taken() -> None:
    state = State()
    state.add_token("one", NOW_MS + 300)
    assert state.credentials(None).token("SCRAM-SHA-512", "one") is None
