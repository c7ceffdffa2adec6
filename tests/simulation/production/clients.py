"""Clients of a production world: they append metadata through whoever leads, and remember what was acknowledged.

What a client was told is committed has to be in every log and image that is left at the end; what it was told nothing of may be.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.registry import message_type
from metashell.quorum.raft.messages import RaftError
from tests.simulation.production import operators
from tests.simulation.production.workers import Killed
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from tests.simulation.history import Entry
    from tests.simulation.production.world import ProductionHost, ProductionWorld

RULE = "L9 AcknowledgedSurvives"
METADATA_VERSION = 25
TOPIC = 2
"""The resource type of a topic's configs."""
TOPICS_MAX = 20
"""Topics that exist as far as clients know; more would only make each comparison of images slower."""
SLOW_DECISIONS = 0.2
DECISION_S = 0.05
"""Some appends are decided on so long before they are prepared, at most."""
UNDECODABLE = b"\x01\xe7\x07\x00of a type that is not there yet"


def record(name: str, version: int = 0, /, **fields: Any) -> bytes:
    """The bytes of a metadata record."""
    return write_metadata_record(message_type("metadata", name).cls(**fields), version)


@dataclass(slots=True)
class Topic:
    """A topic as a client knows it. `is_certain` until something about it was asked for and not acknowledged."""

    name: str
    id: bytes
    partitions: int
    exists: bool = False
    is_certain: bool = True
    configs: dict[str, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Change:
    """One append: its values, and what it means for a topic once it is acknowledged."""

    values: list[bytes]
    topic: Topic | None = None
    exists: bool | None = None
    config: tuple[str, str | None] | None = None
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What a client was told: its values lie in the log up to that offset, in that epoch, committed."""

    offset: int
    epoch: int
    values: tuple[bytes, ...]


class Clients(operators.AskedWork):
    """All clients together. `acknowledged` is everything that they were told is committed."""

    world: ProductionWorld

    def __init__(self, world: ProductionWorld) -> None:
        super().__init__(world)
        self.acknowledged: list[Acknowledged] = []
        self.topics: list[Topic] = []
        self.is_begun = False
        """Whether metadata.version is known to be set: before that nothing else is appended."""

    def begin(self) -> None:
        world, options = self.world, self.world.options
        world.push(world.now + options.append_every, append_some, None, None)
        if options.undecodable_every:
            world.push(world.now + int(world.random.expovariate(1 / options.undecodable_every)), append_undecodable, None, None)

    def append(self, host: ProductionHost, count: int) -> int:
        """Ask a leader to append something, and give the last offset, -1 where it refused at once or cannot be asked."""
        change = self.next_change()
        host.last_prepared = -1
        self.ask_for(host, change)
        return host.last_prepared

    def ask_for(self, host: ProductionHost, change: Change) -> None:
        process = host.process
        if process is None or process.loop.busy_until > self.world.now_us:
            return
        self.written += 1
        if change.topic is not None:
            change.topic.is_certain = False
        process.loop.start(self._append(host, process.server, change))
        process.loop.run()

    async def _append(self, host: ProductionHost, server: Any, change: Change) -> None:
        world, driver = self.world, server.driver
        epoch = driver.node.epoch
        try:
            if world.faults_on and world.chance() < SLOW_DECISIONS:
                # What was decided in an epoch is appended in it, or never.
                await asyncio.sleep(world.chance() * DECISION_S)
            offset = driver.prepare(epoch, change.values)
            driver.schedule()
            await driver.committed(offset, epoch)
        except RaftError:
            world.counts["refused appends"] += 1
            return
        except Killed:
            return
        world.counts["acknowledged"] += 1
        told = Acknowledged(offset, epoch, tuple(change.values))
        self.acknowledged.append(told)
        if world.trace is not None:
            world.trace.note(world, f"client: {host.name} acknowledges {len(change.values)} values up to {offset}")
        world.checked(check_told, world, host, told)
        self.is_begun = self.is_begun or change.is_first
        topic = change.topic
        if topic is not None:
            topic.is_certain = True
            if change.exists is not None:
                topic.exists = change.exists
            if change.config is not None:
                topic.configs[change.config[0]] = change.config[1]

    def next_change(self) -> Change:
        """Something that a controller would write now. Topics whose state is not known are left alone."""
        chance = self.world.chance
        if not self.is_begun:
            first = record("FeatureLevelRecord", name="metadata.version", feature_level=METADATA_VERSION)
            return Change([first], is_first=True)
        known = [topic for topic in self.topics if topic.is_certain and topic.exists]
        draw = chance()
        if not known or (draw < 0.3 and len(known) < TOPICS_MAX):
            return self._create()
        topic = known[int(chance() * len(known))]
        if draw < 0.65:
            name = ("retention.ms", "cleanup.policy")[int(chance() * 2)]
            value = None if chance() < 0.2 else str(int(chance() * 1_000_000))
            values = [record("ConfigRecord", resource_type=TOPIC, resource_name=topic.name, name=name, value=value)]
            return Change(values, topic, config=(name, value))
        if draw < 0.8:
            fields = {"topic_id": topic.id, "partition_id": int(chance() * topic.partitions), "leader": 1 + int(chance() * 3)}
            return Change([record("PartitionChangeRecord", 1, **fields)], topic)
        if draw < 0.95:
            return Change([record("RemoveTopicRecord", topic_id=topic.id)], topic, exists=False)
        return Change([record("NoOpRecord")])

    def _create(self) -> Change:
        chance = self.world.chance
        number = len(self.topics) + 1
        topic = Topic(f"topic-{number}", bytes(8) + number.to_bytes(8, "big"), 1 + int(chance() * 3))
        self.topics.append(topic)
        values = [record("TopicRecord", name=topic.name, topic_id=topic.id)]
        for partition in range(topic.partitions):
            fields = {"topic_id": topic.id, "partition_id": partition, "replicas": [1, 2, 3], "isr": [1, 2], "leader": 1}
            directories = [bytes(15) + bytes((broker,)) for broker in (101, 102, 103)]
            values.append(record("PartitionRecord", 1, **fields, leader_epoch=0, partition_epoch=0, directories=directories))
        if chance() < 0.2:
            values = [record("BeginTransactionRecord"), *values, record("EndTransactionRecord")]
        return Change(values, topic, exists=True)

    # What must hold at the end

    def check_alive(self) -> None:
        """What must happen once nothing fails any more, beside what replicas do."""

    def check_logs(self, host: ProductionHost) -> None:
        """All that was acknowledged and is not compacted away lies in a log, where it was said to lie."""
        log = host.log
        for told in self.acknowledged:
            if told.offset >= log.start_offset:
                entry = next((entry for entry in log.entries if entry.base <= told.offset < entry.end), None)
                check_entry(host.name, told, entry)

    def check_image(self, host: ProductionHost, image: MetadataImage) -> None:
        """The image has all topics and configs that were acknowledged, and none that was acknowledged to be removed."""
        for topic in self.topics:
            if not topic.is_certain:
                continue
            found = image.topics.by_id.get(topic.id)
            if (found is not None) != topic.exists:
                raise Violation(
                    RULE, f"{topic.name} {'is' if found else 'is not'} in the image of {host.name}, against what a client was told"
                )
            if topic.exists:
                has = configs_of(image, topic.name)
                for name, value in topic.configs.items():
                    if has.get(name) != value:
                        raise Violation(RULE, f"{topic.name} has {name}={has.get(name)} on {host.name}, a client was told {value}")


def configs_of(image: MetadataImage, topic: str) -> dict[str, str]:
    """The configs of a topic."""
    for resource, found in image.configs.items():
        if tuple(resource) == (TOPIC, topic):
            return dict(found.items())
    return {}


def check_told(world: ProductionWorld, host: ProductionHost, told: Acknowledged) -> None:
    """At the moment of the answer: it lies in the committed path, in one batch."""
    history = world.history
    entry: Entry | None = history.tip
    while entry is not None and entry.base > told.offset:
        entry = entry.prev
    check_entry(f"the committed path, as {host.name} acknowledges it,", told, entry)


def check_entry(name: str, told: Acknowledged, entry: Entry | None) -> None:
    if entry is None or told.offset >= entry.end or told.epoch != entry.epoch or not all(value in entry.data for value in told.values):
        raise Violation(RULE, f"what was acknowledged at {told.offset} is not in {name}: there is {entry}")


def append_some(world: ProductionWorld, first: None, second: None) -> None:
    """One client call, and the next one later."""
    work, options = world.work, world.options
    world.push(world.now + 1 + int(world.random.expovariate(1 / options.append_every)), append_some, None, None)
    if not work.is_writing:
        return
    for _ in range(1 + int(world.chance() * options.burst)):
        host = work.leader()
        if host is None:
            return
        work.append(host, 1)


def append_undecodable(world: ProductionWorld, first: None, second: None) -> None:
    """A later version of the software wrote what this one does not know."""
    host = world.work.leader()
    if host is None:
        world.push(world.now + 100, append_undecodable, None, None)
    else:
        world.is_undecodable = True
        world.work.ask_for(host, Change([UNDECODABLE]))
