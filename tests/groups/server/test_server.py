"""The listener of a group server: the order of a connection's requests, peers that spoil theirs, and the end."""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.codes import DESCRIBE_CONFIGS
from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.common.errors import EncodeError
from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.decision import Record
from metashell.groups.server import Allows, GroupServerConfig, topic_requests
from metashell.groups.server.machine import ClientIdentity, SystemChance
from metashell.groups.server.server import FORWARDED, Ask, GroupServer
from metashell.groups.server.topic_requests import TOPIC, OffsetsLog
from metashell.groups.state import Settings
from metashell.groups.topics import KnownTopics
from metashell.metadata.image import MetadataImage
from metashell.net.api_versions import KRAFT_FEATURES
from metashell.net.frames import decode_response, encode_request, frame, request_type, response_type
from metashell.quorum.embedded import EmbeddedQuorum
from tests.fuzz.frames import spoilt
from tests.groups.random_requests import RandomRequests

FRAMES = 60_000 if os.environ.get("METASHELL_SOAK") else 2_000
SEED = int(os.environ.get("METASHELL_SEED", "0"))
LIMIT_S = 120.0
JOIN, LEAVE, DESCRIBE, HEARTBEAT = 11, 13, 15, 68


@pytest.fixture(scope="module")
def image() -> Iterator[MetadataImage]:
    with EmbeddedQuorum(1, fake_brokers=1) as quorum:
        quorum.create_topic("t", 4)
        yield quorum.wait_for(lambda image: "t" in image.topics.by_name)


@asynccontextmanager
async def serving(
    image: MetadataImage,
    ask: Ask | None = None,
    on_event: Callable[[str], None] = lambda line: None,
    allows: Allows | None = None,
    clock: Callable[[], int] | None = None,
) -> AsyncIterator[GroupServer]:
    """A server of its own over an image; the active controller answers everything with nothing, unless something else asks it."""

    async def ask_nothing(request: Any, version: int | None, client: ClientIdentity | None) -> Any:
        return response_type(request_type_key(request)).cls()

    settings = Settings(initial_rebalance_delay_ms=0, host="localhost", port=0)
    config = GroupServerConfig(settings=settings)
    server = GroupServer(config, "cluster", lambda: image, ask or ask_nothing, lambda: KRAFT_FEATURES, on_event, allows=allows, clock=clock)
    await server.open()
    server.is_serving = True
    try:
        yield server
    finally:
        await server.close()


def request_type_key(request: Any) -> int:
    return next(key for key in (*FORWARDED, DESCRIBE_CONFIGS) if request_type(key).cls is type(request))


def run(work: Callable[[], Awaitable[None]]) -> None:
    """On a loop on which nothing may go wrong unseen."""

    async def watched() -> None:
        troubles: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: troubles.append(context))
        async with asyncio.timeout(LIMIT_S if FRAMES < 10_000 else 3600):
            await work()
        assert troubles == []

    asyncio.run(watched())


