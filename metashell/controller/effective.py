"""The value of a topic's setting that the controller goes by: the topic's own, this node's, the cluster's, the static one, the default.

Source: org.apache.kafka.controller.ConfigurationControlManager.getTopicConfig, KafkaConfigSchema; controller.md 24.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from metashell.codec.error_codes import INVALID_REQUEST
from metashell.controller.config_keys import JAVA_BLANKS, ConfigKey, config_keys
from metashell.controller.decision import ApiError
from metashell.controller.records import BROKER_RESOURCE, MIN_ISR, TOPIC_RESOURCE, UNCLEAN_ELECTION
from metashell.controller.settings import Settings
from metashell.image import ConfigsImage, TopicImage

TOPIC_SOURCE: Final = 1
NODE_SOURCE: Final = 2
CLUSTER_SOURCE: Final = 3
STATIC_SOURCE: Final = 4
DEFAULT_SOURCE: Final = 5


class Effective(NamedTuple):
    """A value and where it comes from, as DescribeConfigs numbers sources."""

    value: str | None
    source: int


def topic_value(settings: Settings, configs: ConfigsImage, own: Mapping[str, str], key: ConfigKey) -> Effective:
    """The value of a topic's setting; `own` is what the topic itself sets."""
    if key.name in own:
        return Effective(own[key.name], TOPIC_SOURCE)
    for layer, source in layers(settings, configs):
        for name, factor in key.synonyms:
            if name in layer:
                return Effective(_scaled(layer[name], factor), source)
    return Effective(key.default, DEFAULT_SOURCE)


def layers(settings: Settings, configs: ConfigsImage) -> tuple[tuple[Mapping[str, str], int], ...]:
    """What is set for brokers, the nearest first: for this node, for all nodes, in its own file."""
    nothing: dict[str, str] = {}
    return (
        (configs.get((BROKER_RESOURCE, str(settings.node_id)), nothing), NODE_SOURCE),
        (configs.get((BROKER_RESOURCE, ""), nothing), CLUSTER_SOURCE),
        (settings.static, STATIC_SOURCE),
    )


def _scaled(value: str, factor: int) -> str:
    if factor == 1:
        return value
    try:
        return str(int(value.strip(JAVA_BLANKS)) * factor)
    except ValueError:
        return value


class PartitionRules:
    """What the settings of topics say about their partitions: how many replicas must be in sync, and whether any may lead.

    One is made for a decision and remembers what it looked up.
    """

    def __init__(self, settings: Settings, configs: ConfigsImage) -> None:
        self._settings = settings
        self._configs = configs
        self._min_isr: dict[bytes, int] = {}
        self._unclean: dict[str, bool] = {}

    def min_isr(self, topic: TopicImage) -> int:
        """The fewest replicas in sync that accept writes, at most as many as the topic's first partition has."""
        known = self._min_isr.get(topic.id)
        if known is None:
            configured = _number(self._text(topic.name, MIN_ISR))
            try:
                first = len(topic.partitions[0].replicas)
            except KeyError:
                first = configured
            known = self._min_isr[topic.id] = min(configured, first)
        return known

    def allows_unclean(self, topic_name: str) -> bool:
        """Whether a replica may lead that is not in sync."""
        known = self._unclean.get(topic_name)
        if known is None:
            known = self._unclean[topic_name] = self._text(topic_name, UNCLEAN_ELECTION).strip(JAVA_BLANKS).lower() == "true"
        return known

    def check_min_isr(self, topic_name: str) -> None:
        """Errors: ApiError INVALID_REQUEST where min.insync.replicas is no number, as only a cluster-wide value can be."""
        text = self._text(topic_name, MIN_ISR)
        if not text.strip(JAVA_BLANKS).isdigit():
            raise ApiError(INVALID_REQUEST, f"{MIN_ISR} is {text!r}, which is no number.")

    def _text(self, topic_name: str, name: str) -> str:
        own: Mapping[str, str] = self._configs.get((TOPIC_RESOURCE, topic_name), {})
        return topic_value(self._settings, self._configs, own, config_keys("topic")[name]).value or ""


def _number(text: str) -> int:
    """A number that a client may have set to anything: nonsense in a cluster-wide value counts as 1.

    Kafka's controller gives up its leadership over such a value, for as long as it is there.
    """
    try:
        return max(1, int(text.strip(JAVA_BLANKS)))
    except ValueError:
        return 1
