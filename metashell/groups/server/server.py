"""The listener of a group server: it answers what needs no coordinator, and gives the rest to `machine`.

This module imports asyncio, so it is itself imported inside functions.
Source: kafka.server.KafkaApis."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.codes import (
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    FETCH,
    GROUP_RESOURCE,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
)
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, POLICY_VIOLATION, UNSUPPORTED_VERSION
from metashell.common.errors import EncodeError, MetashellError
from metashell.common.terminal import terminal_line
from metashell.groups.coordinator.coordinator import HANDLERS
from metashell.groups.decision import Effect, error_body
from metashell.groups.log.group_log import GroupLog
from metashell.groups.server import Allows, Asker, ClientRequest, GroupServerConfig, Rights, coordinator_request
from metashell.groups.server.machine import ClientIdentity, ClockMs, GroupMachine, SystemChance, client_of
from metashell.groups.server.request_rights import narrow
from metashell.groups.server.topic_requests import (
    KEEPS_NO_MESSAGES,
    OF_GROUPS,
    Clients,
    Cluster,
    ImageTopics,
    PartitionReads,
    answer_metadata,
    changed_topics,
    describe_cluster,
    unknown_names,
)
from metashell.groups.state import Chance
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import Address
from metashell.net.api_versions import ALL_RANGES, NodeFeatures, NodeIdentity
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import options_of
from metashell.net.sasl import Credentials

FORWARDED: Final = (19, 20, 33, 37, 44)
"""Changes, which the active controller decides as for the client: CreateTopics, DeleteTopics, AlterConfigs, CreatePartitions,
IncrementalAlterConfigs."""
FEATURE_OF: Final = {
    **dict.fromkeys((68, 69), "group.version"),
    **dict.fromkeys((88, 89), "streams.version"),
}
"""The feature that heartbeats and descriptions of a kind of group require."""
NARROWER: Final = {INIT_PRODUCER_ID: (0, 5)}
"""APIs of which Kafka serves fewer versions than exist."""
FORWARD_S: Final = 30.0
FETCH_WAIT_MAX_S: Final = 60.0
"""The longest wait of a fetch. A fetch that asks for more is answered after this time with no records."""
STOP_S: Final = 0.1
WANTS_TO_PRODUCE: Final = f" wants to produce: {KEEPS_NO_MESSAGES}"
TOLD_MAX: Final = 100
"""The most lines about what clients ask."""


Ask = Callable[[Any, int | None, ClientIdentity | None], Awaitable[Any]]
"""`(request, version, client) -> answer` of the active controller; version None is the newest that both have.

