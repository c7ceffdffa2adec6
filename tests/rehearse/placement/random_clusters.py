"""Random clusters, each from its seed, and what kafka-reassign-partitions --generate proposes for them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from metashell.rehearse.placement.cluster import Broker, Cluster, Goals, Partition
from metashell.rehearse.placement.working_plan import Placement

GOALS: Final = Goals()


def random_cluster(seed: int) -> Cluster:
    """A cluster of 4 to 24 brokers in up to six racks, of any sizes, and up to 20 topics of any shape.

    Some clusters are as Kafka leaves them, some at random, some lopsided. Brokers may have been added, and may have to be left; a few
    topics may be fixed, as if `--topic` named the others.
    """
    chance = random.Random(seed)
    broker_count = chance.randint(4, 24)
    ids = sorted(chance.sample(range(1, 4 * broker_count), broker_count))
    racks = _racks(chance, broker_count)
    left = set(chance.sample(ids, chance.randint(0, max(0, broker_count // 4)))) if chance.random() < 0.6 else set()
    added = set(chance.sample(ids, chance.randint(0, broker_count // 3))) - left if chance.random() < 0.5 else set()
    present = [id for id in ids if id not in added] or ids
    replicas_max = min(len(present), broker_count - len(left), 4)
    brokers = tuple(Broker(id, rack, id not in left, id in left) for id, rack in zip(ids, racks, strict=True))
    partitions: list[Partition] = []
    one_factor = chance.randint(1, replicas_max) if chance.random() < 0.5 else None
    style = chance.choice(("striped", "random", "lopsided"))
    for number in range(chance.randint(1, 20)):
        factor = one_factor or chance.randint(1, replicas_max)
        is_fixed = number > 0 and chance.random() < 0.1
        start = chance.randrange(len(present))
        for partition in range(chance.choice((1, 2, 3, 6, 12, 30, chance.randint(1, 40)))):
            if style == "striped":
                replicas = [present[(start + partition + place) % len(present)] for place in range(factor)]
            elif style == "random":
                replicas = chance.sample(present, factor)
            else:
                replicas = sorted(present, key=lambda id: chance.random() * (1 + present.index(id)))[:factor]
            partitions.append(Partition(f"topic-{number}", partition, tuple(replicas), chance.randrange(1 << 30), is_fixed))
    return Cluster(brokers, tuple(partitions))


def _racks(chance: random.Random, broker_count: int) -> list[str | None]:
    kind = chance.choice(("none", "even", "uneven"))
    if kind == "none":
        return [None] * broker_count
    rack_count = chance.randint(1, min(6, broker_count))
    if kind == "even":
        return [f"rack-{number % rack_count}" for number in range(broker_count)]
    weights = [chance.random() for _ in range(rack_count)]
    return [f"rack-{chance.choices(range(rack_count), weights)[0]}" for _ in range(broker_count)]


def question(cluster: Cluster, runs: int) -> str:
    """What Generates.java reads: the brokers of --broker-list, and the topics of --topics-to-move-json-file."""
    lines = [f"broker {broker.id} {broker.rack or '-'}" for broker in cluster.brokers if broker.takes]
    for partition in movable(cluster):
        lines.append(f"partition {partition.topic} {partition.partition} {','.join(map(str, partition.replicas))}")
    return "\n".join([*lines, f"runs {runs}", "", ""])


def answers(text: str) -> list[dict[tuple[str, int], tuple[int, ...]]]:
    """The assignments that Generates.java printed."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        rows = [line.split(" ") for line in block.split("\n")]
        found.append({(topic, int(number)): tuple(map(int, replicas.split(","))) for topic, number, replicas in rows})
    return found


def movable(cluster: Cluster) -> list[Partition]:
    """The partitions that a plan may change, in order."""
    return sorted(partition for partition in cluster.partitions if not partition.is_fixed)


def placement_of(cluster: Cluster, rows: Sequence[Sequence[int]]) -> Placement:
    """Replicas for each movable partition, as golden files have them."""
    return {(partition.topic, partition.partition): tuple(row) for partition, row in zip(movable(cluster), rows, strict=True)}
