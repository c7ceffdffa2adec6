"""Brokers: registered, fenced or gone, ids that came back as another process or disk, and the log directories that brokers report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.forms import counted
from metashell.common.values import duration_text, size_text, uuid_text
from metashell.metadata.checks.facts import DISKS, IMAGE, LOG
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check, evidence_of, last_of
from metashell.metadata.checks.nodes import address_text, stopped_brokers

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import BrokerDirectory, Facts


_LOOKED_AT: Final = 10_000


@check(
    "brokers.fenced",
    BAD,
    "brokers that are fenced",
    IMAGE,
    endangers="they lead nothing and serve nobody",
    step="check whether the broker runs and reaches the active controller; if it is gone for good: metashell brokers unregister ID",
    source="org.apache.kafka.controller.BrokerHeartbeatManager",
)
def fenced(facts: Facts) -> Iterator[Found]:
    """Each with the leaderless partitions that it could lead without loss: it is in their ISR, or else eligible (KIP-966)."""
    assert facts.health is not None
    cluster, stopped = facts.image.cluster.brokers, stopped_brokers(facts)
    down = [id for id, broker in sorted(cluster.items()) if broker.fenced and id not in stopped]
    waiting: Counter[int] = Counter()
    for topic, partition_id in islice(facts.health.partitions_of("leaderless"), _LOOKED_AT if down else 0):
        partition = topic.partitions[partition_id]
        waiting.update(partition.isr or partition.elr)
    for id in down:
        count = f"{'at least ' if waiting.total() >= _LOOKED_AT else ''}{counted(waiting[id], 'partition')}"
        cause = "after a controlled shutdown" if cluster[id].in_controlled_shutdown else ""
        cause = "; ".join(filter(None, (cause, f"it can lead {count} that nobody leads" if waiting[id] else "")))
        yield Found(str(id), cause, key=("broker", id))


@check(
    "brokers.stopped",
    UNUSUAL,
    "brokers that were shut down in order before the metadata ends: findings that follow from that are not counted",
    IMAGE,
    source="KIP-841, BrokerRegistrationChangeRecord.InControlledShutdown",
    example="0 (offset 41, 2026-11-27T00:23:30Z)",
)
def stopped(facts: Facts) -> Iterator[Found]:
    for id in sorted(stopped_brokers(facts)):
        event = last_of(facts.events, "BROKER_REGISTRATION_CHANGE_RECORD", broker_id=id)
        yield Found(str(id), "", () if event is None else evidence_of(event), key=("broker", id))


@check(
    "brokers.vanished",
    BAD,
    "brokers that partitions name and that are not registered",
    IMAGE,
    endangers="their replicas never come back by themselves",
    step="start the broker again under its id, or move its replicas: metashell reassign plan --off ID",
)
def vanished(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    return (Found(str(id), key=("broker", id)) for id in facts.health.vanished)


@check("brokers.shutting_down", UNUSUAL, "brokers in controlled shutdown", IMAGE)
def shutting_down(facts: Facts) -> Iterator[Found]:
    brokers, stopped = sorted(facts.image.cluster.brokers.items()), stopped_brokers(facts)
    orderly = (id for id, broker in brokers if broker.in_controlled_shutdown and not broker.fenced and id not in stopped)
    return (Found(str(id), key=("broker", id)) for id in orderly)


@check(
    "brokers.unreadable_min_isr",
    BAD,
    "values of min.insync.replicas that are no number from 1 on, so that another one counts",
    IMAGE,
    step="metashell configs set TYPE:NAME min.insync.replicas=N",
)
def unreadable_min_isr(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    return map(Found, facts.health.unreadable_min_isr)


# ---- brokers that register again


_WINDOW_MS: Final = 600_000
"""Registrations that follow one another within this time are one series."""
_RECENT_MS: Final = 3_600_000
"""A series that ended longer ago is over."""
_RESTARTS: Final = 4
"""More starts than this in a series are no rolling restart."""
_FORMS: Final = 3
"""Forms A, B, A are two processes that replace each other; A, B is a broker that was moved."""
_WHERE_SHOWN: Final = 4


class Registration(NamedTuple):
    """One process that registered under a broker's id: where, when, its listeners and its log directories."""

    offset: int
    timestamp_ms: int
    address: str
    directories: frozenset[bytes]


