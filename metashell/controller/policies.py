"""What Kafka lets an operator's own Java classes decide: whether a topic may be created, and whether a configuration may be altered.

A program that embeds the controller gives functions in their place; they are called within decisions, so they are quick and do no I/O.
Source: org.apache.kafka.server.policy.CreateTopicPolicy, AlterConfigPolicy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from metashell.codec.error_codes import POLICY_VIOLATION, UNKNOWN_SERVER_ERROR
from metashell.controller.decision import ApiError
from metashell.errors import MetashellError


class PolicyError(MetashellError):
    """A policy forbids it; the client reads why."""


class PolicyRefusal(ApiError):
    """What a policy forbids is refused, and nothing else of the request."""


class TopicToCreate(NamedTuple):
    """Either `assignments`, the replicas of each partition, or how many there are of what."""

    name: str
    num_partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str | None]


class ConfigsToAlter(NamedTuple):
    """A resource and what it is to set, None for a key that is to be deleted."""

    resource_type: int
    resource_name: str
    configs: Mapping[str, str | None]


class Policies(NamedTuple):
    """Functions that raise `PolicyError` for what they forbid; None allows everything."""

    create_topic: Callable[[TopicToCreate], None] | None = None
    alter_configs: Callable[[ConfigsToAlter], None] | None = None

    def check_topic(self, topic: TopicToCreate) -> None:
        """Errors: PolicyRefusal."""
        if self.create_topic is not None:
            _ask(self.create_topic, topic)

    def check_configs(self, changes: ConfigsToAlter) -> None:
        """Errors: PolicyRefusal."""
        if self.alter_configs is not None:
            _ask(self.alter_configs, changes)


NO_POLICIES: Final = Policies()
SETTINGS: Final = {"create.topic.policy.class.name": "create_topic", "alter.config.policy.class.name": "alter_configs"}
"""The settings that name Java classes, and the functions that take their place."""


def _ask(policy: Callable[[_Asked], None], asked: _Asked) -> None:
    try:
        policy(asked)
    except PolicyError as error:
        raise PolicyRefusal(POLICY_VIOLATION, str(error)) from None
    except Exception as error:
        raise PolicyRefusal(UNKNOWN_SERVER_ERROR, f"The policy failed: {type(error).__name__}: {error}") from error


_Asked = TypeVar("_Asked", TopicToCreate, ConfigsToAlter)
