"""The static configuration of a controller, as its own decisions use it."""

from __future__ import annotations

from collections.abc import Mapping

from metashell.codec.config_def import Value
from metashell.controller.configs.keys import config_keys, parse_value


class Settings:
    """What one controller was started with; nothing of it comes from the log.

    Shape: `static` is server.properties as text.
    """

    def __init__(self, static: Mapping[str, str], cluster_id: str, node_id: int) -> None:
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
        self.super_users = frozenset(word.strip() for word in static.get("super.users", "").split(";") if word.strip())
        self.allows_without_acl = static.get("allow.everyone.if.no.acl.found", "false").strip().lower() == "true"

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
