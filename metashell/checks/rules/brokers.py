"""Brokers: registered, fenced, gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.past import evidence_of, last_of
from metashell.checks.registry import check
from metashell.checks.stopped import stopped_brokers
from metashell.forms import counted

if TYPE_CHECKING:
    from metashell.checks.facts import Facts

_LOOKED_AT: Final = 10_000


@check(
    "brokers.fenced",
    BAD,
    "brokers that are fenced",
    IMAGE,
    endangers="they lead nothing and serve nobody",
    step="look whether the broker runs and reaches the active controller; one that is gone for good: metashell brokers unregister ID",
    source="org.apache.kafka.controller.BrokerHeartbeatManager",
)
def fenced(facts: Facts) -> Iterator[Found]:
    """With what waits for each: where nobody leads a partition, whoever is in its ISR, else an eligible one (KIP-966), can without loss."""
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
    "brokers that were shut down in an orderly way, and whose metadata ends there: what is so because of that is not counted",
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
