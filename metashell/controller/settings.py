"""The static configuration of a controller, as its own decisions use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metashell.codec.config_def import Value
from metashell.codec.java_text import JAVA_BLANKS, is_same_in_any_case
from metashell.controller.configs.keys import config_keys, parse_value
from metashell.controller.policies import NO_POLICIES, SETTINGS, Policies
from metashell.errors import UsageError

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Settings:
    """What one controller was started with; nothing of it comes from the log.

    Shape: `static` is server.properties as text; `policies` take the place of the Java classes that it may name.
    Errors: UsageError for a Java class that nothing stands in for, and for super users that are no principals.
    """

    def __init__(self, static: Mapping[str, str], cluster_id: str, node_id: int, policies: Policies = NO_POLICIES) -> None:
        self.static = dict(static)
        # Either name of the id stands for the other.
        for name, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
            if other in static:
                self.static.setdefault(name, static[other])
        self.cluster_id = cluster_id
        self.node_id = node_id
        self._values: dict[str, Value] = {}
        self.session_timeout_ms = self.number("broker.session.timeout.ms")
        self.heartbeat_interval_ms = self.number("broker.heartbeat.interval.ms")
        self.partitions_default = self.number("num.partitions")
        self.replication_default = self.number("default.replication.factor")
        self.delete_topics = bool(self.value("delete.topic.enable"))
        self.token_secret = static.get("delegation.token.secret.key") or None
        self.has_authorizer = bool(static.get("authorizer.class.name"))
        self.super_users = _super_users(static) if self.has_authorizer else frozenset()
        self.allows_without_acl = is_same_in_any_case(static.get("allow.everyone.if.no.acl.found", "").strip(JAVA_BLANKS), "true")
        self.policies = policies
        self._check_classes()

    def _check_classes(self) -> None:
        authorizer = self.static.get("authorizer.class.name")
        if authorizer and authorizer.strip(JAVA_BLANKS) != STANDARD_AUTHORIZER:
            raise UsageError(
                f"authorizer.class.name: {authorizer} is a Java class, which cannot run here; {STANDARD_AUTHORIZER} is built in"
            )
        for name, function in SETTINGS.items():
            if self.static.get(name) and getattr(self.policies, function) is None:
                raise UsageError(
                    f"{name}: {self.static[name]} is a Java class, which cannot run here; a program can embed a function instead"
                )

    def value(self, name: str) -> Value:
        """The parsed value of a broker setting, or its default."""
        if name not in self._values:
            key = config_keys("broker")[name]
            self._values[name] = parse_value(key, self.static.get(name, key.default))
        return self._values[name]

    def number(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int)
        return value


def _super_users(static: Mapping[str, str]) -> frozenset[str]:
    """Source: org.apache.kafka.metadata.authorizer.StandardAuthorizer.getConfiguredSuperUsers."""
    users = frozenset(user for word in static.get("super.users", "").split(";") if (user := word.strip(JAVA_BLANKS)))
    for user in sorted(users):
        if ":" not in user:
            raise UsageError(f"super.users: expected a string in format principalType:principalName but got {user}")
    return users
