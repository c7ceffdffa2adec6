"""Plays a golden conversation over a listener, with the golden's own ids, times and topics."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from typing import Any

from metashell.codec import messages
from metashell.codec.registry import message_type
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.decision import Answer
from metashell.groups.server import GroupServerConfig
from metashell.groups.server.machine import ClientIdentity
from metashell.groups.server.server import GroupServer
from metashell.metadata.image.image import MetadataDelta, MetadataImage
from metashell.net.api_versions import KRAFT_FEATURES
from metashell.net.frames import decode_response, encode_request
from tests.groups.golden import BEGUN_MS, LATE_MS, RACKS, Player
from tests.groups.profiles import PROFILES
from tests.quorum.controller.json_objects import from_json
from tools.interop.nodes import free_ports

BROKER = 1
LIMIT_S = 120.0


class ListenerPlayer(Player):
    """See Player. Requests travel as frames, topics as metadata images; timers run at the golden's times."""

    def __init__(self, golden: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._now_ms = BEGUN_MS
        self._image = MetadataImage()
        self._ends: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._sent: dict[int, tuple[str, int, int]] = {}
        """Requests without an answer: who, api key and version."""
        super().__init__(golden)

    def _begin(self, written: tuple[Written, ...], now_ms: int) -> Shard:
        assert not written, "what is in memory does not outlive a restart"
        self._now_ms = now_ms
        self._image = self._next_image()
        settings = replace(PROFILES[self.golden["profile"]], port=free_ports(1)[0])
        self._loop.run_until_complete(self._open(GroupServerConfig(settings=settings)))
        return _Shard(self)  # type: ignore[return-value]

    async def _open(self, config: GroupServerConfig) -> None:
        async def ask(request: Any, version: int | None, client: ClientIdentity | None) -> Any:
            raise AssertionError("the player makes topics by itself")

        features = lambda: KRAFT_FEATURES  # noqa: E731
        self._server = GroupServer(config, "cluster", lambda: self._image, ask, features, clock=lambda: self._now_ms, chance=self.chance)
        await self._server.open()
        self._server.is_serving = True

    def _next_image(self) -> MetadataImage:
        """The image with the topics of now."""
        delta = MetadataDelta(self._image)
        if not self._image.cluster.brokers:
            delta.replay(messages.RegisterBrokerRecord(broker_id=BROKER, incarnation_id=bytes(16), rack=RACKS[0], fenced=False))
            for name in ("group.version", "share.version", "streams.version"):
                delta.replay(messages.FeatureLevelRecord(name=name, feature_level=1))
        before = self._image.topics.by_id
        ids = {topic.id for topic in self.topics.values()}
        for topic in before.values():
            if topic.id not in ids:
                delta.replay(messages.RemoveTopicRecord(topic_id=topic.id))
        for wanted in self.topics.values():
            known = before.get(wanted.id)
            if known is None:
                delta.replay(messages.TopicRecord(name=wanted.name, topic_id=wanted.id))
            for id in range(0 if known is None else known.partition_count, wanted.partition_count):
                here = {"replicas": (BROKER,), "isr": (BROKER,), "leader": BROKER}
                delta.replay(messages.PartitionRecord(topic_id=wanted.id, partition_id=id, **here))
        return delta.apply()

    def close(self) -> None:
        for _, writer in self._ends.values():
            writer.close()
        self._loop.run_until_complete(self._server.close())

    # ---- what the steps do

    def _run_timers(self, until_ms: int) -> None:
        while (due_ms := self.shard.coordinator.next_due_ms()) is not None and due_ms + LATE_MS <= until_ms:
            self.chance.begin(-1, -1)
            self._now_ms = due_ms
            self._server.machine.run_due(due_ms)
        self._hear(self._now_ms)

    def _step(self, step: dict[str, Any], now_ms: int, end_ms: int) -> None:
        self._now_ms = now_ms
        if (who := step.get("drop")) in self._ends:
            self._ends.pop(who)[1].close()
            self._sent = {number: sent for number, sent in self._sent.items() if sent[0] != who}
        super()._step(step, now_ms, end_ms)

    def _decide(self, number: int, now_ms: int) -> None:
        send = self.sends[number]
        if send["api"] in ("CreateTopics", "DeleteTopics", "CreatePartitions"):
            super()._decide(number, now_ms)
            return
        kind = message_type("request", send["api"] + "Request")
        given = (self.golden_replies.get(number, {}).get("json") or {}).get("producerId", -1)
        self.chance.begin(number, given if send["api"] == "InitProducerId" else -1)
        body = from_json("request", kind.name, send["json"])
        self._loop.run_until_complete(self._send(send["who"], encode_request(body, send["version"], number, send["who"])))
        self._sent[number] = send["who"], kind.key, send["version"]
        self._hear(now_ms)

    def show_topics(self, now_ms: int) -> None:
        """The metadata has other topics now."""
        self._image = self._next_image()
        self._server.look()
        self._hear(now_ms)

    async def _send(self, who: str, data: bytes) -> None:
        """Send a frame, and return when the server has it."""
        if who not in self._ends:
            self._ends[who] = await asyncio.open_connection("localhost", self._server.port)
        counters = self._server._listener.counters
        requests = counters.requests
        self._ends[who][1].write(data)
        async with asyncio.timeout(LIMIT_S):
            while counters.requests == requests:
                await asyncio.sleep(0)

    def _hear(self, now_ms: int) -> None:
        """Take the answers that the server has given: of all requests but those that wait."""
        waiting = {request.header.correlation_id for request in self._server.machine._waiting.values()}
        for number in sorted(self._sent.keys() - waiting):
            who, key, version = self._sent.pop(number)
            correlation, body = self._loop.run_until_complete(self._answer(self._ends[who][0], key, version))
            assert correlation == number
            shown = message_type("response", type(body).__name__).to_json_value(body, version)
            self._reply({"to": number, "json": shown}, now_ms)

    async def _answer(self, reader: asyncio.StreamReader, key: int, version: int) -> tuple[int, Any]:
        async with asyncio.timeout(LIMIT_S):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            return decode_response(await reader.readexactly(size), key, version)


class _Shard:
    """What the player knows as the shard: what the server has done, and topics by way of the metadata."""

    def __init__(self, player: ListenerPlayer) -> None:
        self._player = player
        self._real = player._server.machine.shard
        self.effects: list[Any] = []

    @property
    def coordinator(self) -> GroupCoordinator:
        return self._real.coordinator

    @property
    def written(self) -> list[Written]:
        return self._real.written

    def topics_changed(self, topics: object, changed: object, deleted: object, now_ms: int) -> list[Answer]:
        self._player.show_topics(now_ms)
        return []