The controller decides with the rights of the client; without one, with those of this process.
"""
Image = Callable[[], MetadataImage]
TopicsToMake = Mapping[str, tuple[int, int, tuple[tuple[str, str], ...]]]
"""Topics to create: name -> (partitions, replication factor, configs)."""


class GroupServer:
    """See the package. `features` are those of ApiVersions; `on_event` gets lines for an operator.

    `allows` is the authorizer, None where everybody may do everything; `credentials` know the users of SCRAM and the delegation tokens.
    `clock` (Unix ms) and `chance` are the system's, unless they are given. Groups are in `log`, which this closes; without one they are in
    memory, and so is their history.
    """

    def __init__(
        self,
        config: GroupServerConfig,
        cluster_id: str,
        image: Image,
        ask: Ask,
        features: Callable[[], NodeFeatures],
        on_event: Callable[[str], None] = lambda line: None,
        *,
        allows: Allows | None = None,
        credentials: Credentials | None = None,
        clock: ClockMs | None = None,
        chance: Chance | None = None,
        log: GroupLog | None = None,
    ) -> None:
        self.config = config
        self.is_serving = False
        """Whether it serves groups. Before it is registered, and while another broker is, connections are closed."""
        self._image = image
        self._ask = ask
        self._features = features
        self._on_event = on_event
        self._allows = allows
        self._credentials = credentials
        self._cluster = Cluster(cluster_id, config.node_id, config.address, image())
        self._topics = ImageTopics(self._cluster.image, 0)
        self._begun_ms = int(time.time() * 1000)
        self._begun_s = asyncio.get_running_loop().time()
        self._clock = clock or self._now_ms
        chance = chance or SystemChance()
        self.machine = GroupMachine(config.settings, self._topics, self._clock, chance, self._send, self._perform, log, on_event)
        self._take_group_configs()
        self._logs = PartitionReads(self._cluster, self.machine.shard, log)
        self._listener: Listener | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[int, asyncio.TimerHandle] = {}
        """Waiting fetches by connection, at most one for each."""
        self._clients = Clients()
        self._told: set[str] = set()
        self._made: set[str] = set()
        """Requested topics that are not in the image yet."""
        self._answers: Mapping[int, Callable[[ClientRequest], None]] = {
            PRODUCE: self._produce,
            INIT_PRODUCER_ID: self._init_producer_id,
            ADD_PARTITIONS_TO_TXN: self._produce,
            FETCH: self._fetch,
            LIST_OFFSETS: lambda request: self._send(request, self._logs.list_offsets(request.message, request.header.api_version)),
            METADATA: self._metadata,
            OFFSET_FOR_LEADER_EPOCH: lambda request: self._send(request, self._logs.end_offsets_of_epochs(request.message)),
            DESCRIBE_CLUSTER: self._plain(describe_cluster),
            DESCRIBE_CONFIGS: self._describe_configs,
            **dict.fromkeys(FORWARDED, self._forward),
        }

    @property
    def address(self) -> Address:
        """The address for clients."""
        return self._cluster.address

    @property
    def port(self) -> int:
        """The port, 0 before it listens."""
        return 0 if self._listener is None else self._listener.port

    async def open(self) -> Address:
        """Listen, and return the address for clients. Errors: MetashellError if the address is not available; UsageError."""
        host, port = self.config.address
        keys = self._answers.keys() | HANDLERS.keys()
        config = self.config
        options = options_of(
            config.properties,
            config.listener,
            ranges={key: NARROWER.get(key, ALL_RANGES[key]) for key in sorted(keys)},
            host=host,
            port=port,
            credentials=self._credentials,
            features=self._features,
            allow_plaintext=config.allow_plaintext,
        )
        # One request of a connection at a time, as in Kafka: a request after a join waits for the join's answer.
        limits = replace(options.limits, requests_max=1, frame_limits={}, notices_end=True)
        options = replace(options, identity=NodeIdentity(self._cluster.id, self._cluster.node_id), limits=limits)
        try:
            self._listener = await serve(self._handle, options, on_closed=self._closed)
        except OSError as error:
            raise MetashellError(f"{self.config.address}: {os.strerror(error.errno) if error.errno else error}") from None
        return self.address

    async def close(self) -> None:
        """Stop listening, and forget everything that is not in the log."""
        await self.machine.close()
        for pause in self._pauses.values():
            pause.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listener is not None:
            await self._listener.stop(STOP_S)

    def look(self) -> None:
        """Note that the image may have changed."""
        before, after = self._cluster.image, self._image()
        if after is before:
            return
        self._cluster.image = after
        if before.configs is not after.configs:
            self._take_group_configs()
        changed, deleted = changed_topics(before, after)
        if changed or deleted:
            self._made -= changed
            self._topics = ImageTopics(after, self._topics.version + 1, self._topics)
            self.machine.topics_changed(self._topics, changed, deleted)

    def _take_group_configs(self) -> None:
        configs = self._cluster.image.configs
        self.machine.shard.coordinator.state.group_configs = {
            name: dict(values) for (kind, name), values in configs.items() if kind == GROUP_RESOURCE
        }

    def _now_ms(self) -> int:
        """Return Unix milliseconds that never go back."""
        return self._begun_ms + int((asyncio.get_running_loop().time() - self._begun_s) * 1000)

    # ---- requests

    def _handle(self, request: ClientRequest) -> None:
        if not self.is_serving:
            request.close_connection("the group server is not registered as a broker")
            return
        self.look()
        rights = None if self._allows is None else Rights(Asker(request.principal, request.host), self._allows)
        if rights is not None:
            allowed = narrow(request, self._cluster, rights)
            if allowed is None:
                return
            request = allowed
        key = request.header.api_key
        if key in OF_GROUPS:
            self._clients.joins_group(request.client_id, request.host)
        if (answer := self._answers.get(key)) is not None:
            answer(request)
        elif (feature := FEATURE_OF.get(key)) is not None and not self._cluster.image.features.levels.get(feature):
            self._send(request, error_body(coordinator_request(request, 0), UNSUPPORTED_VERSION))
        else:
            self.machine.submit(request, rights)

    def _closed(self, connection_id: int, reason: str) -> None:
        """Forget a closed connection and its waiting requests."""
        self.machine.forget(connection_id)
        pause = self._pauses.pop(connection_id, None)
        if pause is not None:
            pause.cancel()

    def _send(self, request: ClientRequest, message: Any) -> None:
        if request.cancelled:
            return
        try:
            request.respond(message)
        except EncodeError as error:
            header = request.header
            asked = f"{REQUESTS[header.api_key].removesuffix('Request')} version {header.api_version}"
            self._tell(request, f": an answer to {asked} does not fit: {error}")
            request.close_connection(f"the answer does not fit: {error}")

    def _tell(self, request: ClientRequest, text: str) -> None:
        """Report a request, once for each client and text, since clients retry."""
        line = f"groups: client {terminal_line(request.client_id)!r}{text}"
        if line not in self._told and len(self._told) < TOLD_MAX:
            self._told.add(line)
            self._on_event(line)

    def _plain(self, make: Callable[[Cluster, Any, int], Any]) -> Callable[[ClientRequest], None]:
        return lambda request: self._send(request, make(self._cluster, request.message, request.header.api_version))

    def _metadata(self, request: ClientRequest) -> None:
        message, version = request.message, request.header.api_version
        if self.config.creates_topics and message.allow_auto_topic_creation:
            wanted = dict.fromkeys(unknown_names(self._cluster, message, version), (self.config.partitions, -1, ()))
            self._create(wanted, client_of(request))
        self._send(request, answer_metadata(self._cluster, message, version))

    def _produce(self, request: ClientRequest) -> None:
        if request.header.api_key == PRODUCE and request.message.acks == 0:
            # Nothing is answered then: Kafka's brokers close the connection to tell the client of an error.
            self._tell(request, WANTS_TO_PRODUCE)
            request.close_connection(KEEPS_NO_MESSAGES)
        else:
            self._refuse_to_write(request, POLICY_VIOLATION)

    def _init_producer_id(self, request: ClientRequest) -> None:
        if request.message.transactional_id is not None:
            self.machine.submit(request)
        else:
            # A transaction may consist of offsets; an id without one is good for Produce alone.
            self._refuse_to_write(request, CLUSTER_AUTHORIZATION_FAILED)

    def _refuse_to_write(self, request: ClientRequest, code: int) -> None:
        self._tell(request, WANTS_TO_PRODUCE)
        self._send(request, error_body(coordinator_request(request, 0), code, f"T{KEEPS_NO_MESSAGES[1:]}."))

    def _fetch(self, request: ClientRequest) -> None:
        message, version = request.message, request.header.api_version
        may_wait = self._clients.may_fetch(request.client_id, request.host, self._clock())
        answer, has_content = self._logs.fetch(message, version)
        if has_content or (may_wait and message.min_bytes <= 0):
            return self._send(request, answer)

        def end() -> None:
            self._pauses.pop(request.connection_id, None)
            answer, has_content = self._logs.fetch(message, version, is_refused=not may_wait)
            if has_content and not may_wait:
                self._tell(request, f" fetches and is in no group: {KEEPS_NO_MESSAGES}")
            self._send(request, answer)

        # An error comes at the end of the wait too: some clients try again at once.
        wait_s = min(message.max_wait_ms / 1000, FETCH_WAIT_MAX_S)
        if wait_s > 0:
            self._pauses[request.connection_id] = asyncio.get_running_loop().call_later(wait_s, end)
        else:
            end()

    # ---- forwarding to the active controller

    def _forward(self, request: ClientRequest) -> None:
        self._begin(self._forwarded(request, client_of(request)))

    def _describe_configs(self, request: ClientRequest) -> None:
        # No envelope can hold it: `request_rights` has looked at the client's rights.
        self._begin(self._forwarded(request, None))

    async def _forwarded(self, request: ClientRequest, client: ClientIdentity | None) -> None:
        try:
            async with asyncio.timeout(FORWARD_S):
                answer = await self._ask(request.message, request.header.api_version, client)
        except (TimeoutError, EncodeError, MetashellError) as error:
            request.close_connection(f"no answer of an active controller: {error}")
        else:
            self.look()
            self._send(request, answer)

    def _perform(self, effect: Effect, client: ClientIdentity | None) -> None:
        assert client is not None, "only a heartbeat needs topics"
        self._create(effect.topics, client)

    def _create(self, topics: TopicsToMake, client: ClientIdentity) -> None:
        """Request the creation of topics, unless that is in progress, as for the client that needs them. Nobody waits for the answer."""
        wanted = {name: how for name, how in topics.items() if name not in self._made}
        if wanted:
            self._made |= wanted.keys()
            self._begin(self._created(wanted, client))

    async def _created(self, topics: TopicsToMake, client: ClientIdentity) -> None:
        made = messages.CreateTopicsRequest
        request = made(
            topics=tuple(
                made.CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1 if factor < 1 else factor,
                    configs=tuple(made.CreatableTopicConfig(name=key, value=value) for key, value in configs),
                )
                for name, (partitions, factor, configs) in topics.items()
            ),
            timeout_ms=int(FORWARD_S * 1000),
        )
        try:
            async with asyncio.timeout(FORWARD_S):
                answer = await self._ask(request, None, client)
        except (TimeoutError, EncodeError, MetashellError):
            self._made -= topics.keys()
            return
        for topic in answer.topics:
            if topic.error_code:
                self._made.discard(topic.name)
                self._on_event(f"groups: topic {topic.name} was not made: {topic.error_message or topic.error_code}")

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
