"""The value of a topic's setting that the controller goes by: the topic's own, this node's, the cluster's, the static one, the default.

Source: org.apache.kafka.controller.ConfigurationControlManager.getTopicConfig, KafkaConfigSchema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Final, NamedTuple, TypeVar

from metashell.codec.config_types import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_REQUEST
from metashell.codec.java_text import JAVA_BLANKS, java_int
from metashell.controller.configs.keys import ConfigKey, config_keys
from metashell.controller.decision import ApiError
from metashell.controller.records import MIN_ISR, UNCLEAN_ELECTION
from metashell.controller.settings import Settings
from metashell.image import ConfigsImage

Made = TypeVar("Made")
_NOTHING: Final[Mapping[str, str]] = {}
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
    return (
        (configs.get((BROKER_RESOURCE, str(settings.node_id)), _NOTHING), NODE_SOURCE),
        (configs.get((BROKER_RESOURCE, ""), _NOTHING), CLUSTER_SOURCE),
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

    Good for one image of configurations; it remembers what it looked up.
    """

    def __init__(self, settings: Settings, configs: ConfigsImage) -> None:
        self.configs = configs
        self._settings = settings
        self._min_isr: dict[str, int | None] = {}
        self._unclean: dict[str, bool] = {}

    def min_isr(self, topic_name: str) -> int:
        """The fewest replicas in sync that accept writes.

        Nonsense in a cluster-wide value counts as 1, so that brokers can still be fenced; Kafka's controller gives up its leadership
        over it, for as long as it is there.
        """
        found = self._configured_min_isr(topic_name)
        return 1 if found is None else found

    def check_min_isr(self, topic_name: str) -> None:
        """Errors: ApiError INVALID_REQUEST where min.insync.replicas is no number, as only a cluster-wide value can be."""
        if self._configured_min_isr(topic_name) is None:
            raise ApiError(INVALID_REQUEST, f"{MIN_ISR} is {self._text(topic_name, MIN_ISR)!r}, which is no number.")

    def _configured_min_isr(self, topic_name: str) -> int | None:
        if topic_name not in self._min_isr:
            self._min_isr[topic_name] = java_int(self._text(topic_name, MIN_ISR).strip(JAVA_BLANKS))
        return self._min_isr[topic_name]

    def allows_unclean(self, topic_name: str) -> bool:
        """Whether a replica may lead that is not in sync."""
        known = self._unclean.get(topic_name)
        if known is None:
            known = self._unclean[topic_name] = self._text(topic_name, UNCLEAN_ELECTION).strip(JAVA_BLANKS).lower() == "true"
        return known

    def _text(self, topic_name: str, name: str) -> str:
        own: Mapping[str, str] = self.configs.get((TOPIC_RESOURCE, topic_name), {})
        return topic_value(self._settings, self.configs, own, config_keys("topic")[name]).value or ""


class EffectiveConfig(NamedTuple):
    """A setting with the value that counts and its source."""

    key: ConfigKey
    value: str | None
    source: int


class TopicDefaults:
    """What the settings of a topic come to that sets none of them itself; made anew when a setting of brokers changes."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._layers: tuple[object, ...] = ()
        self._listing: tuple[EffectiveConfig, ...] = ()
        self._made: object = None

    def listing(self, configs: ConfigsImage, own: Mapping[str, str | None]) -> tuple[EffectiveConfig, ...]:
        """Every setting, ordered by name; internal ones only where the topic sets them."""
        self._refresh(configs)
        if not own:
            return self._listing
        keys = config_keys("topic")
        changed = {name: EffectiveConfig(keys[name], value, TOPIC_SOURCE) for name, value in own.items()}
        listed = {item.key.name: item for item in self._listing} | changed
        return tuple(listed[name] for name in sorted(listed))

    def made_of(self, configs: ConfigsImage, make: Callable[[tuple[EffectiveConfig, ...]], Made]) -> Made:
        """What `make` makes of the listing of a topic that sets nothing: made once, then shared."""
        self._refresh(configs)
        if self._made is None:
            self._made = make(self._listing)
        return self._made  # type: ignore[return-value]

    def _refresh(self, configs: ConfigsImage) -> None:
        current = tuple(layer for layer, _ in layers(self._settings, configs))
        if len(current) == len(self._layers) and all(map(is_, current, self._layers)):
            return
        self._layers, self._made = current, None
        found = []
        for _, key in sorted(config_keys("topic").items()):
            if not key.is_internal:
                found.append(EffectiveConfig(key, *topic_value(self._settings, configs, _NOTHING, key)))
        self._listing = tuple(found)
