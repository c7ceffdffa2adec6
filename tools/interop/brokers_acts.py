"""What can happen to brokers on a quorum while clients write and read: each act waits until the cluster has got over it."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from shutil import rmtree
from typing import Final

from confluent_kafka import ElectionType, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metashell.codec.releases import RELEASES, metadata_version_name
from metashell.metadata.image import MetadataImage
from tools.interop.brokers import CONTROLLERS, BrokerCluster, unfenced
from tools.interop.brokers_image import directory_id, led_by, placed_in, throttled
from tools.interop.brokers_traffic import Client, Copier, Decider, Member, Writer
from tools.interop.nodes import NodeFailedError

REASSIGN: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
PARTITIONS: Final = 6
PER_SECOND: Final = 10.0
"""What each writer sends: enough that something is under way whoever dies, and most of the processors are left to the rest of a suite."""
STALL_S: Final = 60.0
COPIER_STALL_S: Final = 20.0
"""For the copier, when all others go on: its library may have forgotten it."""
AT_ONCE: Final = 20
"""Topics that are made by one request: their records are one batch, which has to fit into a small segment."""
METADATA: Final = "__cluster_metadata-0"
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
    stopped: list[tuple[float, int]] = field(default_factory=list)
    """When which broker had ended that was told to."""
    began: float = field(default_factory=time.monotonic)
    created: int = 0

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
        try:
            made[name].result(60)
        except KafkaException as error:
            # A broker asks again where the answer of a controller that died did not reach it.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        self.cluster.wait_until(f"{name} is there", lambda image: name in image.topics.by_name)
        self.tell(f"{name} is created")

    def start_traffic(self) -> None:
        where = self.cluster.bootstrap
        self.clients = [
            Writer("w1", where, self.topic, PARTITIONS, per_second=PER_SECOND),
            Writer("w2", where, self.topic, PARTITIONS, per_second=PER_SECOND),
            Member("m1", where, self.topic, "readers", protocol=self.protocol),
            Member("m2", where, self.topic, "readers", protocol=self.protocol),
            Copier("copier", where, self.topic, "copied", protocol=self.protocol),
            Decider("decider", where),
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
    def decider(self) -> Decider:
        return next(client for client in self.clients if isinstance(client, Decider))

    @property
    def copier(self) -> Copier:
        return next(client for client in self.clients if isinstance(client, Copier))

    def progress(self, *but: str) -> None:
        """Wait until each writer, the readers and the copier, `but` for some, got further than they are now."""
        before = {name: count for name, count in self.counts().items() if name not in but}
        took: dict[str, float] = {}
        began = time.monotonic()

        def is_further(_: MetadataImage) -> bool:
            now = self.counts()
            took.update({name: time.monotonic() - began for name in before if name not in took and now[name] > before[name] + 10})
            missing = before.keys() - took.keys()
            return not missing or (missing == {self.copier.name} and time.monotonic() - began > COPIER_STALL_S)

        try:
            self.cluster.wait_until("traffic goes on", is_further, STALL_S)
        except NodeFailedError as error:
            told = {client.name: (dict(client.errors), client.where()) for client in self.clients}
            self.tell(f"only {sorted(took)} of {sorted(before)} go on; what each was told and does: {told}")
            raise StoryError(f"not all traffic goes on: {error}") from error
        if len(took) < len(before):
            self.tell(f"the copier hangs at {self.copier.where()}, and is replaced")
            self.replace_copier()
            before[self.copier.name] = self.copier.copied
            self.cluster.wait_until("traffic goes on with another copier", is_further)
        self.tell("traffic goes on after " + ", ".join(f"{seconds:.1f} s ({name})" for name, seconds in took.items()))

    def replace_copier(self) -> None:
        """Start another process in place of one that hangs: with its transactional id, which fences it, and in its group.

        librdkafka's send_offsets_to_transaction may not return, whatever its timeout, when the coordinator of the group was stopped.
        """
        old = self.copier
        old.tell_to_end()
        self.clients.remove(old)
        new = Copier(old.name, self.cluster.bootstrap, self.topic, "copied", protocol=self.protocol)
        new.committed, new.aborted, new.copied = old.committed, old.aborted, old.copied
        self.clients.append(new.start())

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
        alone = [id for id in (*CONTROLLERS, *self.cluster.plan.brokers) if not self.cluster.is_together(id)]
        controllers, brokers = [id for id in alone if id in CONTROLLERS], [id for id in alone if id not in CONTROLLERS]
        of_brokers = [self.kill_broker, self.stop_broker, self.pause_broker]
        of_controllers = [self.kill_controller, self.stop_controller, self.pause_controller]
        done = 0
        while done < rounds or time.monotonic() < until:
            done += 1
            active = self.cluster.wait_for_leader()
            match chance.randrange(5) if controllers else 0:
                case 0 | 1:
                    chance.choice(of_brokers)(chance.choice(brokers))
                case 2 | 3:
                    chance.choice(of_controllers)(chance.choice([active, *controllers]))
                case _ if chance.random() < 0.5:
                    self.kill_all_controllers()
                case _:
                    self.kill_broker(chance.choice(brokers), with_controller=active)

    def kill_controller(self, id: int) -> None:
        """kill -9 of a controller and its start; where it was the active one, another one takes over and answers through a broker."""
        epoch, was_active = self.cluster.epoch, self.cluster.leader_id == id
        self.cluster.kill(id)
        self._without_controller(id, "killed", epoch if was_active else None)

    def stop_controller(self, id: int) -> None:
        """SIGTERM of a controller, which ends with status 0 and leaves the lead to another one; and its start."""
        epoch, was_active = self.cluster.epoch, self.cluster.leader_id == id
        status = self.cluster.stop(id)
        if status not in (0, 143):
            raise StoryError(f"controller {id} was told to stop and ended with {status}")
        self._without_controller(id, "stopped", epoch if was_active else None)

    def outrun_controller(self, id: int) -> None:
        """A controller is killed while so much changes that the others have snapshots in place of what it missed."""
        epoch, was_active = self.cluster.epoch, self.cluster.leader_id == id
        missed = self.cluster.quorum_end(id)
        self.cluster.kill(id)
        if was_active:
            self._takeover(id, epoch)
        others = [other for other in CONTROLLERS if other != id]
        admin, rounds = self.admin(), 0
        while min(map(self.cluster.quorum_start, others)) <= missed:
            self.created += 1
            rounds += 1
            names = [f"brief-{self.created}-{number}" for number in range(AT_ONCE)]
            for made in admin.create_topics([NewTopic(name, 4, 2) for name in names], operation_timeout=60).values():
                made.result(60)
            for gone in admin.delete_topics(names, operation_timeout=60).values():
                gone.result(60)
        self.cluster.start(id)
        took = self.cluster.wait_until_joined(id)
        self.cluster.wait_until(f"{id} has a snapshot of them", lambda _: self.cluster.quorum_start(id) > missed)
        self.tell(f"controller {id} missed {rounds * AT_ONCE} topics, which came and went, and follows by a snapshot after {took:.1f} s")
        self.progress()

    def _without_controller(self, id: int, how: str, epoch: int | None) -> None:
        """`epoch` is the one in which it was active, None if it was not."""
        if epoch is not None:
            took = self._takeover(id, epoch)
            self.tell(f"active controller {id} {how}, {self.cluster.leader_id} is active after {took:.1f} s")
        else:
            self.tell(f"standby {id} {how}")
        self.create_another()
        self.cluster.start(id)
        took = self.cluster.wait_until_joined(id)
        self.tell(f"controller {id} follows again after {took:.1f} s")
        self.progress()

    def _takeover(self, id: int, epoch: int) -> float:
        began = time.monotonic()
        self.cluster.wait_for_leader(other_than=id, after_epoch=epoch)
        return time.monotonic() - began

    def create_another(self) -> None:
        """Create a topic of another name each time."""
        self.created += 1
        self.create(f"another-{self.created}", 1, 2)

    def pause_controller(self, id: int) -> None:
        """A controller stands still, so that another takes over where it led; then it finds out."""
        epoch, was_active = self.cluster.epoch, self.cluster.leader_id == id
        process = self.cluster.nodes[id].process
        process.send_signal(signal.SIGSTOP)
        try:
            took = self._takeover(id, epoch) if was_active else 0.0
            self.create_another()
        finally:
            process.send_signal(signal.SIGCONT)
        self.cluster.wait_until_joined(id)
        self.tell(f"controller {id} stood still" + (f", {self.cluster.leader_id} is active after {took:.1f} s" if was_active else ""))
        self.progress()

    def kill_all_controllers(self) -> None:
        """No controller is left: what has a leader goes on, and all is as it was when they return."""
        epoch = self.cluster.epoch
        for id in CONTROLLERS:
            self.cluster.kill(id)
        self.progress()
        self.cluster.start(*CONTROLLERS)
        self.cluster.wait_for_leader(after_epoch=epoch)
        for id in CONTROLLERS:
            self.cluster.wait_until_joined(id)
        self.tell(f"all controllers killed; {self.cluster.leader_id} is active again")
        self.create_another()
        self.progress()

    def kill_broker(self, id: int, *, with_controller: int | None = None, forgets: bool = False) -> None:
        """kill -9 of a broker: others lead its partitions within the session timeout; then it returns and is in sync again.

        `with_controller` dies with it; where it `forgets`, it has lost its copy of the metadata log.
        """
        died = self.cluster.kill(id)
        if with_controller is not None:
            self.cluster.kill(with_controller)
            self.tell(f"controller {with_controller} killed, and at once")
        took = self.cluster.wait_until(f"{id} leads nothing", lambda image: id not in unfenced(image) and not led_by(image, id))
        self.tell(f"broker {id} killed, it leads nothing after {took:.1f} s")
        self.progress()
        if with_controller is not None:
            self.cluster.start(with_controller)
            self.cluster.wait_until_joined(with_controller)
        if forgets:
            rmtree(self.cluster.directory(id) / METADATA)
        self.cluster.start(id)
        self.cluster.wait_until_unfenced(id)
        self.killed.append((died, id, time.time()))
        took = self.cluster.wait_until_whole()
        self.tell(f"broker {id} is back, all in sync {took:.1f} s after it was unfenced")

    def pause_broker(self, id: int) -> None:
        """A broker stands still until it is fenced; it goes on as a zombie that leads nothing, and is in sync again."""
        paused, process = time.time(), self.cluster.nodes[id].process
        process.send_signal(signal.SIGSTOP)
        try:
            took = self.cluster.wait_until(f"{id} leads nothing", lambda image: id not in unfenced(image) and not led_by(image, id))
        finally:
            process.send_signal(signal.SIGCONT)
        self.cluster.wait_until_unfenced(id)
        self.killed.append((paused, id, time.time()))
        self.cluster.wait_until_whole()
        self.tell(f"broker {id} stood still, it led nothing after {took:.1f} s, and is back")
        self.progress()

    def stop_broker(self, id: int, *, repair: int | None = None) -> None:
        """SIGTERM to a broker: its partitions get other leaders first, at no time they have none; then it returns.

        `repair` is a log directory that is sound again before it does.
        """
        began = time.monotonic()
        status = self.cluster.stop(id)
        took, ended = time.monotonic() - began, time.time()
        if status not in (0, 143):
            raise StoryError(f"broker {id} was told to stop and ended with {status}")
        # Whether that was so when it ended, and not only after its session, `check_log` sees.
        self.cluster.wait_until(f"{id} leads nothing", lambda image: not led_by(image, id))
        self.stopped.append((ended, id))
        self.tell(f"broker {id} stopped in {took:.1f} s, others lead")
        self.progress()
        if repair is not None:
            (self.cluster.directory(id, repair) / CHECKPOINT_COPY).rmdir()
        self.cluster.start(id)
        self.cluster.wait_until_unfenced(id)
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
        path = self.cluster.directory(id, number) / CHECKPOINT_COPY

        def is_in_the_way(_: MetadataImage) -> bool:
            # The broker may be writing it at this moment, and then renames it.
            with suppress(FileExistsError):
                path.mkdir()
            return path.is_dir()

        self.cluster.wait_until(f"{path} is a directory", is_in_the_way)

        def has_moved(image: MetadataImage) -> bool:
            online = failed not in image.cluster.brokers[id].directories
            return online and not any(partition.leader == id or id in partition.isr for _, partition in placed_in(image, id, failed))

        took = self.cluster.wait_until(f"directory {number} of {id} is offline, what was there has moved", has_moved)
        self.tell(f"directory {number} of broker {id} failed with {len(there)} replicas in it, others lead after {took:.1f} s")
        # A transaction that this broker was to take part in waits for half a minute, or until it is gone.
        self.progress("copier")

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
        limited = throttled(self.cluster.image)
        if not limited:
            raise StoryError(f"no throttle was set: {text}")

        def is_done(image: MetadataImage) -> bool:
            for (topic, number), (replicas, _) in wanted.items():
                partition = image.topics.by_name[topic].partitions[number]
                if tuple(replicas) != partition.replicas or partition.adding_replicas or partition.removing_replicas:
                    return False
            return True

        took = self.cluster.wait_until("the reassignment is done", is_done)
        self.tell(f"{len(wanted)} partitions reassigned in {took:.1f} s")

        def is_free(image: MetadataImage) -> bool:
            # The tool takes the throttles away once it sees nothing under way, replicas that change their directory included.
            nonlocal text
            if throttled(image):
                text = self.cluster.tool(REASSIGN, *words, "--verify")
            return not throttled(image)

        self.cluster.wait_until("the throttles are gone", is_free)
        self.tell(f"its throttles were set, and are gone: {sorted(limited)}")
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

    # ---- features

    def refuse_upgrade(self, release: str) -> None:
        """The features of a release are refused while a node does not support them."""
        told = self._feature_error("upgrade", "--release-version", release)
        if "only supports versions" not in told:
            raise StoryError(f"kafka-features upgrade --release-version {release}: {told}")
        self.tell(f"the features of {release} are refused")

    def upgrade(self, release: str) -> None:
        """The features of a release are finalized; a way back over a changed metadata.version is refused."""
        if told := self._feature_error("upgrade", "--release-version", release):
            raise StoryError(told)
        level = next(known for known in RELEASES if known.name == release).newest_level
        self.cluster.wait_until(f"metadata.version is {level}", lambda image: image.features.metadata_version == level)
        told = self._feature_error("downgrade", "--metadata", metadata_version_name(level - 1))
        if "Refusing to perform the requested downgrade" not in told:
            raise StoryError(f"a downgrade of metadata.version to {level - 1}: {told}")
        self.tell(f"the features of {release} are finalized, a way back is refused")

    def _feature_error(self, *words: str) -> str:
        try:
            self.cluster.tool("features", "--bootstrap-server", self.cluster.bootstrap, *words)
        except NodeFailedError as error:
            return str(error)
        return ""
