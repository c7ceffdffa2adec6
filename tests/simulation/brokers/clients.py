"""Producers and consumers: they ask the leader that some broker named, and another broker when that fails."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.brokers import leading
from tests.simulation.brokers.broker import Broker
from tests.simulation.brokers.replica import Key
from tests.simulation.brokers.world import Call, Node

if TYPE_CHECKING:
    from tests.simulation.brokers.cluster import Cluster

Leaders = dict[Key, tuple[int, int]]
"""Who leads each partition, and in which epoch."""


class Client(Node):
    """Somebody who asks about one partition after the other, and knows leaders as a broker told them."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster.world, name)
        self.cluster = cluster
        self.leaders: Leaders = {}
        self.is_stopped = False
        self._next = 0

    def begin(self) -> None:
        self.after(self.world.about(self.world.options.produce_every), self._turn)

    def _turn(self) -> None:
        if self.is_stopped:
            return
        every = self.world.options.produce_every / len(self.cluster.keys)
        self.after(max(1, self.world.between(0.5 * every, 1.5 * every)), self._turn)
        key = self.cluster.keys[self._next % len(self.cluster.keys)]
        self._next += 1
        leader_id, epoch = self.leaders.get(key, (-1, -1))
        if leader_id < 0:
            self._ask_who_leads()
            return
        self.ask(key, self.cluster.brokers[leader_id], epoch)

    def ask(self, key: Key, leader: Broker, epoch: int) -> None:
        raise NotImplementedError

    def call(self, leader: Broker, then: Any) -> Call:
        return Call(self, leader, then, self.world.options.request_timeout_ms)

    def failed(self) -> None:
        self._ask_who_leads()

    def _ask_who_leads(self) -> None:
        ids = sorted(self.cluster.brokers)
        broker = self.cluster.brokers[ids[self.world.random.randrange(len(ids))]]
        Call(self, broker, self._told_who_leads, 300).send(metadata, broker)

    def _told_who_leads(self, leaders: Leaders | None) -> None:
        # Clients forget what they know for something newer only.
        for key, (id, epoch) in (leaders or {}).items():
            if epoch >= self.leaders.get(key, (-1, -1))[1]:
                self.leaders[key] = id, epoch


def metadata(broker: Broker, reply: Any) -> None:
    """What a broker tells of leaders; one that serves nobody says nothing."""
    image = broker.image()
    if not broker.is_serving or image is None:
        return
    told: Leaders = {}
    for name, number in broker.cluster.keys:
        topic = image.topics.by_name.get(name)
        if topic is not None:
            partition = topic.partitions[number]
            told[name, number] = partition.leader, partition.leader_epoch
    reply(told)


class Producer(Client):
    """Writes each value once; what it is not told to be there may be there all the same."""

    def ask(self, key: Key, leader: Broker, epoch: int) -> None:
        is_all = self.world.random.random() < self.world.options.acks_all_part
        value = self.cluster.next_value()
        call = self.call(leader, partial(self._told, key, is_all))
        call.send(leading.produce, leader, key, epoch, value, is_all)

    def _told(self, key: Key, is_all: bool, answer: Any) -> None:
        if isinstance(answer, int):
            self.world.counts["written with acks=all" if is_all else "written with acks=1"] += 1
            if is_all:
                self.cluster.times.wrote(key, self.world.now)
        else:
            self.world.counts[f"not written: {answer or 'no answer'}"] += 1
            if answer not in ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"):
                self.failed()


class Consumer(Client):
    """Reads every partition in order, from a place of its own in each."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        super().__init__(cluster, name)
        self._places: dict[Key, int] = {}

    def ask(self, key: Key, leader: Broker, epoch: int) -> None:
        self.call(leader, partial(self._told, key)).send(leading.consume, leader, key, epoch, self._places.get(key, 0))

    def _told(self, key: Key, answer: Any) -> None:
        if answer is None or answer.error:
            if answer is not None and answer.error == "OFFSET_OUT_OF_RANGE":
                self._places[key] = answer.high_watermark
            self.world.counts[f"not read: {answer.error if answer is not None else 'no answer'}"] += 1
            self.failed()
            return
        self.world.counts["reads"] += 1
        self.cluster.times.read(key, self.world.now)
        if answer.start == self._places.get(key, 0):
            self._places[key] = answer.start + len(answer.records)


class Times:
    """For how long nobody could write or read a partition: gaps between two successes that are longer than a moment."""

    def __init__(self, moment_ms: int) -> None:
        self._moment_ms = moment_ms
        self._written: dict[Key, int] = {}
        self._read: dict[Key, int] = {}
        self.unwritable_ms = 0
        self.unreadable_ms = 0

    def forget(self) -> None:
        """Begin to measure anew; whoever could be written and read keeps that."""
        self.unwritable_ms = self.unreadable_ms = 0

    def wrote(self, key: Key, now_ms: int) -> None:
        self.unwritable_ms += self._gap(self._written, key, now_ms)

    def read(self, key: Key, now_ms: int) -> None:
        self.unreadable_ms += self._gap(self._read, key, now_ms)

    def _gap(self, times: dict[Key, int], key: Key, now_ms: int) -> int:
        gap = now_ms - times.get(key, now_ms)
        times[key] = now_ms
        return gap if gap > self._moment_ms else 0