class Peer:
    """One connection, with the answers in the order in which they come."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def of(cls, server: GroupServer) -> Peer:
        assert server.port
        return cls(*await asyncio.open_connection("localhost", server.port))

    def send(self, message: Any, version: int, correlation: int = 1) -> None:
        self._writer.write(encode_request(message, version, correlation, "test"))

    def send_raw(self, data: bytes) -> None:
        self._writer.write(data)

    async def frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    async def answer(self, key: int, version: int) -> tuple[int, Any]:
        return decode_response(await self.frame(), key, version)

    async def ask(self, message: Any, key: int, version: int) -> Any:
        self.send(message, version)
        return (await self.answer(key, version))[1]

    def close(self) -> None:
        self._writer.close()


def join(member_id: str = "") -> messages.JoinGroupRequest:
    made = messages.JoinGroupRequest
    protocol = made.JoinGroupRequestProtocol(name="range", metadata=subscription_bytes(Subscription(("t",))))
    return made(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(protocol,),
    )


def commit_of(partition: int) -> Record:
    return Record(1, messages.OffsetCommitKey(group="g", topic="t", partition=partition), messages.OffsetCommitValue(), 3)


def leave(member_id: str) -> messages.LeaveGroupRequest:
    return messages.LeaveGroupRequest(group_id="g", member_id=member_id)


async def test_what_comes_behind_a_join_that_waits_is_decided_after_it(image: MetadataImage) -> None:
    async with serving(image) as server:
        first, second, other = [await Peer.of(server) for _ in range(3)]
        member_id = (await first.ask(join(), JOIN, 3)).member_id
        second.send(join(), 3, 7)
        second.send(leave(member_id), 2, 8)
        for _ in range(2):
            described = (await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)).groups[0]
            assert (described.group_state, len(described.members)) == ("PreparingRebalance", 2), "the first has not left"
        assert (await first.ask(join(member_id), JOIN, 3)).generation_id == 2
        number, joined = await second.answer(JOIN, 3)
        assert (number, joined.generation_id) == (7, 2)
        number, left = await second.answer(LEAVE, 2)
        assert (number, left.error_code) == (8, 0)
        described = (await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)).groups[0]
        assert len(described.members) == 1
        for peer in (first, second, other):
            peer.close()


async def test_who_waits_is_sent_away_at_the_end(image: MetadataImage) -> None:
    async with serving(image) as server:
        first, second = [await Peer.of(server) for _ in range(2)]
        await first.ask(join(), JOIN, 3)
        second.send(join(), 3)
        while not server.machine.waiting:
            await asyncio.sleep(0)
        await server.close()
        assert (await second.answer(JOIN, 3))[1].error_code == 16
        for peer in (first, second):
            peer.close()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0)


async def test_what_waits_ends_with_its_connection(image: MetadataImage) -> None:
    async with serving(image) as server:
        first = await Peer.of(server)
        await first.ask(join(), JOIN, 3)
        for request, version in ((join(), 3), (messages.FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1), 12)):
            peers = [await Peer.of(server) for _ in range(20)]
            for peer in peers:
                peer.send(request, version)
            await until(lambda: len(server._pauses) + server.machine.waiting == len(peers))  # noqa: B023
            for peer in peers:
                peer.close()
            await until(lambda: not server._pauses and not server.machine.waiting)
        assert not server.machine._of_connections
        first.close()


async def test_what_was_sent_behind_a_join_before_the_end_is_decided_after_it(image: MetadataImage) -> None:
    async with serving(image) as server:
        first, second, other = [await Peer.of(server) for _ in range(3)]
        member_id = (await first.ask(join(), JOIN, 3)).member_id
        second.send(join(), 3)
        second.send(leave(member_id), 2)
        await until(lambda: server.machine.waiting == 1)
        second.close()
        assert (await first.ask(join(member_id), JOIN, 3)).generation_id == 2
        while True:
            described = (await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)).groups[0]
            if len(described.members) == 1:
                break
        assert described.members[0].member_id != member_id
        for peer in (first, other):
            peer.close()


async def test_a_fetch_waits_no_longer_than_a_minute(image: MetadataImage) -> None:
    async with serving(image) as server:
        peer = await Peer.of(server)
        peer.send(messages.FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1), 12)
        await until(lambda: bool(server._pauses))
        (pause,) = server._pauses.values()
        assert 0 < pause.when() - asyncio.get_running_loop().time() <= 60
        peer.close()


async def test_what_no_log_can_hold_ends_a_connection_and_is_not_written(image: MetadataImage) -> None:
    def heartbeat(size: int) -> messages.ConsumerGroupHeartbeatRequest:
        names = {"group_id": "h", "member_id": "m" * size, "subscribed_topic_names": ("t",)}
        return messages.ConsumerGroupHeartbeatRequest(**names, member_epoch=0, rebalance_timeout_ms=1000, topic_partitions=())

    async with serving(image) as server:
        good, bad = [await Peer.of(server) for _ in range(2)]
        bad.send(heartbeat(40_000), 1)
        with pytest.raises(asyncio.IncompleteReadError):
            await bad.frame()
        assert server.machine.shard.written == []
        assert (await good.ask(heartbeat(32_767), HEARTBEAT, 1)).error_code == 0
        made = messages.FetchRequest
        topic = made.FetchTopic(topic=TOPIC, partitions=(made.FetchPartition(partition=0, partition_max_bytes=1 << 20),))
        fetched = await good.ask(made(max_bytes=1 << 20, topics=(topic,)), 1, 12)
        (partition,) = fetched.responses[0].partitions
        assert partition.high_watermark == server.machine.shard.end_offset > 0
        assert len(partition.records) > 2 * 32_767
        for peer in (good, bad):
            peer.close()


def test_a_batch_that_is_not_encoded_is_in_neither_list(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [Written(number, 0, (commit_of(number),)) for number in range(3)]
    shard = Shard(GroupCoordinator(Settings(), SystemChance(), KnownTopics()), batches)
    log = OffsetsLog(shard)

    def refuse(batch: Written) -> bytes:
        raise EncodeError("it does not fit")

    with monkeypatch.context() as patched:
        patched.setattr(topic_requests, "batch_bytes", refuse)
        with pytest.raises(EncodeError):
            log.read(0, 0, 1000)
    assert log.read(0, 1, 1) == topic_requests.batch_bytes(batches[1])


def test_an_answer_that_does_not_fit_is_told_once_for_each_client_and_cause(image: MetadataImage) -> None:
    told: list[str] = []

    async def main() -> None:
        async with serving(image, on_event=told.append) as server:
            server._logs.list_offsets = lambda request, version: messages.ListOffsetsResponse(throttle_time_ms="no")  # type: ignore
            for version in (2, 2, 3):
                peer = await Peer.of(server)
                peer.send(messages.ListOffsetsRequest(replica_id=-1), version)
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await peer.frame()
                peer.close()

    run(main)
    start = "groups: client 'test': an answer to ListOffsets version"
    assert [line.startswith(f"{start} {version} does not fit: ") for line, version in zip(told, (2, 3), strict=True)] == [True, True]


async def test_a_log_does_not_end_below_zero(image: MetadataImage) -> None:
    made = messages.OffsetCommitRequest
    async with serving(image) as server:
        peer = await Peer.of(server)
        for offset, end in ((-5, 0), (7, 7), (-(2**63), 0)):
            partition = made.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
            topic = made.OffsetCommitRequestTopic(name="t", partitions=(partition,))
            committed = await peer.ask(made(group_id="g", topics=(topic,)), 8, 8)
            assert committed.topics[0].partitions[0].error_code == 0
            assert server._logs.bounds("t", 0) == (0, end)
        peer.close()


async def test_topics_that_cannot_be_asked_for_are_asked_for_again(image: MetadataImage) -> None:
    asked: list[Any] = []

    async def ask(request: Any, version: int | None, client: ClientIdentity | None) -> Any:
        asked.append(request)
        raise EncodeError("it does not fit")

    async with serving(image, ask) as server:
        peer = await Peer.of(server)
        topic = messages.MetadataRequest.MetadataRequestTopic(name="new")
        for number in (1, 2):
            await peer.ask(messages.MetadataRequest(topics=(topic,), allow_auto_topic_creation=True), 3, 8)
            await until(lambda: len(asked) == number and not server._made)  # noqa: B023
        peer.close()


def own_requests(image: MetadataImage, chance: random.Random) -> list[tuple[Any, int]]:
    """A request of each API that needs no coordinator, with names and ids that are there and that are not."""
    topic_id = chance.choice((image.topics.by_name["t"].id, bytes(16), b"\7" * 16))
    name = chance.choice(("t", "", "nope", "__consumer_offsets", "a b"))
    number = chance.choice((0, 1, -1, 4, 2**31 - 1))
    offset = chance.choice((0, -1, 5, -(2**63), 2**63 - 1))
    lists, fetch, epochs, meta = (
        messages.ListOffsetsRequest,
        messages.FetchRequest,
        messages.OffsetForLeaderEpochRequest,
        messages.MetadataRequest,
    )
    listed = lists.ListOffsetsTopic(name=name, partitions=(lists.ListOffsetsPartition(partition_index=number, timestamp=offset),))
    wanted = fetch.FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=number)
    by_name, by_id = (fetch.FetchTopic(**how, partitions=(wanted,)) for how in ({"topic": name}, {"topic_id": topic_id}))
    limits = {"max_wait_ms": chance.choice((0, -1, 1)), "min_bytes": number, "max_bytes": number}
    epoch = epochs.OffsetForLeaderTopic(topic=name, partitions=(epochs.OffsetForLeaderPartition(partition=number, leader_epoch=number),))
    return [
        (lists(replica_id=-1, topics=(listed,)), chance.randint(1, 11)),
        (fetch(topics=(by_name,), **limits), chance.randint(7, 12)),
        (fetch(topics=(by_id,), **limits), chance.randint(13, 18)),
        (epochs(topics=(epoch,)), chance.randint(3, 4)),
        (meta(topics=(meta.MetadataRequestTopic(name=name),)), chance.randint(8, 13)),
        (meta(topics=(meta.MetadataRequestTopic(name=None, topic_id=topic_id),)), chance.randint(12, 13)),
        (messages.DescribeClusterRequest(endpoint_type=chance.choice((1, 2, -3))), chance.randint(1, 2)),
        (messages.CreateTopicsRequest(), chance.randint(2, 7)),
    ]


@pytest.mark.slow
async def test_spoilt_requests_end_connections_and_nothing_else(image: MetadataImage) -> None:
    chance = random.Random(SEED)
    async with serving(image) as server:
        requests = RandomRequests(server.machine.shard.coordinator, chance)
        answered = over = 0
        peer = await Peer.of(server)
        for number in range(FRAMES):
            if chance.random() < 0.5:
                message, version = chance.choice(own_requests(image, chance))
            else:
                drawn = requests.draw(number)
                message, version = drawn.body, drawn.version
            data = encode_request(message, version, number, "test")
            peer.send_raw(data if chance.random() < 0.5 else frame(spoilt(chance, data[4:])))
            try:
                async with asyncio.timeout(0.05):
                    await peer.frame()
                answered += 1
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                over += 1
                peer.close()
                peer = await Peer.of(server)
        assert answered > FRAMES // 2 and over > FRAMES // 50, (answered, over)
        last = await Peer.of(server)
        assert (await last.ask(messages.ListGroupsRequest(), 16, 5)).error_code == 0
        for one in (peer, last):
            one.close()


async def test_an_id_that_no_record_could_hold_closes_its_connection_and_nobody_elses(image: MetadataImage) -> None:
    async with serving(image) as server:
        first, other = await Peer.of(server), await Peer.of(server)
        made = messages.ConsumerGroupHeartbeatRequest
        first.send(made(group_id="g", member_id="m" * 40_000, rebalance_timeout_ms=9000, subscribed_topic_names=("t",)), 1)
        with pytest.raises(asyncio.IncompleteReadError):
            await first.frame()
        assert server.machine.shard.written == []
        assert (await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)).groups[0].group_state == "Dead"
        first.close()
        other.close()


async def test_a_join_that_was_sent_again_is_not_kept(image: MetadataImage) -> None:
    """The first member is silent, so that the second one waits, and gives up and comes again on other connections."""
    async with serving(image) as server:
        peers = [await Peer.of(server) for _ in range(22)]
        member_id = (await peers[0].ask(join(), JOIN, 3)).member_id
        peers[1].send(join(), 3)
        other = await Peer.of(server)
        while len((await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)).groups[0].members) < 2:
            await asyncio.sleep(0.001)
        group = server.machine.shard.coordinator.state.groups["g"]
        second = next(id for id in group.members if id != member_id)  # type: ignore[attr-defined]
        for peer in peers[2:]:
            peer.send(join(second), 3)
            await other.ask(messages.DescribeGroupsRequest(groups=("g",)), DESCRIBE, 5)
        assert server.machine.waiting <= 2
        for peer in [*peers, other]:
            peer.close()