def registrations(facts: Facts) -> dict[int, list[Registration]]:
    """The processes that registered under each id that is still registered, in order; one process counts once."""
    found: dict[int, list[Registration]] = defaultdict(list)
    last: dict[int, bytes] = {}
    for event in facts.events:
        record: Any = event.record
        if event.name == "UNREGISTER_BROKER_RECORD":
            found.pop(record.broker_id, None)
            last.pop(record.broker_id, None)
        elif event.name == "REGISTER_BROKER_RECORD" and last.get(record.broker_id) != record.incarnation_id:
            last[record.broker_id] = record.incarnation_id
            places = sorted((one.name, one.host, one.port) for one in record.end_points)
            address = ", ".join(address_text(host, port) for _, host, port in places)
            found[record.broker_id].append(Registration(event.offset, event.timestamp_ms, address, frozenset(record.log_dirs)))
    return dict(found)


def series_of(all: Sequence[Registration], now_ms: int) -> Sequence[Registration]:
    """The last series of registrations that followed one another quickly; empty if it is long over."""
    if not all or (now_ms >= 0 and now_ms - all[-1].timestamp_ms > _RECENT_MS):
        return ()
    start = len(all) - 1
    while start and all[start].timestamp_ms - all[start - 1].timestamp_ms <= _WINDOW_MS:
        start -= 1
    return all[start:]


def _is_contested(series: Sequence[Registration]) -> bool:
    """Return whether a process came back after another had replaced it."""
    forms = [(one.address, one.directories) for one in series]
    changes = [form for at, form in enumerate(forms) if not at or form != forms[at - 1]]
    return len(changes) >= _FORMS and len(set(changes)) < len(changes)


def _span(series: Sequence[Registration]) -> str:
    took = series[-1].timestamp_ms - series[0].timestamp_ms
    return f"{len(series) - 1} times within {duration_text(max(took, 0))}"


def _evidence(series: Sequence[Registration]) -> tuple[Evidence, ...]:
    return (Evidence("", series[0].offset, series[0].timestamp_ms), Evidence("", series[-1].offset, series[-1].timestamp_ms))


@check(
    "incarnations.contested_id",
    BAD,
    "broker ids that two processes use: they replace one another",
    LOG,
    IMAGE,
    endangers="whenever one registers the other is fenced off, and its partitions have no leader or lose data",
    step="find out where a second broker runs with this node.id, and give one of them another id and empty log directories",
    source="org.apache.kafka.controller.ClusterControlManager.registerBroker",
    example="broker 3 (replaced 8 times within 31 s: kafka-3:9092, kafka-4:9092)",
)
def contested_id(facts: Facts) -> Iterator[Found]:
    for id, all in sorted(registrations(facts).items()):
        series = series_of(all, facts.now_ms)
        if _is_contested(series):
            places = list(dict.fromkeys(one.address for one in series))
            where = ", ".join(places[:_WHERE_SHOWN])
            disks = len({one.directories for one in series})
            at = f"at {where}" if len(places) > 1 else f"at {where}, with {disks} different sets of log directories"
            yield Found(f"broker {id}", f"replaced {_span(series)}: {at}", _evidence(series), key=("broker", id))


@check(
    "incarnations.restarting_broker",
    UNUSUAL,
    "brokers that are started again and again",
    LOG,
    IMAGE,
    endangers="its partitions change their leader each time",
    step="find out from the broker's own log why it stops",
    source="org.apache.kafka.controller.ClusterControlManager.registerBroker",
    example="broker 3 (registered anew 5 times within 2 min, at kafka-3:9092)",
)
def restarting_broker(facts: Facts) -> Iterator[Found]:
    for id, all in sorted(registrations(facts).items()):
        series = series_of(all, facts.now_ms)
        if len(series) > _RESTARTS and not _is_contested(series):
            yield Found(f"broker {id}", f"registered anew {_span(series)}, at {series[-1].address}", _evidence(series), key=("broker", id))


