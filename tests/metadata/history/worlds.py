"""Pasts in memory, and every leaf of an image's tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.common.values import OffsetAndEpoch
from metashell.metadata.history import Past
from metashell.metadata.history.sources import FetchedOpener
from metashell.metadata.image import MetadataImage
from metashell.metadata.nodes import LocalInfo, Node, build_root
from metashell.shell.paths import descend
from tests.metadata.image.batches import batch_of_values, record, value


class Bytes(NamedTuple):
    """Bytes as a quorum gives them."""

    snapshot_id: OffsetAndEpoch | None
    data: bytes


def past_of(batches: Iterable[RecordBatch]) -> Past:
    """The past of a log."""
    return Past(FetchedOpener("memory", [Bytes(None, batch.data) for batch in batches]))


def tree_of(image: MetadataImage) -> Node:
    """Our tree over an image."""
    return build_root(image, voice="own", local=LocalInfo())


def leaves(image: MetadataImage) -> dict[str, Any]:
    """The value of each leaf below /image, secrets included; topics once, by name. Places and faults are left out."""
    return dict(_leaves(image))


def _leaves(image: MetadataImage) -> Iterator[tuple[str, Any]]:
    top = tree_of(image).child("image")  # type: ignore[attr-defined]
    for path, node, _ in descend("/image", top):
        if not node.is_directory and not path.startswith(("/image/topics/byId", "/image/provenance", "/image/faults")):
            yield path, node.value(False)  # type: ignore[attr-defined]


def busy_log(seed: int, count: int = 240) -> list[RecordBatch]:
    """A log in which much happens to few things: topics come, go and come back, transactions end or are dropped."""
    chance = Random(seed)
    live: dict[str, bytes] = {}
    partitions: dict[bytes, list[int]] = {}
    bodies: list[Any] = []

    def create() -> None:
        name = chance.choice(["orders", "größen", "a"])
        if name in live:
            return
        id = live[name] = chance.randbytes(16)
        bodies.append(record("TopicRecord", name=name, topic_id=id))
        partitions[id] = list(range(chance.randint(1, 3)))
        for number in partitions[id]:
            fields = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
            elr = chance.choice([None, (2,)])
            bodies.append(record("PartitionRecord", partition_id=number, topic_id=id, eligible_leader_replicas=elr, **fields))

    def change() -> None:
        if live:
            id = chance.choice(list(live.values()))
            fields = chance.choice([{"leader": 2}, {"isr": (1, 2)}, {"leader": 3, "eligible_leader_replicas": (1, 2)}, {"isr": (1, 2, 3)}])
            bodies.append(record("PartitionChangeRecord", partition_id=chance.choice(partitions[id]), topic_id=id, **fields))

    def remove() -> None:
        if live:
            bodies.append(record("RemoveTopicRecord", topic_id=live.pop(chance.choice(list(live)))))

    def clear() -> None:
        bodies.append(record("ClearElrRecord", topic_name=chance.choice(["", *live])))

    def configure() -> None:
        type, name = chance.choice([(2, "orders"), (2, "größen"), (4, "1"), (4, "")])
        key = chance.choice(["retention.ms", "b"])
        bodies.append(record("ConfigRecord", resource_type=type, resource_name=name, name=key, value=chance.choice([None, "1", "2"])))

    def broker() -> None:
        id = chance.randint(1, 2)
        bodies.append(
            chance.choice(
                [
                    record("RegisterBrokerRecord", broker_id=id, broker_epoch=5, incarnation_id=bytes(16), fenced=True),
                    record("FenceBrokerRecord", id=id, epoch=5),
                    record("UnfenceBrokerRecord", id=id, epoch=5),
                    record("BrokerRegistrationChangeRecord", broker_id=id, broker_epoch=5, fenced=chance.choice([-1, 1])),
                    record("UnregisterBrokerRecord", broker_id=id, broker_epoch=5),
                    _of_controller(id, chance.randbytes(16)),
                ]
            )
        )

    def other() -> None:
        bodies.append(
            chance.choice(
                [
                    record(
                        "FeatureLevelRecord", name=chance.choice(["metadata.version", "group.version"]), feature_level=chance.randint(0, 3)
                    ),
                    record("ProducerIdsRecord", broker_id=1, broker_epoch=5, next_producer_id=chance.randint(0, 9)),
                    record("UserScramCredentialRecord", name="u", mechanism=1, salt=chance.randbytes(2)),
                    record("RemoveUserScramCredentialRecord", name="u", mechanism=1),
                    record("AccessControlEntryRecord", id=bytes(16), resource_type=2, resource_name=chance.choice("ab"), principal="p"),
                    record("RemoveAccessControlEntryRecord", id=bytes(16)),
                    record("DelegationTokenRecord", owner=chance.choice("ab"), token_id="t"),
                    record("RemoveDelegationTokenRecord", token_id="t"),
                    record("NoOpRecord"),
                ]
            )
        )

    def transaction() -> None:
        bodies.append(record("BeginTransactionRecord"))
        kept = dict(live)
        for _ in range(chance.randint(0, 5)):
            chance.choice([create, change, configure, broker, remove])()
        if chance.random() < 0.5:
            bodies.append(record("EndTransactionRecord"))
        else:
            bodies.append(record("AbortTransactionRecord"))
            live.clear()
            live.update(kept)

    deeds = [create] * 5 + [change] * 8 + [remove] * 2 + [clear] + [configure] * 4 + [broker] * 4 + [other] * 3 + [transaction]
    while len(bodies) < count:
        chance.choice(deeds)()
    batches, at = [], 0
    while at < len(bodies):
        part = bodies[at : at + chance.choice([1, 2, 9])]
        batches.append(batch_of_values([value(body) for body in part], at))
        at += len(part)
    return batches


def _of_controller(id: int, incarnation_id: bytes) -> Any:
    """Half of them register, half are unregistered."""
    if incarnation_id[0] & 1:
        return record("RegisterControllerRecord", controller_id=id, incarnation_id=incarnation_id)
    return record("UnregisterControllerRecord", controller_id=id)
