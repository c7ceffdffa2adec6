"""Shapes of a cluster that work, and that the next failure finds out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import IMAGE
from metashell.checks.hosts import address_text, flaw_of, is_loopback
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.registry import check
from metashell.checks.rules.registrations import voters_of
from metashell.checks.runs import first_factor
from metashell.forms import counted

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.image.cluster import BrokerRegistration

STATE_TOPICS: Final = {
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}
_WANTED: Final = 3
_SHARES: Final = 2
_SHARE_MIN: Final = 20
_STAND_IN: Final = ("localhost", 1)
"""Where brokers say they are that are none, as `metashell quorum start --fake-brokers` registers them."""


def _active(facts: Facts) -> list[BrokerRegistration]:
    return [broker for _, broker in sorted(facts.image.cluster.brokers.items()) if not broker.fenced]


@check(
    "lint.one_replica",
    UNUSUAL,
    "topics with one replica, though there are brokers for more",
    IMAGE,
    endangers="when its broker is down nobody can read or write, and its disk is the only copy",
    step="more replicas: metashell reassign apply with a plan that names them",
    example="orders (1 replica)",
)
def one_replica(facts: Facts) -> Iterator[Found]:
    assert facts.health is not None
    if len(facts.image.cluster.brokers) < 2:
        return
    for topic in sorted(facts.health.by_factor().get(1, ()), key=lambda one: (one.name, one.id)):
        if topic.name not in STATE_TOPICS:
            yield Found(topic.name, key=("topic", topic.id))


@check(
    "lint.few_state_replicas",
    UNUSUAL,
    "topics of the brokers' own state with fewer than three replicas, though there are brokers for more",
    IMAGE,
    endangers="groups, transactions or share groups stop with the brokers that have them",
    step="raise the setting for what is to come, and give the topic more replicas: metashell reassign apply with a plan that names them",
    example="__consumer_offsets (1 replica; offsets.topic.replication.factor)",
)
def few_state_replicas(facts: Facts) -> Iterator[Found]:
    brokers, by_name = len(facts.image.cluster.brokers), facts.image.topics.by_name
    for name, setting in STATE_TOPICS.items():
        factor = first_factor(by_name[name]) if name in by_name else _WANTED
        if 0 < factor < min(_WANTED, brokers):
            yield Found(name, f"{counted(factor, 'replica')}; {setting}", key=("topic", by_name[name].id))


@check(
    "lint.even_quorum",
    UNUSUAL,
    "an even number of voters: the last one adds nothing to what may fail",
    IMAGE,
    step="add a controller (metashell quorum add-controller), or remove one",
    source="KIP-595",
    example="2 voters: 1, 2 (0 of them may fail, as with 1)",
)
def even_quorum(facts: Facts) -> Iterator[Found]:
    voters = sorted(voters_of(facts))
    if voters and len(voters) % 2 == 0:
        may_fail = (len(voters) - 1) // 2
        yield Found(f"{len(voters)} voters: {', '.join(map(str, voters))}", f"{may_fail} of them may fail, as with {len(voters) - 1}")


@check(
    "lint.uneven_leaders",
    UNUSUAL,
    "brokers that should lead more than twice their share of partitions",
    IMAGE,
    endangers="they work for the others, and a preferred election brings that back each time",
    step="metashell reassign plan --even leaders",
    source="auto.leader.rebalance.enable",
    example="broker 3 (the first replica of 60 of 100 partitions, its share is 25)",
)
def uneven_leaders(facts: Facts) -> Iterator[Found]:
    """Few partitions are never even."""
    assert facts.health is not None
    brokers = _active(facts)
    if len(brokers) < 2:
        return
    counts, is_part = facts.health.preferred_leaders()
    total = sum(counts.values())
    share = total // len(brokers)
    for broker in brokers:
        own = counts[broker.id]
        if share >= _SHARE_MIN and own > _SHARES * share:
            of = f"{total} partitions{' that were counted' if is_part else ''}"
            yield Found(f"broker {broker.id}", f"the first replica of {own} of {of}, its share is {share}", key=("broker", broker.id))


@check(
    "lint.one_rack",
    UNUSUAL,
    "all brokers say that they are in one rack",
    IMAGE,
    endangers="all replicas are in that rack, so that it fails with all of them",
    step="set broker.rack to where each broker is, or leave it out",
    example="a (brokers 1, 2, 3)",
)
def one_rack(facts: Facts) -> Iterator[Found]:
    brokers = sorted(facts.image.cluster.brokers.items())
    racks = {broker.rack for _, broker in brokers}
    if len(brokers) > 1 and len(racks) == 1 and all(racks):
        yield Found(f"{racks.pop()}", f"brokers {', '.join(str(id) for id, _ in brokers)}")


@check(
    "lint.no_rack",
    UNUSUAL,
    "brokers without a rack, though others have one: replicas are then not spread over racks",
    IMAGE,
    endangers="a rack that fails takes all replicas of some partitions with it",
    step="set broker.rack of these brokers, and restart them",
    source="org.apache.kafka.metadata.placement.StripedReplicaPlacer",
)
def no_rack(facts: Facts) -> Iterator[Found]:
    brokers = sorted(facts.image.cluster.brokers.items())
    if any(broker.rack is not None for _, broker in brokers):
        yield from (Found(str(id), key=("broker", id)) for id, broker in brokers if broker.rack is None)


@check(
    "lint.local_listener",
    UNUSUAL,
    "brokers that tell clients an address which only their own machine finds, or nobody",
    IMAGE,
    endangers="clients elsewhere cannot reach what such a broker leads",
    step="put advertised.listeners of the broker right and restart it",
    source="advertised.listeners, org.apache.kafka.metadata.BrokerRegistration",
    example="broker 3, PLAINTEXT (localhost:9092, others have other hosts)",
)
def local_listener(facts: Facts) -> Iterator[Found]:
    """Where all brokers are on one machine its own name is right."""
    brokers = _active(facts)
    elsewhere = {
        listener.name
        for broker in brokers
        for listener in broker.listeners
        if not is_loopback(listener.host) and not flaw_of(listener.host, listener.port)
    }
    for broker in brokers:
        for listener in broker.listeners:
            address = address_text(listener.host, listener.port)
            flaw = flaw_of(listener.host, listener.port)
            if not flaw and is_loopback(listener.host) and listener.name in elsewhere:
                flaw = "others have other hosts"
            if flaw:
                yield Found(f"broker {broker.id}, {listener.name}", f"{address}, {flaw}", key=("broker", broker.id))


@check(
    "lint.same_listener",
    BAD,
    "brokers that tell clients the same address as another broker",
    IMAGE,
    endangers="clients ask a broker for what another one leads",
    step="put advertised.listeners of the brokers right and restart them",
    source="advertised.listeners",
    example="localhost:9092 (brokers 1, 2)",
)
def same_listener(facts: Facts) -> Iterator[Found]:
    owners: dict[tuple[str, int], list[int]] = {}
    for broker in _active(facts):
        for place in {(listener.host, listener.port) for listener in broker.listeners} - {_STAND_IN}:
            owners.setdefault(place, []).append(broker.id)
    for place, ids in sorted(owners.items()):
        if len(ids) > 1:
            yield Found(address_text(*place), f"brokers {', '.join(map(str, ids))}")
