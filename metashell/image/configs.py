"""Dynamic configuration, by resource and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from immutables import Map

from metashell.codec.config_types import TOPIC_RESOURCE
from metashell.codec.registry import message_type
from metashell.image.loss import VersionedRecord
from metashell.image.nested import NestedDelta

ConfigsImage = Map[tuple[int, str], Map[str, str]]
"""(resource type, resource name) to the values of its keys; the default resource of a type has the empty name."""


class ConfigsDelta(NestedDelta[tuple[int, str], str, str]):
    """Gathers changes of configuration; keys that this software does not know are kept like all others."""

    def replay_config(self, record: Any) -> None:
        resource = record.resource_type, record.resource_name
        if record.value is not None:
            self._put(resource, record.name, record.value)
        else:
            self._drop(resource, record.name)

    def forget_topic(self, name: str) -> None:
        """Drop what a removed topic had: no record says so but the topic's own removal."""
        self._maps.pop((TOPIC_RESOURCE, name), None)


def write_configs(image: ConfigsImage) -> Iterator[VersionedRecord]:
    """The records of all values, ordered by resource and key."""
    make = message_type("metadata", "ConfigRecord").cls
    for resource in sorted(image):
        for name, value in sorted(image[resource].items()):
            yield make(resource_type=resource[0], resource_name=resource[1], name=name, value=value), 0
