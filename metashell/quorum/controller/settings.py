"""The static configuration of a controller, the definitions of dynamic settings, and the policies of an operator.

`config_keys` gives the settings that Kafka knows for topics, brokers, groups and client metrics, and `check_value` whether a value fits.
The definitions are data, made from Kafka's own (`tools/gen_config_definitions.py`); `metashell/codec/validation.py` says what types and
checks mean.

`Policies` stand for Kafka's CreateTopicPolicy and AlterConfigPolicy: a program that embeds the controller gives functions in place of Java
classes. They are called within decisions, so they are quick and do no I/O.
Source: org.apache.kafka.server.policy.CreateTopicPolicy, AlterConfigPolicy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pkgutil import get_data
from typing import Final, NamedTuple, TypeVar, cast

from metashell.codec import validation
from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE, ConfigType
from metashell.codec.error_codes import INVALID_CONFIG, POLICY_VIOLATION, UNKNOWN_SERVER_ERROR
from metashell.codec.java import JAVA_BLANKS, is_same_in_any_case
from metashell.codec.validation import NULL, REQUIRED, ConfigValueError, Value, no_check
from metashell.common.errors import MetashellError, UsageError
from metashell.quorum.controller.decision import ApiError


class PolicyError(MetashellError):
    """A policy forbids a change; the client gets the message."""


class PolicyRefusal(ApiError):
    """A policy forbids an item of the request; its other items are not affected."""


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
            _call_policy(self.create_topic, topic)

    def check_configs(self, changes: ConfigsToAlter) -> None:
        """Errors: PolicyRefusal."""
        if self.alter_configs is not None:
            _call_policy(self.alter_configs, changes)


NO_POLICIES: Final = Policies()
SETTINGS: Final = {"create.topic.policy.class.name": "create_topic", "alter.config.policy.class.name": "alter_configs"}
"""The settings that name Java classes, and the functions that take their place."""


def _call_policy(policy: Callable[[_Asked], None], asked: _Asked) -> None:
    try:
        policy(asked)
    except PolicyError as error:
        raise PolicyRefusal(POLICY_VIOLATION, str(error)) from None
    except Exception as error:
        raise PolicyRefusal(UNKNOWN_SERVER_ERROR, f"The policy failed: {type(error).__name__}: {error}") from error


_Asked = TypeVar("_Asked", TopicToCreate, ConfigsToAlter)


STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Settings:
    """The static settings of one controller; nothing here comes from the log.

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
        self.topic_defaults: dict[str, Value | ApiError] = {}
        """What a topic has that sets nothing, once `config_checks` has looked."""
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


TYPE_CODES: Final[dict[ConfigType, int]] = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
    "CLASS": 8,
    "PASSWORD": 9,
}
"""How DescribeConfigs says a type."""


KINDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", GROUP_RESOURCE: "group", CLIENT_METRICS_RESOURCE: "client_metrics"}
"""The kind of settings that a type of resource has."""


_VALID_STRINGS: Final = "validStrings="


class ConfigKey(NamedTuple):
    """One setting.

    Shape: `default` is None for none; `synonyms` are (broker setting, factor): a topic's value comes from the first that is set,
    times the factor.
    """

    name: str
    type: ConfigType
    default: str | None
    check: str
    is_internal: bool
    is_dynamic: bool
    synonyms: tuple[tuple[str, int], ...]
    documentation: str | None

    @property
    def is_sensitive(self) -> bool:
        return self.type == "PASSWORD"


@cache
def config_keys(kind: str) -> dict[str, ConfigKey]:
    """Every key of a kind (topic, broker, group, client_metrics) by its name, in the order in which Kafka checks them."""
    data = get_data("metashell.quorum.controller", f"config_keys/{kind}.tsv")
    assert data is not None, "the definitions lie beside this module"
    lines = (line for line in data.decode().split("\n") if line and line[0] != "#")
    return {key.name: key for key in map(_config_key, lines)}


def _config_key(line: str) -> ConfigKey:
    name, type, default, check, flags, synonyms, documentation = line.split("\t")
    return ConfigKey(
        name,
        cast(ConfigType, type),
        None if default in (REQUIRED, NULL) else default,
        check,
        "internal" in flags.split(" "),
        "dynamic" in flags.split(" "),
        tuple(_synonym(word) for word in synonyms.split(" ") if word),
        None if documentation == "null" else documentation.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\"),
    )


def _synonym(word: str) -> tuple[str, int]:
    name, _, factor = word.partition("*")
    return name, int(factor or "1")


def allowed_words(key: ConfigKey) -> tuple[str, ...]:
    """The words that a key takes; none where it takes any number or text."""
    if key.type == "BOOLEAN":
        return "true", "false"
    named = [word.removeprefix(_VALID_STRINGS) for word in key.check.split(" ") if word.startswith(_VALID_STRINGS)]
    return tuple(word for text in named for word in text.split(",") if word)


def parse_value(key: ConfigKey, text: str | None) -> Value:
    """The value that `text` stands for. Errors: ApiError INVALID_CONFIG in Kafka's words."""
    if text is None:
        return None
    try:
        return validation.parse_value(key, text)
    except ConfigValueError as error:
        raise ApiError(INVALID_CONFIG, str(error)) from None


def check_value(key: ConfigKey, value: Value) -> None:
    """Hold a value against the key's own check. Errors: ApiError INVALID_CONFIG in Kafka's words."""
    try:
        validation.check_value(key, value, _OTHERS)
    except ConfigValueError as error:
        raise ApiError(INVALID_CONFIG, str(error)) from None


_OTHERS: Final = dict.fromkeys(("ControllerQuorumVotersValidator", "ControllerQuorumBootstrapServersValidator"), no_check)
"""Checks of what a process is started with, which is no affair of the log."""
