"""Weak points of a cluster that works, and settings that operators left behind: throttles, tiny quotas, ACLs that match no host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.codes import (
    ACL_OPERATIONS,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    BROKER_RESOURCE,
    THROTTLE_RATES,
    THROTTLED_REPLICAS,
    TOPIC_RESOURCE,
)
from metashell.codec.releases import ACL_RANGES_LEVEL
from metashell.codec.validation import is_range
from metashell.common.forms import counted
from metashell.common.values import duration_text
from metashell.metadata.checks.facts import IMAGE
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check, evidence_of, settings_since
from metashell.metadata.checks.nodes import address_flaw, address_text, is_loopback
from metashell.metadata.checks.rules.controllers import voter_ids
from metashell.metadata.checks.survey import first_factor

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts
    from metashell.metadata.image.cluster import BrokerRegistration


STATE_TOPICS: Final = {
    "__consumer_offsets": "offsets.topic.replication.factor",
    "__transaction_state": "transaction.state.log.replication.factor",
    "__share_group_state": "share.coordinator.state.topic.replication.factor",
}
_WANTED: Final = 3
_SHARES: Final = 2
_SHARE_MIN: Final = 20
_STAND_IN: Final = ("localhost", 1)
"""The address of brokers that do not exist, which `metashell quorum start --fake-brokers` registers."""


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
    "an even number of voters: as many may fail as with one voter less",
    IMAGE,
    step="add a controller (metashell quorum add-controller), or remove one",
    source="KIP-595",
    example="2 voters: 1, 2 (0 of them may fail, as with 1)",
)
def even_quorum(facts: Facts) -> Iterator[Found]:
    voters = sorted(voter_ids(facts))
    if voters and len(voters) % 2 == 0:
        may_fail = (len(voters) - 1) // 2
        yield Found(f"{len(voters)} voters: {', '.join(map(str, voters))}", f"{may_fail} of them may fail, as with {len(voters) - 1}")


@check(
    "lint.uneven_leaders",
    UNUSUAL,
    "brokers that should lead more than twice their share of partitions",
    IMAGE,
    endangers="they carry the load of other brokers, and each preferred election restores that",
    step="metashell reassign plan --even leaders",
    source="auto.leader.rebalance.enable",
    example="broker 3 (the first replica of 60 of 100 partitions, its share is 25)",
)
def uneven_leaders(facts: Facts) -> Iterator[Found]:
    """Clusters of few partitions are left out: their leaders cannot be even."""
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
    "brokers that advertise an address that only their own machine can reach, or nobody",
    IMAGE,
    endangers="clients elsewhere cannot reach what such a broker leads",
    step="put advertised.listeners of the broker right and restart it",
    source="advertised.listeners, org.apache.kafka.metadata.BrokerRegistration",
    example="broker 3, PLAINTEXT (localhost:9092, others have other hosts)",
)
def local_listener(facts: Facts) -> Iterator[Found]:
    """A loopback host is right if all brokers are on one machine."""
    brokers = _active(facts)
    elsewhere = {
        listener.name
        for broker in brokers
        for listener in broker.listeners
        if not is_loopback(listener.host) and not address_flaw(listener.host, listener.port)
    }
    for broker in brokers:
        for listener in broker.listeners:
            address = address_text(listener.host, listener.port)
            flaw = address_flaw(listener.host, listener.port)
            if not flaw and is_loopback(listener.host) and listener.name in elsewhere:
                flaw = "others have other hosts"
            if flaw:
                yield Found(f"broker {broker.id}, {listener.name}", f"{address}, {flaw}", key=("broker", broker.id))


@check(
    "lint.same_listener",
    BAD,
    "brokers that advertise the same address as another broker",
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


# ---- throttles, quotas and ACLs


ALTER_DIRS: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_GB: Final = 10**9
_TINY_RATE: Final = 1024
"""Bytes a second below which neither clients nor copies make progress."""
_SHOWN: Final = 10
CLEAR: Final = "metashell reassign status --clear-throttle"

Configs = Mapping[tuple[int, str], Mapping[str, str]]
"""Dynamic settings by resource type and name."""


class Throttled(NamedTuple):
    """A throttle of the copies that leaders send or followers take: topics with throttled replicas, and rates by broker in B/s.

    Shape: `rate_key` and `replicas_key` are the settings; the empty broker name stands for all brokers without a rate of their own.
    """

    rate_key: str
    replicas_key: str
    topics: tuple[str, ...]
    rates: dict[str, int]


def throttled(configs: Configs) -> list[Throttled]:
    """The throttles that are in force: a rate has no effect without throttled replicas, nor they without a rate."""
    found = []
    for rate_key, replicas_key in zip(THROTTLE_RATES, THROTTLED_REPLICAS, strict=True):
        rates = {
            name: int(text)
            for (type, name), config in configs.items()
            if type == BROKER_RESOURCE and (text := config.get(rate_key, "").strip()).isascii() and text.isdigit()
        }
        lists = {name: config.get(replicas_key, "") for (type, name), config in configs.items() if type == TOPIC_RESOURCE}
        topics = {name: ids for name, text in lists.items() if (ids := _brokers_of(text))}
        if "" not in rates:
            topics = {name: ids for name, ids in topics.items() if rates and ("*" in ids or ids & rates.keys())}
            named = set().union(*topics.values()) if topics else set()
            rates = {name: rate for name, rate in rates.items() if "*" in named or name in named}
        if topics and rates:
            found.append(Throttled(rate_key, replicas_key, tuple(sorted(topics)), rates))
    return found


def _brokers_of(text: str) -> set[str]:
    """The brokers in a list of PARTITION:BROKER; an entry without a colon (`*`) stays as it is."""
    return {entry.strip().rpartition(":")[2] for entry in text.split(",") if entry.strip()}


def throttle_words(found: list[Throttled]) -> tuple[str, str]:
    """`4 brokers (1000 B/s: 101, 102, 103, 104) and 2 topics (clicks, orders)`, and what a GB takes at the lowest rate."""
    by_rate: dict[int, set[str]] = defaultdict(set)
    for one in found:
        for name, rate in one.rates.items():
            by_rate[rate].add(name)
    brokers = set().union(*by_rate.values())
    topics = sorted({topic for one in found for topic in one.topics})
    rates = "; ".join(f"{rate} B/s: {_listed(sorted(ids, key=_by_id))}" for rate, ids in sorted(by_rate.items()))
    broker_count = "all brokers" if "" in brokers else counted(len(brokers), "broker")
    lowest = min(by_rate)
    time = "never ends" if not lowest else f"takes {duration_text(_GB * 1000 // lowest)}"
    return f"{broker_count} ({rates}) and {counted(len(topics), 'topic')} ({_listed(topics)})", f"a GB {time} at {lowest} B/s"


def _by_id(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() else (-1, name)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name or "all" for name in names[:_SHOWN]) + more


@check(
    "throttles.left_throttles",
    UNUSUAL,
    "replication is throttled though no partition is being moved",
    IMAGE,
    endangers="replicas that are behind catch up slowly, and may still be behind when the next broker fails",
    step=CLEAR,
    source="KIP-73, org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    example="4 brokers (1000 B/s: 101, 102, 103, 104) and 2 topics (clicks, orders) (a GB takes 11 d 13 h at 1000 B/s)",
)
def left_throttles(facts: Facts) -> Iterator[Found]:
    """Throttles belong there while partitions are moved."""
    assert facts.health is not None
    found = throttled(facts.image.configs)
    if found and not facts.health.count_of("reassigning"):
        what, time = throttle_words(found)
        yield Found(what, time, _since(facts, found))


def _since(facts: Facts, found: list[Throttled]) -> tuple[Evidence, ...]:
    """The first of the settings that are in force."""
    since = settings_since(facts.events)
    keys = [(BROKER_RESOURCE, name, one.rate_key) for one in found for name in one.rates]
    keys += [(TOPIC_RESOURCE, name, one.replicas_key) for one in found for name in one.topics]
    known = [since[key] for key in keys if key in since]
    return evidence_of(min(known, key=lambda event: event.offset)) if known else ()


_TINY: Final = {
    "producer_byte_rate": _TINY_RATE,
    "consumer_byte_rate": _TINY_RATE,
    "request_percentage": 0.1,
    "controller_mutation_rate": 0.01,
    "connection_creation_rate": 0.1,
}
_UNITS: Final = {
    "producer_byte_rate": "B/s",
    "consumer_byte_rate": "B/s",
    "request_percentage": "%",
    "controller_mutation_rate": "/s",
    "connection_creation_rate": "/s",
}


@check(
    "throttles.tiny_quota",
    UNUSUAL,
    "default quotas that let almost nothing through",
    IMAGE,
    endangers="clients wait for their answers, and time out",
    step="metashell quotas unset --user-default KEY (--client-id-default, --ip-default), or metashell quotas set with a larger value",
    source="KIP-546, org.apache.kafka.server.config.QuotaConfig",
    example="default user: producer_byte_rate (1 B/s)",
)
def tiny_quota(facts: Facts) -> Iterator[Found]:
    """Only quotas of everybody count: a single client may be held back on purpose."""
    for entity, quotas in sorted(facts.image.client_quotas.items(), key=str):
        if any(name is not None for _, name in entity):
            continue
        who = " and ".join(f"default {type}" for type, _ in entity)
        for key, value in sorted(quotas.items()):
            if value < _TINY.get(key, 0):
                yield Found(f"{who}: {key}", f"{value:g} {_UNITS[key]}")


@check(
    "throttles.tiny_directory_rate",
    UNUSUAL,
    "brokers that copy almost nothing between their log directories",
    IMAGE,
    endangers="a replica that is moved to another directory of its broker never gets there",
    source=f"KIP-113, {ALTER_DIRS}",
)
def tiny_directory_rate(facts: Facts) -> Iterator[Found]:
    since = settings_since(facts.events)
    for (type, name), config in sorted(facts.image.configs.items()):
        text = config.get(ALTER_DIRS, "").strip()
        if type == BROKER_RESOURCE and text.isascii() and text.isdigit() and int(text) < _TINY_RATE:
            event = since.get((type, name, ALTER_DIRS))
            step = f"metashell configs unset broker:{name or 'default'} {ALTER_DIRS}"
            yield Found(
                f"broker {name}" if name else "all brokers", f"{int(text)} B/s", () if event is None else evidence_of(event), (step,)
            )


@check(
    "acls.acl_range",
    UNUSUAL,
    "ACLs whose host has a /: no client matches them before Kafka 4.4, which takes them as ranges of addresses",
    IMAGE,
)
def acl_range(facts: Facts) -> Iterator[Found]:
    image = facts.image
    if (image.features.metadata_version or 0) >= ACL_RANGES_LEVEL:
        return
    for acl in sorted(image.acls.by_id.values()):
        if is_range(acl.host):
            done = f"{ACL_PERMISSION_TYPES.get(acl.permission_type)} {ACL_OPERATIONS.get(acl.operation)}"
            resource = f"{ACL_RESOURCE_TYPES.get(acl.resource_type)} {acl.resource_name}"
            yield Found(f"{done} for {acl.principal} from {acl.host} on {resource}")
