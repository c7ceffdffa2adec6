"""Requests on the controller's listeners: who may ask what, which part answers, and answers back to their connections.

Raft's own APIs do not wait in the controller's queue: their sender's right is looked up in the stable image when they come, and then
raft has them. Heartbeats count when they come, from senders that may send them, and are decided in their turn.

`ImageCredentials` says who may log in by SCRAM: the users and the delegation tokens of the committed image.

Source: KIP-48, KIP-900; kafka.server.ControllerApis, kafka.server.AuthHelper, org.apache.kafka.metadata.authorizer.StandardAuthorizer;
org.apache.kafka.common.security.scram.internals.ScramServerCallbackHandler, DelegationTokenCache, ScramPublisher,
DelegationTokenPublisher."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import messages
from metashell.codec.codes import (
    ADD_RAFT_VOTER,
    ALLOCATE_PRODUCER_IDS,
    ALTER_PARTITION,
    API_VERSIONS,
    ASSIGN_REPLICAS_TO_DIRS,
    BEGIN_QUORUM_EPOCH,
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    CONTROLLER_REGISTRATION,
    DESCRIBE_QUORUM,
    END_QUORUM_EPOCH,
    FETCH,
    FETCH_SNAPSHOT,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    VOTE,
)
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION
from metashell.net.accepted_connection import ServerRequest
from metashell.net.api_versions import NodeFeatures
from metashell.net.frames import response_type
from metashell.net.sasl import TokenCredential
from metashell.net.scram_credentials import MADE_HERE, Pretence, ScramCredential, make_credential
from metashell.quorum.controller import Request
from metashell.quorum.controller.acls_and_tokens import hmac_of_token
from metashell.quorum.controller.authorizer import APIS, Operation, close_envelope, open_envelope
from metashell.quorum.controller.cluster import published_features
from metashell.quorum.controller.controller import CLUSTER_REFUSED, ENVELOPE_KEY, ROUTES
from metashell.quorum.controller.decision import SUPPORTED_FEATURES, ApiError
from metashell.quorum.controller.topics import UNKNOWN_TOPIC_TEXT
from metashell.quorum.raft.messages import only_partition
from metashell.quorum.server.audit import Audit, ToldClients, is_change, refusals_of
from metashell.quorum.server.controller_machine import ControllerMachine
from metashell.quorum.server.links import Inbound

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from metashell.net.listener_options import Fault, Refuse


LARGE: Final = 300
"""Entries of an answer that are encoded in one piece: some 5 ms."""

_RAFT: Final[Mapping[int, Operation]] = {
    FETCH: Operation.CLUSTER_ACTION,
    VOTE: Operation.CLUSTER_ACTION,
    BEGIN_QUORUM_EPOCH: Operation.CLUSTER_ACTION,
    END_QUORUM_EPOCH: Operation.CLUSTER_ACTION,
    FETCH_SNAPSHOT: Operation.CLUSTER_ACTION,
    UPDATE_RAFT_VOTER: Operation.CLUSTER_ACTION,
    DESCRIBE_QUORUM: Operation.DESCRIBE,
    ADD_RAFT_VOTER: Operation.ALTER,
    REMOVE_RAFT_VOTER: Operation.ALTER,
}
"""What raft answers, and the right that it needs."""


_OF_PEERS: Final = frozenset(
    (ALTER_PARTITION, ALLOCATE_PRODUCER_IDS, ASSIGN_REPLICAS_TO_DIRS, BROKER_HEARTBEAT, BROKER_REGISTRATION, CONTROLLER_REGISTRATION)
)
"""What brokers and controllers ask for themselves, beside raft's APIs: it goes before what others ask. Envelopes hold what clients ask."""


