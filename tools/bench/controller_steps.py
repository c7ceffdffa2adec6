"""How long the controller holds its loop: the longest piece between two rests, of decisions, replays, loads and takeovers that take long.

Goal: no piece above 50 ms, and pieces of some milliseconds; collecting garbage is the driver's affair, and off here.
"""

from __future__ import annotations

import gc
import os
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.registry import message_type
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.image import EMPTY_IMAGE, ImageLoader, MetadataImage
from metashell.quorum.controller import Decision, QuorumController, Request, Settings, Steps
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.raft.partition_state import SnapshotCheck
from metashell.quorum.server.feed import fault_steps
from metashell.quorum.server.records import PIECE_SIZE
from tools.bench.common import generated, met

PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
GOAL_MS = 50
_LATE_MS = 1 << 40


class Watch:
    """Runs work in steps and keeps the longest one."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.total_s = 0.0
        self.count = 0

    def run(self, work: Any) -> Any:
        if not hasattr(work, "send"):
            return work
        steps: Steps[Any] = work
        while True:
            started = time.thread_time()
            try:
                next(steps)
            except StopIteration as end:
                self._note(started)
                return end.value
            self._note(started)

    def call(self, work: Any) -> Any:
        """One piece that cannot rest."""
        started = time.thread_time()
        made = work()
        self._note(started)
        return made

    def _note(self, started: float) -> None:
        taken_s = time.thread_time() - started
        self.longest_s = max(self.longest_s, taken_s)
        self.total_s += taken_s
        self.count += 1

    def report(self, what: str, note: str = "") -> None:
        longest_ms = self.longest_s * 1000
        verdict = met(longest_ms <= GOAL_MS)
        print(
            f"{what:<62} longest {longest_ms:6.1f} ms of {self.total_s * 1000:8.1f} ms, {self.count:7} pieces | {verdict} {note}",
            flush=True,
        )


class Lone:
    """A controller alone in its quorum, on a large image."""

    def __init__(self, image: MetadataImage) -> None:
        self.controller = QuorumController(Settings({"delete.topic.enable": "true"}, "bench", 3000), random.Random(1))
        watch = Watch()
        offset = image.provenance.offset
        watch.run(self.controller.load_steps(image, offset))
        watch.report("load an image")
        watch = Watch()
        watch.run(self.controller.background_steps())
        watch.report("find the partitions of each broker")
        watch = Watch()
        self.end_offset = offset + 1
        decision = watch.run(self.controller.claim_steps(1, self.end_offset, 0))
        watch.report("claim, after that")
        self.write(decision, Watch(), Watch())

    def write(self, decision: Decision, replay: Watch, commit: Watch) -> None:
        for batch in decision.batches():
            replay.run(self.controller.replay_steps(batch, self.end_offset))
            self.end_offset += len(batch)
            commit.call(lambda: self.controller.commit(self.end_offset - 1))
        self.controller.written(decision)

    def ask(self, what: str, key: int, version: int, body: Any) -> Any:
        decide, replay, commit = Watch(), Watch(), Watch()
        decision = decide.run(self.controller.decide_steps(Request(key, version, body), 0))
        self._finish(what, decision, decide, replay, commit)
        encode = Watch()
        data = encode.run(message_type("response", f"{APIS[key].name}Response").write_steps(decision.answer, version))
        encode.report("    its answer as bytes", f"{len(data)} bytes")
        return decision.answer

    def _finish(self, what: str, decision: Decision, decide: Watch, replay: Watch, commit: Watch) -> None:
        decide.report(what, f"{len(decision.records)} records")
        self.write(decision, replay, commit)
        if decision.records:
            replay.report("    replayed")
            commit.report("    committed")

    def due(self, what: str, task: str) -> int:
        """Run one periodic task; how many records it wrote."""
        schedule = self.controller._schedule
        schedule._due[task] = -1
        decide = Watch()
        decision = decide.run(self.controller.run_due_steps(0))
        self._finish(what, decision, decide, Watch(), Watch())
        return len(decision.records)

    def silence(self, id: int) -> None:
        """Let the session of one broker be over, and of no other."""
        heartbeats = self.controller.state.heartbeats
        while (expired := heartbeats.expired(1 << 60)) is not None:
            heartbeats.forget(*expired)
        heartbeats.contact(id, self.controller.image.cluster.brokers[id].epoch, -_LATE_MS)


def main() -> int:
    """Measure and print all of it."""
    for brokers in (300, 30):
        print(f"# {PARTITIONS} partitions on {brokers} brokers")
        gc.collect()
        gc.disable()
        image = read_snapshot(generated("snapshot", partitions=PARTITIONS, brokers=brokers))
        lone = Lone(image)
        of_broker(lone)
        if brokers == 300:
            of_topics(lone)
            of_configs(lone)
            of_moves(lone)
        gc.enable()
        del lone, image
    return 0


def read_snapshot(path: Path) -> MetadataImage:
    """Read a snapshot as a controller does: pieces of the file, then the records of each batch in steps."""
    id = OffsetAndEpoch(*map(int, path.stem.split("-")))
    check, loader = SnapshotCheck(path.name), ImageLoader(EMPTY_IMAGE, snapshot_id=id)
    reads, loads, faults = Watch(), Watch(), Watch()
    with path.open("rb") as file:
        while piece := file.read(PIECE_SIZE):
            for batch in reads.call(partial(check.feed, piece)):
                loads.run(loader.load_snapshot_steps(batch))
                faults.run(fault_steps(loader, batch))
    image: MetadataImage = loads.call(loader.image)
    assert check.is_complete, check.fault
    reads.report("read a snapshot, with its sums")
    loads.report("load its records")
    faults.report("look for records of newer releases")
    return image


def of_broker(lone: Lone) -> None:
    ids = sorted(lone.controller.image.cluster.brokers)
    epoch = lone.controller.image.cluster.brokers[ids[0]].epoch
    lone.silence(ids[0])
    lone.due("fence a broker", "maybeFenceStaleBroker")
    beat = messages.BrokerHeartbeatRequest(broker_id=ids[0], broker_epoch=epoch, current_metadata_offset=1 << 40)
    lone.ask("unfence it", 63, 2, beat)
    lone.ask("unregister another", 64, 0, messages.UnregisterBrokerRequest(broker_id=ids[1]))
    lone.due("elect preferred leaders, one run", "electPreferred")
    elect = messages.ElectLeadersRequest
    lone.ask("elect preferred leaders of all", 43, 2, elect(election_type=0, topic_partitions=None, timeout_ms=1000))
    lone.ask("elect any leaders of all", 43, 2, elect(election_type=1, topic_partitions=None, timeout_ms=1000))
    lone.due("elect unclean leaders, one run", "electUnclean")


def of_topics(lone: Lone) -> None:
    made = messages.CreateTopicsRequest
    one = made.CreatableTopic(name="large", num_partitions=9_999, replication_factor=3)
    lone.ask("create a topic of 9 999 partitions", 19, 7, made(topics=(one,), timeout_ms=1000))
    many = tuple(made.CreatableTopic(name=f"bench-{number}", num_partitions=1, replication_factor=3) for number in range(5_000))
    lone.ask("create 5 000 topics", 19, 7, made(topics=many, timeout_ms=1000))
    listed = tuple(topic.name for topic in list(lone.controller.image.topics)[:10_000])
    names = [messages.DeleteTopicsRequest.DeleteTopicState(name=name) for name in listed]
    lone.ask("delete 10 000 topics", 20, 6, messages.DeleteTopicsRequest(topics=tuple(names), timeout_ms=1000))
    elect = messages.ElectLeadersRequest
    topics = [elect.TopicPartitions(topic=topic.name, partitions=tuple(range(10))) for topic in lone.controller.image.topics]
    lone.ask("elect leaders of all, named", 43, 2, elect(election_type=0, topic_partitions=tuple(topics), timeout_ms=1000))


def of_configs(lone: Lone) -> None:
    made = messages.IncrementalAlterConfigsRequest
    names = [topic.name for topic in list(lone.controller.image.topics)[:10_000]]

    def set_to(value: str) -> Any:
        change = (made.AlterableConfig(name="retention.ms", value=value),)
        return tuple(made.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=change) for name in names)

    lone.ask("alter 10 000 topics", 44, 1, made(resources=set_to("5")))
    many = tuple(made.AlterableConfig(name=f"key-{number}", value="5") for number in range(10_000))
    one = made.AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="", configs=many)
    lone.ask("alter 10 000 keys of all brokers", 44, 1, made(resources=(one,)))
    change = (made.AlterableConfig(name="min.insync.replicas", value="2"),)
    one = made.AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="", configs=change)
    lone.ask("alter the minimum of all", 44, 1, made(resources=(one,)))
    wanted = messages.DescribeConfigsRequest
    resources = [
        wanted.DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None) for name in names
    ]
    resources.append(wanted.DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name="3000", configuration_keys=None))
    lone.ask("describe 10 000 topics", 32, 4, wanted(resources=tuple(resources), include_synonyms=True, include_documentation=True))


def of_moves(lone: Lone) -> None:
    made = messages.AlterPartitionReassignmentsRequest
    ids = sorted(lone.controller.image.cluster.brokers)
    topics = []
    for topic in list(lone.controller.image.topics)[:1_000]:
        parts = tuple(made.ReassignablePartition(partition_index=index, replicas=tuple(ids[4:7])) for index in topic.partition_ids())
        topics.append(made.ReassignableTopic(name=topic.name, partitions=parts[:9]))
    lone.ask("move 9 000 partitions", 45, 1, made(topics=tuple(topics), timeout_ms=1000))
    lone.ask("list what moves", 46, 0, messages.ListPartitionReassignmentsRequest(topics=None, timeout_ms=1000))
