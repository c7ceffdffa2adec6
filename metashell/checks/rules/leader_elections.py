"""What settings let happen: elections that lose records, and writes that stop with the first broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.checks.facts import IMAGE
from metashell.checks.model import UNUSUAL, Found
from metashell.checks.past import evidence_of, settings_since
from metashell.checks.registry import check
from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE

if TYPE_CHECKING:
    from metashell.checks.facts import Facts

UNCLEAN: Final = "unclean.leader.election.enable"
_WORDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}


@check(
    "leader_elections.unclean_allowed",
    UNUSUAL,
    "topics, brokers or the cluster let a replica lead that lacks records",
    IMAGE,
    endangers="where no replica in sync is left, records that were acknowledged are lost without a question",
    step="metashell configs unset RESOURCE unclean.leader.election.enable, unless the owners of the records want it so",
    source="unclean.leader.election.enable, KIP-106",
    example="topic:orders (offset 40, 2026-11-27T00:27:20Z)",
)
def unclean_allowed(facts: Facts) -> Iterator[Found]:
    since = settings_since(facts.events)
    for (type, name), config in sorted(facts.image.configs.items()):
        if type in _WORDS and config.get(UNCLEAN, "").strip().lower() == "true":
            resource = f"{_WORDS[type]}:{name or 'default'}"
            event = since.get((type, name, UNCLEAN))
            yield Found(resource, "", () if event is None else evidence_of(event))


@check(
    "leader_elections.min_isr_at_factor",
    UNUSUAL,
    "topics that need all of their replicas in sync: writes with acks=all stop with the first broker that fails",
    IMAGE,
    endangers="one broker that restarts is enough, and producers with acks=all are refused",
    step="metashell configs set topic:TOPIC min.insync.replicas=N with less than it has replicas, or give it one more",
    source="min.insync.replicas, org.apache.kafka.server.config.ServerConfigs",
    example="orders (min.insync.replicas 3, 3 replicas)",
)
def min_isr_at_factor(facts: Facts) -> Iterator[Found]:
    """One replica alone is told by `one_replica`."""
    assert facts.health is not None
    for topic, factor in facts.health.needing_all():
        min_isr = facts.health.min_isr_of(topic.name)
        yield Found(topic.name, f"min.insync.replicas {min_isr}, {factor} replicas", key=("topic", topic.id))