class Apis:
    """An `Application` of metashell.quorum.server.links; `refused` counts requests whose sender may not ask."""

    def __init__(self, machine: ControllerMachine, audit: Audit | None = None, told: ToldClients | None = None) -> None:
        self.refused = 0
        self._audit = audit
        self._told = told
        if audit is not None or told is not None:
            machine.on_answered = self._note_answered
        if audit is not None:
            machine.on_written = audit.written
            machine.watchers.append(self._look)
        self.ranges: Mapping[int, tuple[int, int]] = {key: (api.low, api.high) for key, api in APIS.items()}
        self._machine = machine
        self._in: Inbound | None = None

    def begin(self, inbound: Inbound) -> None:
        """See Application."""
        self._in = inbound

    @property
    def _inbound(self) -> Inbound:
        assert self._in is not None, "begun"
        return self._in

    def features(self) -> NodeFeatures:
        """Return the features for ApiVersions."""
        controller = self._machine.controller
        return NodeFeatures(SUPPORTED_FEATURES, published_features(controller.image), controller.stable_offset)

    def take(self, request: ServerRequest) -> None:
        """See Application."""
        asked = self._request(request)
        key = asked.api_key
        right = _RAFT.get(key)
        if right is not None or (key not in ROUTES and key != ENVELOPE_KEY):
            self._take_raft(request, asked, right)
            return
        if not self._is_ready(asked):
            self._refuse(request, asked, UNKNOWN_SERVER_ERROR)
            return
        machine = self._machine
        if key in _OF_PEERS and not request.asker.is_peer and self._allows(asked, Operation.CLUSTER_ACTION):
            request.trust()
        machine.controller.contact(asked, asked.received_ms)
        machine.ask(asked, (request.listener, request.connection_id), partial(self._answer, request, asked), request.asker)

    def refuse_large(self, request: ServerRequest) -> Refuse | None:
        """See Application. A refusal costs no more than reading the names, and none of the loop's time."""
        asked = self._request(request)
        refuse: Callable[[Request], Any] | None
        controller = self._machine.controller
        if asked.api_key != ENVELOPE_KEY and not self._is_ready(asked):
            refuse = partial(controller.refuse, code=UNKNOWN_SERVER_ERROR)
        else:
            refuse = controller.refusal_ahead(asked)
        if refuse is None:
            return None
        self.refused += 1
        loop = asyncio.get_running_loop()
        # Compiled here: what makes writers is not for several threads.
        write = response_type(asked.api_key).writer(asked.version)

        def refuse_all(message: Any) -> bytes:
            body = bytearray()
            whole = asked._replace(body=message)
            answer = refuse(whole)
            write(answer, body)
            with suppress(RuntimeError):  # The loop may have ended.
                loop.call_soon_threadsafe(self._note_answered, whole, answer)
            return bytes(body)

        return refuse_all

    def faulted(self, fault: Fault) -> None:
        """See Application."""
        if self._told is None:
            return
        if fault.asked_key == API_VERSIONS and fault.principal:
            self._told.asks_for_versions_alone(fault.principal, fault.host)
        elif fault.asked_key >= 0 and fault.principal:
            self._told.asks_for_unserved(fault.principal, fault.host, fault.asked_key)
        elif fault.is_login:
            self._told.fails_to_log_in(fault.host, fault.reason)
        elif fault.asked_key != API_VERSIONS:
            self._told.is_malformed(fault.principal, fault.host, fault.reason)

    def _note_answered(self, request: Request, answer: Any) -> None:
        """Note what was refused of a request for want of a right."""
        refused = iter(()) if answer is None else refusals_of(request, answer)
        first = next(refused, None)
        if first is None:
            return
        if self._audit is not None:
            self._audit.refused(request, chain((first,), refused))
        if self._told is not None:
            self._told.is_refused(request.principal, request.host, request.api_key)

    def _look(self) -> None:
        """What is committed may have changed, or who leads."""
        audit, controller = self._audit, self._machine.controller
        assert audit is not None, "looked for"
        audit.committed(controller.stable_offset)
        if not self._machine.is_active:
            audit.leadership_ended()

    def closed(self, listener: str, connection_id: int) -> None:
        """See Application."""
        self._machine.forget((listener, connection_id))

    def _request(self, request: ServerRequest) -> Request:
        header = request.header
        return Request(
            header.api_key,
            header.api_version,
            request.message,
            principal=request.principal,
            client_id=request.client_id,
            host=request.host,
            received_ms=self._machine.now_ms(),
            is_token_authenticated=request.is_token_authenticated,
            security_protocol=request.security_protocol,
            listener=request.listener,
        )

    def _take_raft(self, request: ServerRequest, asked: Request, right: Operation | None) -> None:
        """Take the requests that do not queue: raft's APIs, and those that are listed and that no controller answers."""
        if not self._is_ready(asked) or right is None:
            self._refuse(request, asked, UNKNOWN_SERVER_ERROR)
            return
        if not self._allows(asked, right):
            self._refuse(request, asked, CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
            return
        if right is Operation.CLUSTER_ACTION:
            request.trust()
        if asked.api_key == DESCRIBE_QUORUM and only_partition(asked.body.topics) is None:
            self._inbound.respond(request, unknown_partitions(asked.body.topics))
        else:
            self._ask_raft(request, asked, self._inbound.respond)

    def _ask_raft(self, request: ServerRequest, asked: Request, respond: Callable[[ServerRequest, Any], None]) -> None:
        """Let raft answer; a change of voters is noted."""

        def send(asker: ServerRequest, message: Any) -> None:
            if self._audit is not None and is_change(asked.api_key):
                self._audit.applied_by_raft(asked, message)
            respond(asker, message)

        self._inbound.ask(request, asked.api_key, asked.version, asked.body, send)

    def _allows(self, asked: Request, right: Operation) -> bool:
        return self._machine.controller.current_authorizer().allows_cluster(asked, right)

    def _is_ready(self, asked: Request) -> bool:
        """Whether the rights of a sender are known: before the log was read to its end, only super users have any.

        Of an envelope that holds for whoever sends it and for the client whose request it holds.
        """
        settings = self._machine.controller.state.settings
        if self._machine.is_caught_up or not settings.has_authorizer:
            return True
        if asked.principal not in settings.super_users:
            return False
        if asked.api_key != ENVELOPE_KEY:
            return True
        try:
            return open_envelope(asked).request.principal in settings.super_users
        except ApiError:
            return True  # the decision says what is wrong with it

    def _refuse(self, request: ServerRequest, asked: Request, code: int, message: str | None = None) -> None:
        self.refused += 1
        answer = self._machine.controller.refuse(asked, code, message)
        if code != UNKNOWN_SERVER_ERROR:
            self._note_answered(asked, answer)
        self._inbound.respond(request, answer)

    def _answer(self, request: ServerRequest, asked: Request, answer: Any) -> Iterator[None] | None:
        """Send the controller's answer; None leaves the answer to raft, here always in an envelope."""
        if request.cancelled:
            return None
        if answer is not None:
            if is_large(answer):
                return self._inbound.respond_in_steps(request, answer)
            self._inbound.respond(request, answer)
            return None
        inner = open_envelope(asked)
        if inner.request.api_key == DESCRIBE_QUORUM and only_partition(inner.request.body.topics) is None:
            self._inbound.respond(request, close_envelope(inner, unknown_partitions(inner.request.body.topics)))
            return None

        def respond(asker: ServerRequest, message: Any) -> None:
            self._inbound.respond(asker, close_envelope(inner, message))

        self._ask_raft(request, inner.request, respond)
        return None


def is_large(message: Any, entries_max: int = LARGE) -> bool:
    """Whether the arrays of a message have more entries than are encoded in one piece."""
    left = [message]
    while left:
        struct = left.pop()
        for name in type(struct).__slots__:
            value = getattr(struct, name)
            if isinstance(value, tuple) and value:
                entries_max -= len(value)
                if entries_max < 0:
                    return True
                if hasattr(type(value[0]), "__slots__"):
                    left += value
    return False


def unknown_partitions(topics: Iterable[Any]) -> messages.DescribeQuorumResponse:
    """Return the answer to a question about other partitions than the metadata log's."""
    made = messages.DescribeQuorumResponse
    return made(
        topics=tuple(
            made.TopicData(
                topic_name=topic.topic_name,
                partitions=tuple(
                    made.PartitionData(
                        partition_index=partition.partition_index, error_code=UNKNOWN_TOPIC_OR_PARTITION, error_message=UNKNOWN_TOPIC_TEXT
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in topics
        )
    )


_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""By their numbers in records."""
TOKENS_MAX: Final = 1000
"""Tokens whose credential is kept: making one takes some milliseconds."""


class ImageCredentials:
    """Credentials from the image at each login, so a user that was removed cannot log in any more.

    `secret` is delegation.token.secret.key: the HMACs of tokens are not in the log but made of it; without one no token is taken.
    `passwords` are those of PLAIN, which the controllers of a cluster share: with the secret they make what is shown for unknown names.
    Units: `wall_ms` gives Unix ms.
    """

    def __init__(
        self, image: Callable[[], MetadataImage], secret: str | None, wall_ms: Callable[[], int], passwords: Iterable[str] = ()
    ) -> None:
        self._image = image
        self._secret = secret
        self._wall_ms = wall_ms
        secrets = [*passwords, secret or ""]
        self._users: dict[str, tuple[object, list[ScramCredential]]] = {}
        self._pretence = Pretence(self._known, secrets)
        self._pretence_of_tokens = Pretence(lambda mechanism: (MADE_HERE,), secrets)
        self._of_tokens: dict[tuple[str, str], ScramCredential] = {}

    def plain(self, username: str) -> str | None:
        """See Credentials. The image has no passwords; those of PLAIN are in the listener's JAAS configuration."""
        return None

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """See Credentials."""
        found = self._image().scram.get(_MECHANISMS[mechanism])
        user = None if found is None else found.get(username)
        return None if user is None else ScramCredential(*user)

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """See Credentials. An expired token is refused, although it is in the image until the active controller removes it."""
        if self._secret is None:
            return None
        token = self._image().delegation_tokens.get(token_id)
        if token is None:
            return None
        left_ms = min(token.expiration_timestamp, token.max_timestamp) - self._wall_ms()
        if left_ms <= 0:
            return None
        return TokenCredential(token.owner, self._credential(mechanism, token_id, self._secret), left_ms)

    def pretend(self, mechanism: str, username: str, *, is_token: bool) -> ScramCredential:
        """See Credentials."""
        pretence = self._pretence_of_tokens if is_token else self._pretence
        return pretence.credential(mechanism, username)

    def _known(self, mechanism: str) -> list[ScramCredential]:
        """The credentials of all users: the same list as long as they are."""
        users = self._image().scram.get(_MECHANISMS[mechanism])
        kept = self._users.get(mechanism)
        if kept is None or kept[0] is not users:
            found = [] if users is None else [ScramCredential(*user) for user in users.values()]
            kept = self._users[mechanism] = users, found
        return kept[1]

    def _credential(self, mechanism: str, token_id: str, secret: str) -> ScramCredential:
        """Return the credential of the token's password: its HMAC in base64."""
        key = mechanism, token_id
        found = self._of_tokens.get(key)
        if found is None:
            password = b64encode(hmac_of_token(secret, token_id)).decode()
            if len(self._of_tokens) >= TOKENS_MAX:
                self._of_tokens.clear()
            found = self._of_tokens[key] = make_credential(mechanism, password)
        return found
