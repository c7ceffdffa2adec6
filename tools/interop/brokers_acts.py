"""What can happen to brokers on a quorum while clients write and read: each act waits until the cluster has got over it."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metashell.image import MetadataImage
from metashell.image.partitions import PartitionRegistration
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties
from tools.interop.brokers import CONTROLLERS, BrokerCluster, unfenced
from tools.interop.brokers_history import read_history
from tools.interop.brokers_traffic import (
    Client,
    Copier,
    Member,
    Writer,
    check_copied,
    check_seen,
    check_written,
    read_topic,
)

REASSIGN: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
PARTITIONS: Final = 6
ELECTION_S: Final = 5.0
"""What an election of a controller may take on a busy machine, with the fetch timeout of 2 s before it."""
CHECKPOINT_COPY: Final = "replication-offset-checkpoint.tmp"


class StoryError(Exception):
    """Something that must hold does not."""


@dataclass(slots=True)
class Story:
    """A running cluster with traffic on it. `killed` has each broker's death: time, id, and when it led or followed again."""

    cluster: BrokerCluster
    say: Callable[[str], None]
    topic: str = "traffic"
    protocol: str = "classic"
    killed: list[tuple[float, int, float]] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def tell(self, line: str) -> None:
        self.say(f"{time.monotonic() - self.began:6.1f} s  {line}")

    # ---- beginnings

    def start_nodes(self, *brokers: int) -> None:
        self.cluster.start(*CONTROLLERS)
        leader = self.cluster.wait_for_leader()
        self.tell(f"controller {leader} is active, epoch {self.cluster.epoch}")
        self.cluster.start(*brokers)
        self.cluster.wait_until_unfenced(*brokers)
        self.tell(f"brokers {brokers} are unfenced")

    def admin(self) -> AdminClient:
        """A client, which has to be held until its answers are there."""
        return AdminClient({"bootstrap.servers": self.cluster.bootstrap, "log_level": 2})

    def create(self, name: str, partitions: int, copies: int, **config: str) -> None:
        """Create a topic through a broker."""
        admin = self.admin()
        made = admin.create_topics([NewTopic(name, partitions, copies, config=config)], operation_timeout=30)
        for future in made.values():
            future.result(60)
        self.cluster.wait_until(f"{name} is there", lambda image: name in image.topics.by_name)
        self.tell(f"{name} is created")

    def start_traffic(self) -> None:
        where = self.cluster.bootstrap
        self.clients = [
            Writer("w1", where, self.topic, PARTITIONS, per_second=150),
            Writer("w2", where, self.topic, PARTITIONS, per_second=150),
            Member("m1", where, self.topic, "readers", protocol=self.protocol),
            Member("m2", where, self.topic, "readers", protocol=self.protocol),
            Copier("copier", where, self.topic, "copied", PARTITIONS, protocol=self.protocol),
        ]
        for client in self.clients:
            client.start()

    @property
    def writers(self) -> list[Writer]:
        return [client for client in self.clients if isinstance(client, Writer)]

    @property
    def members(self) -> list[Member]:
        return [client for client in self.clients if isinstance(client, Member)]

    @property
    def copier(self) -> Copier:
        return next(client for client in self.clients if isinstance(client, Copier))

    def progress(self, limit_s: float = 60.0) -> None:
        """Wait until each writer, the readers and the copier got further than they are now."""
        before = self.counts()
        took: dict[str, float] = {}
        began = time.monotonic()

        def is_further(_: MetadataImage) -> bool:
            now = self.counts()
            took.update({name: time.monotonic() - began for name in now if name not in took and now[name] > before[name] + 20})
            return len(took) == len(now)

        self.cluster.wait_until("traffic goes on", is_further, limit_s)
        self.tell("traffic goes on after " + ", ".join(f"{seconds:.1f} s ({name})" for name, seconds in took.items()))

    def counts(self) -> dict[str, int]:
        """How far each of the clients is, the members of the group together."""
        writers = {writer.name: writer.count for writer in self.writers}
        return writers | {"group": sum(len(member.seen) for member in self.members), "copier": self.copier.copied}

    # ---- what happens

    def make_by_producing(self, name: str) -> None:
        """A producer writes to a topic that is not there: its broker has the controller make it."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap, "log_level": 2})
        producer.produce(name, b"1")
        if producer.flush(60):
            raise StoryError(f"{name} was not made for a producer")
        self.cluster.wait_until(f"{name} is there", lambda image: name in image.topics.by_name)
        self.tell(f"{name} was made for a producer")

    def kill_each_controller(self) -> None:
        """All three, one after the other, the active one first; none where they share a process."""
        left = set(CONTROLLERS)
        while left and not self.cluster.is_together(*CONTROLLERS):
            active = self.cluster.wait_for_leader()
            id = active if active in left else min(left)
            self.kill_controller(id)
            left.remove(id)

    def some_deaths(self, chance: random.Random, rounds: int, until: float) -> None:
        """Random deaths, `rounds` of them or until a time."""
        killable = [id for id in (*CONTROLLERS, *self.cluster.plan.brokers) if not self.cluster.is_together(id)]
        done = 0
        while done < rounds or time.monotonic() < until:
            done += 1
            id = chance.choice(killable)
            if id in CONTROLLERS:
                self.kill_controller(id if chance.random() < 0.4 else self.cluster.wait_for_leader())
            elif chance.random() < 0.6:
                self.kill_broker(id)
            else:
                self.stop_broker(id)

    def kill_controller(self, id: int) -> None:
        """kill -9 of a controller and its start; where it was the active one, another one takes over and answers through a broker."""
        epoch, was_active = self.cluster.epoch, self.cluster.leader_id == id
        self.cluster.kill(id)
        began = time.monotonic()
        if was_active:
            leader = self.cluster.wait_for_leader(other_than=id, after_epoch=epoch)
            self.tell(f"active controller {id} killed, {leader} is active after {time.monotonic() - began:.1f} s")
        else:
            self.tell(f"standby {id} killed")
        name = f"after-{self.cluster.epoch}-{id}"
        self.create(name, 1, 2)
        self.cluster.start(id)
        took = self.cluster.wait_until_joined(id)
        self.tell(f"controller {id} follows again after {took:.1f} s")
        self.progress()

    def kill_broker(self, id: int) -> None:
        """kill -9 of a broker: others lead its partitions within the session timeout; then it returns and is in sync again."""
        died = self.cluster.kill(id)
        took = self.cluster.wait_until(f"{id} leads nothing", lambda image: id not in unfenced(image) and not led_by(image, id))
        self.tell(f"broker {id} killed, it leads nothing after {took:.1f} s")
        self.progress()
        self.cluster.start(id)
        self.cluster.wait_until_unfenced(id)
        self.killed.append((died, id, time.time()))
        took = self.cluster.wait_until_whole()
        self.tell(f"broker {id} is back, all in sync {took:.1f} s after it was unfenced")

    def stop_broker(self, id: int, *, repair: int | None = None) -> None:
        """SIGTERM to a broker: its partitions get other leaders first, at no time they have none; then it returns.

        `repair` is a log directory that is sound again before it does.
        """
        began = time.monotonic()
        status = self.cluster.stop(id)
        took, ended = time.monotonic() - began, time.time()
        if status not in (0, 143):
            raise StoryError(f"broker {id} was told to stop and ended with {status}")
        left = led_by(self.cluster.image, id)
        if left:
            raise StoryError(f"broker {id} ended and still leads {left}")
        self.tell(f"broker {id} stopped in {took:.1f} s, others lead")
        self.progress()
        if repair is not None:
            (self.cluster.directory(id, repair) / CHECKPOINT_COPY).rmdir()
        self.cluster.start(id)
        self.cluster.wait_until_unfenced(id)
        self.killed.append((ended, id, time.time()))
        took = self.cluster.wait_until_whole()
        self.tell(f"broker {id} is back, all in sync {took:.1f} s after it was unfenced")

    def fail_directory(self, id: int, number: int) -> None:
        """Make a log directory fail below a broker: it says so, and the partitions there get other leaders.

        The checkpoint of high watermarks is written beside itself and renamed: where a directory has that name, Kafka gets an
        IOException, which is what a failed disk gives.
        """
        directories = self.cluster.image.cluster.brokers[id].directories
        failed = directory_id(self.cluster.directory(id, number))
        there = [key for key, _ in placed_in(self.cluster.image, id, failed)]
        if not there or failed not in directories:
            raise StoryError(f"nothing of {id} lies in its directory {number}")
        (self.cluster.directory(id, number) / CHECKPOINT_COPY).mkdir()

        def has_moved(image: MetadataImage) -> bool:
            online = failed not in image.cluster.brokers[id].directories
            return online and not any(partition.leader == id or id in partition.isr for _, partition in placed_in(image, id, failed))

        took = self.cluster.wait_until(f"directory {number} of {id} is offline, what was there has moved", has_moved)
        self.tell(f"directory {number} of broker {id} failed with {len(there)} replicas in it, others lead after {took:.1f} s")
        self.progress()

    def reassign(self, wanted: Mapping[tuple[str, int], tuple[Sequence[int], Sequence[str]]], throttle: int) -> str:
        """Move replicas, by Kafka's tool with a throttle, and wait until it has; `wanted` has brokers and log directories (or `any`)."""
        parts = [
            {"topic": topic, "partition": partition, "replicas": list(replicas), "log_dirs": list(directories)}
            for (topic, partition), (replicas, directories) in wanted.items()
        ]
        path = self.cluster.place.folder / "reassignment.json"
        path.write_text(json.dumps({"version": 1, "partitions": parts}))
        words = ["--bootstrap-server", self.cluster.bootstrap, "--reassignment-json-file", str(path)]
        limits = ["--throttle", str(throttle), "--replica-alter-log-dirs-throttle", str(throttle)]
        text = self.cluster.tool(REASSIGN, *words, "--execute", *limits)

        def is_done(image: MetadataImage) -> bool:
            for (topic, number), (replicas, _) in wanted.items():
                partition = image.topics.by_name[topic].partitions[number]
                if tuple(replicas) != partition.replicas or partition.adding_replicas or partition.removing_replicas:
                    return False
            return True

        took = self.cluster.wait_until("the reassignment is done", is_done)
        self.tell(f"{len(wanted)} partitions reassigned in {took:.1f} s")
        text += self.cluster.tool(REASSIGN, *words, "--verify")
        return text

    def elect_preferred(self, id: int) -> None:
        """Have a broker lead what it is the first replica of."""
        mine = [
            TopicPartition(topic.name, number)
            for topic, number, partition in self.cluster.image.topics.iter_partitions()
            if partition.replicas[0] == id and id in partition.isr
        ]
        admin = self.admin()
        admin.elect_leaders(ElectionType.PREFERRED, mine).result(60)
        self.cluster.wait_until(f"{id} leads what it is preferred for", lambda image: len(led_by(image, id)) >= len(mine))
        self.tell(f"{id} was elected for {len(mine)} partitions that it is preferred for")

    # ---- ends

    def end_traffic(self) -> None:
        """End the clients, writers first and readers when they have read all, and compare. Errors: TrafficError."""
        for writer in self.writers:
            writer.end()
        where = self.cluster.bootstrap
        written = read_topic(where, self.topic, PARTITIONS)
        count = sum(map(len, written.values()))
        self.cluster.wait_until(
            "readers have read all",
            lambda _: len(set().union(*(member.seen for member in self.members))) >= count and self.copier.has_all,
        )
        for client in (*self.members, self.copier):
            client.end()
        copied = read_topic(where, "copied", PARTITIONS)
        for writer in self.writers:
            check_written(writer, written)
        check_seen(self.members, written)
        check_copied(written, copied)
        acknowledged = sum(writer.count for writer in self.writers)
        refused: Counter[str] = sum((writer.refused for writer in self.writers), start=Counter())
        copier = self.copier
        self.tell(f"{acknowledged} messages were acknowledged, {dict(refused) or 'none'} refused: each is there once, in order")
        self.tell(f"the group has read all, the copy has each once: {copier.committed} transactions committed, {copier.aborted} aborted")
        self.tell(f"errors that the copier met: {dict(copier.errors) or 'none'}")
        gaps = [max(writer.longest_gap_s.values()) for writer in self.writers]
        self.tell(f"longest time between two acknowledgements of a partition: {max(gaps):.1f} s")

    def check_leaders(self) -> None:
        """No partition was without a leader that lives for longer than the session timeout and an election. Errors: StoryError."""
        history = read_history(self.cluster.directory(self.cluster.leader_id))
        limit_s = self.cluster.plan.session_ms / 1000 + ELECTION_S
        times = history.leaderless_s(self.killed)
        long = [f"{seconds:.2f} s {line}" for seconds, line in times if seconds > limit_s]
        if long:
            raise StoryError(f"longer than {limit_s} s without a leader: {long[:10]}")
        longest = f"{times[0][0]:.2f} s ({times[0][1]})" if times else "0 s"
        self.tell(f"longest time of a partition without a leader that lives: {longest} of {limit_s:.1f} s allowed")


def led_by(image: MetadataImage, id: int) -> list[str]:
    """The partitions that a broker leads."""
    return [f"{topic.name}-{number}" for topic, number, partition in image.topics.iter_partitions() if partition.leader == id]


def placed_in(image: MetadataImage, id: int, directory: bytes) -> Iterator[tuple[str, PartitionRegistration]]:
    """The replicas of a broker that lie in one of its log directories."""
    for topic, number, partition in image.topics.iter_partitions():
        if dict(zip(partition.replicas, partition.directories, strict=True)).get(id) == directory:
            yield f"{topic.name}-{number}", partition


def directory_id(path: Path) -> bytes:
    """The id of a log directory."""
    found = read_meta_properties(str(path / META_PROPERTIES)).directory_id
    assert found is not None, path
    return found
