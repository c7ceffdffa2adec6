"""What a leader does: it takes records, gives them to followers and consumers, and asks the controllers for other ISRs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NEW_LEADER_ELECTED,
    NONE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.simulation.brokers.replica import BATCH, Fetched, Key, Pending, Record, Replica, Waiting
from tests.simulation.controller.calls import Isr, alter_partition

if TYPE_CHECKING:
    from tests.simulation.brokers.broker import Broker

ALTER_PARTITION: Final = 56
RETRY_MS: Final = 50
WAIT_FOR_METADATA: Final = frozenset(
    (FENCED_LEADER_EPOCH, INVALID_REQUEST, INVALID_UPDATE_VERSION, NEW_LEADER_ELECTED, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION)
)
"""After these the leader does not know what the controllers have, and goes on to count whom it asked for until it reads it."""


def produce(broker: Broker, key: Key, epoch: int, value: int, is_all: bool, reply: Callable[[Any], None]) -> None:
    """Take one record; `reply` gets an error or an offset."""
    replica = broker.replicas.get(key)
    if not broker.is_serving:
        return
    if replica is None or not replica.is_leader:
        reply("NOT_LEADER_OR_FOLLOWER")
        return
    if epoch != replica.epoch:
        reply("FENCED_LEADER_EPOCH" if epoch < replica.epoch else "UNKNOWN_LEADER_EPOCH")
        return
    cluster = broker.cluster
    min_isr = cluster.world.options.min_isr
    if is_all and len(replica.isr) < min_isr:
        reply("NOT_ENOUGH_REPLICAS")
        return
    record, offset = Record(replica.epoch, value), replica.end
    replica.log.append(record)
    cluster.checks.accepts(broker, replica)
    if is_all:
        replica.waiting.append(Waiting(offset, record, partial(_all_have_it, broker, replica, offset, record, reply)))
    else:
        cluster.checks.acked_by_one(broker, replica, offset, record)
        reply(offset)
    moved(broker, replica)


def _all_have_it(
    broker: Broker, replica: Replica, offset: int, record: Record, reply: Callable[[Any], None], are_enough: bool | None
) -> None:
    if are_enough is None:
        reply("NOT_LEADER_OR_FOLLOWER")
    elif are_enough:
        broker.cluster.checks.acked_by_all(broker, replica, offset, record)
        reply(offset)
    else:
        reply("NOT_ENOUGH_REPLICAS_AFTER_APPEND")


def give(broker: Broker, id: int, broker_epoch: int, key: Key, epoch: int, offset: int, last_epoch: int) -> Fetched:
    """What a follower gets; it says by its offset what it has."""
    replica = broker.replicas.get(key)
    if replica is None or not replica.is_leader:
        return Fetched("NOT_LEADER_OR_FOLLOWER")
    if epoch != replica.epoch:
        return Fetched("FENCED_LEADER_EPOCH" if epoch < replica.epoch else "UNKNOWN_LEADER_EPOCH")
    follower = replica.followers.get(id)
    if follower is None or broker_epoch < follower.broker_epoch:
        return Fetched("UNKNOWN_REPLICA")
    common_epoch, common_end = replica.end_of_epoch(last_epoch)
    if common_epoch < last_epoch or common_end < offset:
        return Fetched(diverging=(common_epoch, common_end))
    follower.fetched(offset, broker_epoch, replica.end, broker.world.now)
    moved(broker, replica)
    return Fetched("", tuple(replica.log[offset : offset + BATCH]), replica.high_watermark, None, offset, replica.epoch)


def consume(broker: Broker, key: Key, epoch: int, offset: int, reply: Callable[[Any], None]) -> None:
    """What a consumer gets: records that all in sync have."""
    if not broker.is_serving:
        return
    replica = broker.replicas.get(key)
    if replica is None or not replica.is_leader:
        reply(Fetched("NOT_LEADER_OR_FOLLOWER"))
    elif epoch != replica.epoch:
        reply(Fetched("FENCED_LEADER_EPOCH" if epoch < replica.epoch else "UNKNOWN_LEADER_EPOCH"))
    elif offset > replica.end:
        reply(Fetched("OFFSET_OUT_OF_RANGE", high_watermark=replica.high_watermark))
    else:
        records = tuple(replica.log[offset : max(offset, min(replica.high_watermark, offset + BATCH))])
        broker.cluster.checks.serves(broker, replica, offset, records)
        reply(Fetched("", records, replica.high_watermark, None, offset, replica.epoch))


def moved(broker: Broker, replica: Replica) -> None:
    """Something changed: the high watermark may move, and the leader may want another ISR."""
    options = broker.world.options
    if replica.advance(broker.id, options.min_isr):
        broker.cluster.checks.advanced(broker, replica)
    replica.answer_waiting(options.min_isr)
    if replica.pending is None:
        wanted = replica.wanted_isr(broker.id, broker.world.now, options.lag_ms, partial(_may_join, broker))
        if wanted is not None:
            assert replica.partition is not None
            image = broker.image()
            assert image is not None
            brokers = image.cluster.brokers
            members = tuple((id, _epoch_of(broker, replica, id, brokers)) for id in wanted)
            replica.pending = Pending(members, replica.partition.partition_epoch)
    if replica.pending is not None and not broker.asked_in_flight:
        ask_for_isr(broker, replica)


def _epoch_of(broker: Broker, replica: Replica, id: int, brokers: Any) -> int:
    """The life of a member that the leader means: who fetches says which one it is."""
    if id == broker.id:
        return broker.epoch
    follower = replica.followers.get(id)
    if follower is not None and follower.broker_epoch >= 0:
        return follower.broker_epoch
    known = brokers.get(id)
    return known.epoch if known is not None else -1


def _may_join(broker: Broker, id: int, broker_epoch: int) -> bool:
    """Whether a follower is live, and the very life of it that the metadata knows."""
    image = broker.image()
    known = None if image is None else image.cluster.brokers.get(id)
    return known is not None and not known.fenced and not known.in_controlled_shutdown and broker_epoch == known.epoch


def ask_for_isr(broker: Broker, replica: Replica) -> None:
    """Ask the controllers for the ISR that is pending, one request at a time."""
    pending, partition = replica.pending, replica.partition
    if pending is None or partition is None:
        return
    broker.asked_in_flight = True
    image = broker.image()
    assert image is not None
    topic = image.topics.by_name[replica.key[0]]
    isr = Isr(topic.id, replica.key[1], replica.epoch, pending.partition_epoch, 0, pending.members)
    if broker.world.is_traced:
        broker.world.note(f"{broker.name} asks for {replica.key}: {pending}")
    broker.ask(ALTER_PARTITION, 3, alter_partition(broker.id, broker.epoch, isr), partial(_told, broker, replica, pending, replica.epoch))


def _told(broker: Broker, replica: Replica, pending: Pending, epoch: int, answer: Any) -> None:
    broker.asked_in_flight = False
    if answer is None or answer.error_code != NONE:
        broker.after(RETRY_MS, ask_again, broker)
        return
    one = answer.topics[0].partitions[0]
    broker.world.counts[f"AlterPartition: {one.error_code}"] += 1
    if replica.pending is pending and replica.epoch == epoch:
        settle(broker, replica, pending, one)
    broker.after(RETRY_MS, ask_again, broker)


def settle(broker: Broker, replica: Replica, pending: Pending, one: Any) -> None:
    """What the leader makes of the controller's word about one partition."""
    if one.error_code == NONE:
        assert replica.partition is not None
        if one.leader_epoch == replica.epoch and one.partition_epoch >= replica.partition.partition_epoch:
            replica.partition = replica.partition._replace(isr=tuple(one.isr), partition_epoch=one.partition_epoch)
            replica.pending = None
            moved(broker, replica)
    elif one.error_code == INELIGIBLE_REPLICA:
        # The controller's epochs are ours: it has the ISR that we know, and what we asked for never was.
        replica.pending = None
    else:
        assert one.error_code in WAIT_FOR_METADATA, one


def ask_again(broker: Broker) -> None:
    """The next partition that waits for its turn."""
    if broker.asked_in_flight:
        return
    for replica in broker.replicas.values():
        if replica.is_leader and replica.pending is not None:
            ask_for_isr(broker, replica)
            return