@check(
    "incarnations.lost_records",
    BAD,
    "partitions that lost records: the only replica that had them all came back on an empty disk",
    LOG,
    IMAGE,
    endangers="records that only that replica had are gone, and the others were truncated to it",
    step="keep the old disk: where nobody leads yet, start the broker with it and nothing is lost; else tell the topics' owners",
    source="org.apache.kafka.controller.ReplicationControlManager",
    example="orders/0 (broker 3 came back without directory XUf..., offset 812, 2026-11-27T00:27:20Z)",
)
def lost_records(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    topics = facts.image.topics.by_id
    for disk in facts.replaced:
        gone = ", ".join(sorted(map(uuid_text, disk.gone)))
        for topic_id, id in disk.alone:
            topic = topics.get(topic_id)
            if topic is not None and topic.has_partition(id):
                waits = "; nobody leads it yet" if topic.partitions[id].leader < 0 else ""
                yield Found(
                    facts.health.partition_name(topic, id),
                    f"broker {disk.broker} came back without directory {gone}{waits}",
                    (Evidence("", disk.offset, disk.timestamp_ms),),
                    key=("partition", topic_id, id),
                )


@check(
    "incarnations.other_disk",
    UNUSUAL,
    "brokers that came back on another disk, and whose replicas are not in sync yet",
    LOG,
    IMAGE,
    endangers="until they are, these partitions have a copy less",
    source="KIP-858",
    example="broker 3 (without directory XUf..., offset 812, 2026-11-27T00:27:20Z)",
)
def other_disk(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    for disk in facts.replaced:
        broker = facts.image.cluster.brokers.get(disk.broker)
        if broker is None or not disk.gone.isdisjoint(broker.directories):
            continue
        behind = (topic.partitions[id] for topic, id in facts.health.partitions_of("under_replicated"))
        if any(disk.broker in one.replicas and disk.broker not in one.isr for one in behind):
            gone = ", ".join(sorted(map(uuid_text, disk.gone)))
            place = (Evidence("", disk.offset, disk.timestamp_ms),)
            yield Found(f"broker {disk.broker}", f"without directory {gone}", place, key=("broker", disk.broker))


# ---- disks


_FULL: Final = 0.02
_NEARLY_FULL: Final = 0.10


def _directories(facts: Facts) -> Iterator[tuple[int, BrokerDirectory]]:
    for broker in sorted(facts.brokers, key=lambda one: one.id):
        for directory in broker.directories or ():
            yield broker.id, directory


def _found(id: int, directory: BrokerDirectory, cause: str) -> Found:
    return Found(f"broker {id}: {directory.path}", cause, key=("broker", id))


@check(
    "disks.failed_directory",
    BAD,
    "log directories that their brokers cannot use",
    DISKS,
    endangers="the replicas in it are not served, and lag ever more",
    step="mend or replace the disk, then restart the broker: it does not try again by itself",
    source="KIP-112, DescribeLogDirs",
    example="broker 3: /var/lib/kafka-2 (KAFKA_STORAGE_ERROR)",
)
def failed_directory(facts: Facts) -> Iterator[Found]:
    return (_found(id, one, one.error) for id, one in _directories(facts) if one.error)


def _free(directory: BrokerDirectory) -> float | None:
    total, usable = directory.total_bytes, directory.usable_bytes
    return None if directory.error or usable is None or not total or total < 0 else usable / total


def _fullness(one: BrokerDirectory) -> str:
    return f"{size_text(one.usable_bytes or 0)} of {size_text(one.total_bytes or 0)} are free, logs take {size_text(one.size_bytes)}"


@check(
    "disks.full_disk",
    BAD,
    "log directories on disks that are full",
    DISKS,
    endangers="a broker whose disk is full takes the directory offline, and stops where it is its last one",
    step="make room: shorten retention.ms or retention.bytes of large topics, or move replicas (metashell reassign plan)",
    source="KIP-827",
)
def full_disk(facts: Facts) -> Iterator[Found]:
    return (_found(id, one, _fullness(one)) for id, one in _directories(facts) if (free := _free(one)) is not None and free < _FULL)


@check(
    "disks.nearly_full_disk",
    UNUSUAL,
    "log directories on disks of which less than a tenth is free",
    DISKS,
    step="see how fast it fills; shorten retention.ms or retention.bytes of large topics, or move replicas (metashell reassign plan)",
    source="KIP-827",
)
def nearly_full_disk(facts: Facts) -> Iterator[Found]:
    for id, one in _directories(facts):
        free = _free(one)
        if free is not None and _FULL <= free < _NEARLY_FULL:
            yield _found(id, one, _fullness(one))
