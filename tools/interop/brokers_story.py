"""What happens to brokers on a quorum while clients write and read, and what must hold at the end.

    python -m tools.interop.brokers_story [--controllers ours|4.3.1] [--story mixed|newest|all] [--rounds N] [--seconds S] [--dir D]

`mixed`: two brokers of 4.3.1 and one of 3.9.2 at metadata.version 3.9. Each controller and each broker is killed with -9, one broker is
told to stop. `newest`: two brokers of 4.3.1 at their newest metadata.version, with a KIP-848 group, two log directories each of which one
fails, and a reassignment with a throttle. With --controllers 4.3.1 the same is done to three of Kafka's controllers.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metashell.image import MetadataImage
from metashell.image.partitions import PartitionRegistration
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties
from tests.java import KAFKA
from tools.interop.brokers import CONTROLLERS, OURS, BrokerCluster, Plan, broker_cluster, unfenced
from tools.interop.brokers_history import read_history
from tools.interop.brokers_traffic import (
    Client,
    Copier,
    Member,
    TrafficError,
    Writer,
    check_copied,
    check_seen,
    check_written,
    read_topic,
)
from tools.interop.nodes import NodeFailedError

OLDER: Final = "3.9.2"
REASSIGN: Final = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
PARTITIONS: Final = 6
SESSION_MS: Final = 4_000
"""Short, so that a test is; the rule is the same with Kafka's 9 s."""
FETCH_MS: Final = 2_000
ELECTION_S: Final = 5.0
"""What an election of a controller may take on a busy machine, with the fetch timeout of 2 s before it."""
QUICK: Final = {
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 5_000,
    "replica.high.watermark.checkpoint.interval.ms": 1_000,
}


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
        limit_s = SESSION_MS / 1000 + ELECTION_S
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


# ---- the stories


def mixed_plan(controllers: str) -> Plan:
    """Two brokers of the newest release and one of an older, at the metadata.version of the older."""
    return Plan(
        controllers=controllers,
        brokers={11: KAFKA, 12: OLDER, 13: KAFKA},
        release="3.9",
        settings=QUICK | {"default.replication.factor": 3, "min.insync.replicas": 2},
        # One process for the controllers and a broker, since each takes its share of a small machine.
        together=() if controllers == OURS else ((*CONTROLLERS, 13),),
    )


def newest_plan(controllers: str) -> Plan:
    """Two brokers at the newest metadata.version; 11 has two log directories. Voters are in every node's settings."""
    copies = {"default.replication.factor": 2, "offsets.topic.replication.factor": 2, "transaction.state.log.replication.factor": 2}
    return Plan(
        controllers=controllers,
        brokers={11: KAFKA, 12: KAFKA},
        release="4.3",
        settings=QUICK | copies | {"transaction.state.log.min.isr": 1},
        directories={11: 2},
        is_dynamic=False,
        together=() if controllers == OURS else (CONTROLLERS,),
    )


def tell_mixed(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    cluster = story.cluster
    story.start_nodes(11, 12)
    words = ["--create", "--topic", "made", "--partitions", "3", "--replication-factor", "2"]
    cluster.tool("topics", "--bootstrap-server", cluster.addresses(11), *words)
    text = cluster.tool("topics", "--bootstrap-server", cluster.addresses(12), "--describe", "--topic", "made", version=OLDER)
    if len(re.findall(r"Leader: \d+\s+Replicas: (\S+)\s+Isr: \1\s", text)) != 3:
        raise StoryError(f"kafka-topics --describe says:\n{text}")
    story.tell("kafka-topics made a topic through 11 and described it through 12")
    cluster.start(13)
    cluster.wait_until_unfenced(11, 12, 13)
    story.tell("broker 13 is unfenced")
    for name in (story.topic, "copied"):
        story.create(name, PARTITIONS, 3)
    story.start_traffic()
    story.progress()
    story.make_by_producing("made-by-itself")
    story.kill_each_controller()
    story.kill_broker(11)
    story.stop_broker(12)
    story.some_deaths(chance, rounds, until)
    story.end_traffic()
    story.check_leaders()


def tell_newest(story: Story, chance: random.Random, rounds: int, until: float) -> None:
    """See the module."""
    cluster = story.cluster
    story.protocol = "consumer"
    story.start_nodes(11, 12)
    for name in (story.topic, "copied"):
        story.create(name, PARTITIONS, 2)
    story.start_traffic()
    story.progress()
    moves: dict[tuple[str, int], tuple[Sequence[int], Sequence[str]]]
    moves = {(story.topic, number): ((11, 12), (str(cluster.directory(11, 1)), "any")) for number in range(PARTITIONS)}
    story.create("moved", 2, 1)
    for number in range(2):
        here = cluster.image.topics.by_name["moved"].partitions[number].replicas[0]
        moves["moved", number] = ((here, 23 - here), ("any", "any"))
    story.reassign(moves, 10_000_000)
    failing = directory_id(cluster.directory(11, 1))
    wanted = {f"{story.topic}-{number}" for number in range(PARTITIONS)}
    took = cluster.wait_until(
        "the replicas are in the other directory", lambda image: wanted <= {name for name, _ in placed_in(image, 11, failing)}
    )
    story.tell(f"their replicas on 11 are known to be in its other directory, after {took:.1f} s")
    story.elect_preferred(11)
    if not cluster.is_together(*CONTROLLERS):
        story.kill_controller(cluster.leader_id)
    story.fail_directory(11, 1)
    story.stop_broker(11, repair=1)
    story.some_deaths(chance, rounds, until)
    story.end_traffic()
    story.check_leaders()


STORIES: Final = {"mixed": (mixed_plan, tell_mixed), "newest": (newest_plan, tell_newest)}


def run_story(
    name: str, folder: Path, say: Callable[[str], None], *, controllers: str = OURS, seed: int = 0, rounds: int = 0, seconds: float = 0
) -> None:
    """Tell a story in an empty folder, with more deaths for so many rounds or seconds.

    Errors: StoryError, TrafficError, NodeFailedError.
    """
    plan_of, tell = STORIES[name]
    with broker_cluster(plan_of(controllers), folder) as cluster:
        story = Story(cluster, say)
        try:
            tell(story, random.Random(seed), rounds, time.monotonic() + seconds)
        finally:
            for client in story.clients:
                client.tell_to_end()
        story.tell(f"{name}: all that must hold does")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--controllers", default=OURS, help="ours, or a version of Kafka")
    parser.add_argument("--story", choices=[*STORIES, "all"], default="all")
    parser.add_argument("--rounds", type=int, default=0, help="so many random deaths more")
    parser.add_argument("--seconds", type=float, default=0, help="random deaths for so long")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--dir", type=Path, help="keep all files there")
    arguments = parser.parse_args(argv)
    print(f"seed {arguments.seed}", flush=True)
    for name in STORIES if arguments.story == "all" else [arguments.story]:
        with folder_of(arguments.dir, name) as folder:
            try:
                run_story(
                    name,
                    folder,
                    partial(print, flush=True),
                    controllers=arguments.controllers,
                    seed=arguments.seed,
                    rounds=arguments.rounds,
                    seconds=arguments.seconds,
                )
            except (StoryError, TrafficError, NodeFailedError) as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                return 1
    return 0


@contextmanager
def folder_of(kept: Path | None, name: str) -> Iterator[Path]:
    """A folder that goes away at the end, but for one that is to be kept."""
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="metashell-brokers-") as made:
            yield Path(made)
    else:
        (kept / name).mkdir(parents=True)
        yield kept / name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
