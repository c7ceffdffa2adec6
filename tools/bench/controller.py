"""Decisions of the controller in memory, on one core: topics, changes of ISRs, heartbeats, and a large broker that is fenced.

Each decision is made and replayed, and its answer is there; nothing is encoded. Goals: CreateTopics of one partition 5 000 a second,
AlterPartition 10 000, heartbeats 20 000; a broker of 10 000 partitions, of a million, is fenced within 300 ms.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Iterator
from typing import Any

from metashell.codec import messages
from metashell.codec.releases import ELR_FEATURE, METADATA_VERSION
from metashell.disk.source import open_source
from metashell.metadata.image import load_image
from metashell.quorum.controller import Decision, QuorumController, Request, Settings
from metashell.quorum.controller.brokers import fence_stale_broker
from metashell.quorum.controller.decision import SUPPORTED_FEATURES, feature_level_record, finish_steps
from tools.bench.common import generated, met

REQUESTS = int(os.environ.get("METASHELL_BENCH_REQUESTS", "5000"))
PARTITIONS = int(os.environ.get("METASHELL_BENCH_PARTITIONS", "1000000"))
BROKERS = 300
FENCED = 5


class Lone:
    """A controller alone in its quorum."""

    def __init__(self) -> None:
        bootstrap = [feature_level_record(METADATA_VERSION, 30), feature_level_record(ELR_FEATURE, 1)]
        self.controller = QuorumController(Settings({}, "bench", 3000), random.Random(1), bootstrap)
        self.end_offset = 0

    def write(self, decision: Decision) -> Any:
        """Replay and commit what a decision says; its answer."""
        for batch in decision.batches():
            self.controller.replay(batch, self.end_offset)
            self.end_offset += len(batch)
            self.controller.commit(self.end_offset - 1)
        self.controller.written(decision)
        return decision.answer

    def ask(self, key: int, version: int, body: Any) -> Any:
        return self.write(self.controller.decide(Request(key, version, body), 0))

    def register(self, id: int) -> int:
        """Register and unfence a broker; its epoch."""
        made = messages.BrokerRegistrationRequest
        features = tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        )
        body = made(broker_id=id, cluster_id="bench", incarnation_id=bytes([id]) * 16, features=features, log_dirs=(bytes([9, id]) * 8,))
        epoch: int = self.ask(62, 4, body).broker_epoch
        self.ask(63, 2, messages.BrokerHeartbeatRequest(broker_id=id, broker_epoch=epoch, current_metadata_offset=self.end_offset))
        return epoch


def main() -> int:
    """Measure and print all of it."""
    lone = Lone()
    lone.write(lone.controller.claim(1, 0, 0))
    epochs = {id: lone.register(id) for id in (1, 2, 3)}
    for what, bodies, goal in (
        ("CreateTopics", ((19, 7, body) for body in topics()), 5_000),
        ("AlterPartition", ((56, 3, body) for body in isr_changes(lone, epochs)), 10_000),
        ("heartbeats", ((63, 2, body) for body in heartbeats(epochs)), 20_000),
    ):
        report(what, rate(lone, bodies), goal)
    fence()
    return 0


def rate(lone: Lone, requests: Iterator[tuple[int, int, Any]]) -> float:
    """Requests a second of processor time; making them counts too."""
    start, count = time.process_time(), 0
    for key, version, body in requests:
        lone.ask(key, version, body)
        count += 1
    return count / (time.process_time() - start)


def topics() -> Iterator[Any]:
    made = messages.CreateTopicsRequest
    for number in range(REQUESTS):
        topic = made.CreatableTopic(name=f"topic-{number}", num_partitions=1, replication_factor=3)
        yield made(topics=(topic,), timeout_ms=1000)


def isr_changes(lone: Lone, epochs: dict[int, int]) -> Iterator[Any]:
    """Each partition's ISR without its last replica, and with it again."""
    made = messages.AlterPartitionRequest
    for size in (2, 3):
        for topic in lone.controller.image.topics:
            partition = lone.controller.state.partition(topic.id, 0)
            assert partition is not None
            isr = tuple(made.BrokerState(broker_id=id, broker_epoch=epochs[id]) for id in partition.replicas[:size])
            asked = made.PartitionData(
                partition_index=0,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                new_isr_with_epochs=isr,
            )
            yield made(
                broker_id=partition.leader,
                broker_epoch=epochs[partition.leader],
                topics=(made.TopicData(topic_id=topic.id, partitions=(asked,)),),
            )


def heartbeats(epochs: dict[int, int]) -> Iterator[Any]:
    for number in range(REQUESTS * 4):
        id = 1 + number % 3
        yield messages.BrokerHeartbeatRequest(broker_id=id, broker_epoch=epochs[id], current_metadata_offset=1 << 40)


def fence() -> None:
    """Fence brokers of an image of many partitions, which are bytes until then."""
    with open_source(str(generated("snapshot", partitions=PARTITIONS, brokers=BROKERS))) as source:
        image = load_image(source)
    lone = Lone()
    start = time.process_time()
    lone.controller.load(image, image.provenance.offset)
    assert lone.controller.state.hints.leaderless is not None
    print(f"{'hints':<16} of {PARTITIONS} partitions in {time.process_time() - start:.2f} s cpu")
    gc.collect()
    gc.freeze()
    lone.end_offset = image.provenance.offset + 1
    lone.write(lone.controller.claim(1, lone.end_offset, 0))
    best_s, count = min(fenced(lone, id) for id in sorted(image.cluster.brokers)[:FENCED])
    verdict = met(best_s <= 0.3)
    print(f"{'fencing':<16} {count} partitions in {best_s * 1000:.0f} ms cpu | goal 300 ms {verdict}")


def fenced(lone: Lone, id: int) -> tuple[float, int]:
    """How long it takes to fence a broker that is silent, and how many partitions change."""
    heartbeats = lone.controller.state.heartbeats
    while (expired := heartbeats.expired(1 << 60)) is not None:
        heartbeats.forget(*expired)
    heartbeats.contact(id, lone.controller.image.cluster.brokers[id].epoch, -(1 << 40))
    gc.collect()
    # As a driver does: what a decision makes has no cycles, and looking for some takes as long as the decision.
    gc.disable()
    start = time.process_time()
    decision, _ = finish_steps(fence_stale_broker(lone.controller.state, 0))
    lone.write(decision)
    taken_s = time.process_time() - start
    gc.enable()
    return taken_s, len(decision.records) - 1


def report(what: str, per_second: float, goal: int) -> None:
    print(f"{what:<16} {per_second:8.0f} a second of cpu | goal {goal} {met(per_second >= goal)}")
