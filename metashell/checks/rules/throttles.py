"""Limits of replication that were left behind, and quotas that let next to nothing through."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.amounts import duration_text
from metashell.checks.facts import IMAGE
from metashell.checks.model import UNUSUAL, Evidence, Found
from metashell.checks.past import evidence_of, settings_since
from metashell.checks.registry import check
from metashell.codec.config_types import BROKER_RESOURCE, THROTTLE_RATES, THROTTLED_REPLICAS, TOPIC_RESOURCE

if TYPE_CHECKING:
    from metashell.checks.facts import Facts

ALTER_DIRS: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_GB: Final = 10**9
_TINY_RATE: Final = 1024
"""Bytes a second below which no client or copy gets anywhere."""
_SHOWN: Final = 10
CLEAR: Final = "metashell reassign status --clear-throttle"

Configs = Mapping[tuple[int, str], Mapping[str, str]]
"""What commands have set, by resource type and name."""


class Throttled(NamedTuple):
    """What holds back the copies that leaders send, or that followers take: topics with throttled replicas, and rates by broker, B/s.

    Shape: `rate_key` and `replicas_key` are the settings; the broker with the empty name stands for all that have no rate of their own.
    """

    rate_key: str
    replicas_key: str
    topics: tuple[str, ...]
    rates: dict[str, int]


def throttled(configs: Configs) -> list[Throttled]:
    """The throttles that are in force: a rate without throttled replicas holds nothing back, nor the reverse."""
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
    """The brokers in a list of PARTITION:BROKER; of what is no pair (`*`), itself."""
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
    broker_count = "all brokers" if "" in brokers else f"{len(brokers)} broker{'s' if len(brokers) != 1 else ''}"
    lowest = min(by_rate)
    time = "never ends" if not lowest else f"takes {duration_text(_GB * 1000 // lowest)}"
    topic_count = f"{len(topics)} topic{'s' if len(topics) != 1 else ''}"
    return f"{broker_count} ({rates}) and {topic_count} ({_listed(topics)})", f"a GB {time} at {lowest} B/s"


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
    endangers="replicas that are behind take as long to catch up, and the next broker that fails finds them behind",
    step=CLEAR,
    source="KIP-73, org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    example="4 brokers (1000 B/s: 101, 102, 103, 104) and 2 topics (clicks, orders) (a GB takes 11 d 13 h at 1000 B/s)",
)
def left_throttles(facts: Facts) -> Iterator[Found]:
    """While partitions are moved, throttles are as they should be."""
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
    "quotas for everybody that let next to nothing through",
    IMAGE,
    endangers="clients wait for their answers, and time out",
    step="metashell quotas unset --user-default KEY (--client-id-default, --ip-default), or metashell quotas set with a larger value",
    source="KIP-546, org.apache.kafka.server.config.QuotaConfig",
    example="default user: producer_byte_rate (1 B/s)",
)
def tiny_quota(facts: Facts) -> Iterator[Found]:
    """One client that is named may be held back on purpose."""
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
    "brokers that copy next to nothing between their log directories",
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
