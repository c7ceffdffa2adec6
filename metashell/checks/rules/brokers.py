"""Brokers: registered, fenced, gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.past import evidence_of, last_of
from metashell.checks.registry import check
from metashell.checks.stopped import stopped_brokers

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


@check(
    "fenced",
    BAD,
    "brokers that are fenced",
    IMAGE,
    endangers="they lead nothing and serve nobody",
    step="look whether the broker runs and reaches the active controller; one that is gone for good: metashell brokers unregister ID",
    source="org.apache.kafka.controller.BrokerHeartbeatManager",
)
def fenced(facts: Facts) -> Iterator[Found]:
    brokers, stopped = sorted(facts.image.cluster.brokers.items()), stopped_brokers(facts)
    for id, broker in brokers:
        if broker.fenced and id not in stopped:
            yield Found(str(id), "after a controlled shutdown" if broker.in_controlled_shutdown else "", key=("broker", id))


@check(
    "stopped",
    UNUSUAL,
    "brokers that were shut down in an orderly way, and whose metadata ends there: what is so because of that is not counted",
    IMAGE,
    step="start them: their partitions are led again without loss",
    source="KIP-841, BrokerRegistrationChangeRecord.InControlledShutdown",
    example="0 (offset 41, 2026-11-27T00:23:30Z)",
)
def stopped(facts: Facts) -> Iterator[Found]:
    for id in sorted(stopped_brokers(facts)):
        event = last_of(facts.events, "BROKER_REGISTRATION_CHANGE_RECORD", broker_id=id)
        yield Found(str(id), "", () if event is None else evidence_of(event), key=("broker", id))


@check(
    "vanished",
    BAD,
    "brokers that partitions name and that are not registered",
    IMAGE,
    endangers="their replicas never come back by themselves",
    step="start the broker again under its id, or move its replicas: metashell reassign plan --remove-broker ID",
)
def vanished(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    return (Found(str(id), key=("broker", id)) for id in facts.health.vanished)


@check("shutting_down", UNUSUAL, "brokers in controlled shutdown", IMAGE)
def shutting_down(facts: Facts) -> Iterator[Found]:
    brokers, stopped = sorted(facts.image.cluster.brokers.items()), stopped_brokers(facts)
    orderly = (id for id, broker in brokers if broker.in_controlled_shutdown and not broker.fenced and id not in stopped)
    return (Found(str(id), key=("broker", id)) for id in orderly)


@check(
    "unreadable_min_isr",
    BAD,
    "values of min.insync.replicas that are no number from 1 on, so that another one counts",
    IMAGE,
    step="metashell configs set min.insync.replicas to a number",
)
def unreadable_min_isr(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    return map(Found, facts.health.unreadable_min_isr)
