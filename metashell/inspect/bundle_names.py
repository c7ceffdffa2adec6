"""Lists the fields of metadata records that hold names and the texts that are harmless, and makes the aliases of names.

A field that is not listed is hidden: one that a later release adds shows `[anonymised]` until it is listed. Aliases are random, the same
for each occurrence of a name, and match the same patterns as the names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.redaction import REDACTED
from metashell.codec.releases import KRAFT_VERSION, METADATA_VERSION

ANONYMISED: Final = "[anonymised]"
_ANY: Final = "*"
_PREFIXED: Final = 4
_ACL_KINDS: Final = {2: "topic", 3: "group", 5: "transactional-id", 6: "token", 7: "user"}
"""ResourceType of an ACL -> the kind of its names. The cluster, 4, always has the same name."""
_ACL_CLUSTER: Final = 4
_CLUSTER_NAME: Final = "kafka-cluster"
_CONFIG_KINDS: Final = {TOPIC_RESOURCE: "topic", CLIENT_METRICS_RESOURCE: "metrics", GROUP_RESOURCE: "group"}
_QUOTA_KINDS: Final = {"user": "user", "client-id": "client", "ip": "host"}
_QUOTA_KEYS: Final = frozenset(
    ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate")
)
_FEATURES: Final = frozenset(
    (
        METADATA_VERSION,
        KRAFT_VERSION,
        "transaction.version",
        "group.version",
        "eligible.leader.replicas.version",
        "share.version",
        "streams.version",
    )
)
_LISTENERS: Final = frozenset(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "CONTROLLER"))
_MECHANISMS: Final = frozenset(("plain", "scram-sha-256", "scram-sha-512", "gssapi", "oauthbearer"))
_LISTENER_PREFIX: Final = "listener.name."
_HOSTS: Final = frozenset(("", _ANY, "0.0.0.0", "::", "localhost", "127.0.0.1", "::1"))
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,19})?", re.ASCII)
_PRINCIPAL: Final = "User:"
_TOKEN_PRINCIPALS: Final = frozenset(("User:ANONYMOUS", "User:*"))
KEPT: Final = (
    ("topic", "__consumer_offsets"),
    ("topic", "__transaction_state"),
    ("topic", "__share_group_state"),
    ("topic", "__cluster_metadata"),
    ("topic", "__remote_log_metadata"),
    ("user", "ANONYMOUS"),
)
"""Names that Kafka itself gives."""


class Settings(NamedTuple):
    """Kafka's own configuration keys by resource type, and the words that its lists of values have."""

    keys: Mapping[int, frozenset[str]]
    words: frozenset[str]


class Names:
    """Replaces the names in records."""

    def __init__(self, aliases: Aliases, settings: Settings) -> None:
        self.aliases = aliases
        self._settings = settings

    def text(self, message: str, struct: str, field: str, owner: Any, value: str) -> str:
        """The replacement of a text field; `owner` is the struct that has it, as it was read."""
        # An empty text is kept: it names nothing, and its emptiness has a meaning.
        if not value or value == REDACTED:
            return value
        rule = _RULES.get((message, struct, field))
        return ANONYMISED if rule is None else rule(self, owner, value)

    # ---- kinds of names

    def alias(self, kind: str, name: str) -> str:
        return self.aliases.name(kind, name)

    def principal(self, text: str) -> str:
        """Replace the name in `User:alice`; the type stays if it is the usual one."""
        if text in _TOKEN_PRINCIPALS:
            return text
        if not text.startswith(_PRINCIPAL):
            return self.alias("principal", text)
        return _PRINCIPAL + self.alias("user", text[len(_PRINCIPAL) :])

    def host(self, text: str) -> str:
        return text if text in _HOSTS else self.alias("host", text)

    def listener(self, text: str) -> str:
        """Listener names are upper case, and lower case in configuration keys; both have one alias."""
        return text if text.upper() in _LISTENERS else self.alias("listener", text.lower()).upper()

    def feature(self, text: str) -> str:
        return text if text in _FEATURES else self.alias("feature", text)

    def acl_resource(self, resource_type: int, pattern_type: int, name: str) -> str:
        if name == _ANY and pattern_type != _PREFIXED:
            return name
        if resource_type == _ACL_CLUSTER:
            return name if name == _CLUSTER_NAME else self.alias("resource", name)
        kind, rest = acl_kind(resource_type, name)
        begin = name[: len(name) - len(rest)]
        if rest == _ANY and pattern_type != _PREFIXED:
            return name
        return begin + (self.aliases.pattern(kind, rest) if pattern_type == _PREFIXED else self.alias(kind, rest))

    def config_resource(self, resource_type: int, name: str) -> str:
        if resource_type == BROKER_RESOURCE and name.isascii() and name.isdigit():
            return name
        return self.alias(_CONFIG_KINDS.get(resource_type, "resource"), name)

    def config_key(self, resource_type: int, key: str) -> str:
        known = self._settings.keys.get(resource_type, frozenset())
        if key in known:
            return key
        if resource_type == BROKER_RESOURCE and key.startswith(_LISTENER_PREFIX):
            listener, _, rest = key[len(_LISTENER_PREFIX) :].partition(".")
            mechanism, _, of_mechanism = rest.partition(".")
            if rest in known or (mechanism in _MECHANISMS and of_mechanism in known):
                return f"{_LISTENER_PREFIX}{self.listener(listener).lower()}.{rest}"
        return self.alias("config", key)

    def config_value(self, value: str) -> str:
        """Keep a value that cannot be a name: a number, or words from Kafka's own lists."""
        return value if all(self._is_harmless(word.strip()) for word in value.split(",")) else ANONYMISED

    def _is_harmless(self, word: str) -> bool:
        return word in self._settings.words or _NUMBER.fullmatch(word) is not None


def acl_kind(resource_type: int, name: str) -> tuple[str, str]:
    """The kind of name in an ACL pattern, and the part of the pattern that is the name."""
    kind = _ACL_KINDS.get(resource_type, "resource")
    if kind == "user":
        return (kind, name[len(_PRINCIPAL) :]) if name.startswith(_PRINCIPAL) else ("principal", name)
    return kind, name


def prefixed_pattern(resource_type: int, pattern_type: int, name: str) -> tuple[str, str] | None:
    """The kind and text of a prefixed pattern, None for a literal one."""
    return acl_kind(resource_type, name) if pattern_type == _PREFIXED and resource_type != _ACL_CLUSTER else None


def _kind(kind: str) -> Callable[[Names, Any, str], str]:
    return lambda names, _, text: names.alias(kind, text)


def _principal(names: Names, _: Any, text: str) -> str:
    return names.principal(text)


def _host(names: Names, _: Any, text: str) -> str:
    return names.host(text)


def _listener(names: Names, _: Any, text: str) -> str:
    return names.listener(text)


def _feature(names: Names, _: Any, text: str) -> str:
    return names.feature(text)


def _quota_type(_: Names, __: Any, text: str) -> str:
    return text if text in _QUOTA_KINDS else ANONYMISED


def _quota_name(names: Names, entity: Any, text: str) -> str:
    kind = _QUOTA_KINDS.get(entity.entity_type, "resource")
    return names.host(text) if kind == "host" else names.alias(kind, text)


def _quota_key(_: Names, __: Any, text: str) -> str:
    return text if text in _QUOTA_KEYS else ANONYMISED


_RULES: Final[dict[tuple[str, str, str], Callable[[Names, Any, str], str]]] = {
    ("AccessControlEntryRecord", "AccessControlEntryRecord", "ResourceName"): lambda names, acl, text: names.acl_resource(
        acl.resource_type, acl.pattern_type, text
    ),
    ("AccessControlEntryRecord", "AccessControlEntryRecord", "Principal"): _principal,
    ("AccessControlEntryRecord", "AccessControlEntryRecord", "Host"): _host,
    ("ClearElrRecord", "ClearElrRecord", "TopicName"): _kind("topic"),
    ("ClientQuotaRecord", "EntityData", "EntityType"): _quota_type,
    ("ClientQuotaRecord", "EntityData", "EntityName"): _quota_name,
    ("ClientQuotaRecord", "ClientQuotaRecord", "Key"): _quota_key,
    ("ConfigRecord", "ConfigRecord", "ResourceName"): lambda names, config, text: names.config_resource(config.resource_type, text),
    ("ConfigRecord", "ConfigRecord", "Name"): lambda names, config, text: names.config_key(config.resource_type, text),
    ("ConfigRecord", "ConfigRecord", "Value"): lambda names, _, text: names.config_value(text),
    ("DelegationTokenRecord", "DelegationTokenRecord", "Owner"): _principal,
    ("DelegationTokenRecord", "DelegationTokenRecord", "Requester"): _principal,
    ("DelegationTokenRecord", "DelegationTokenRecord", "Renewers"): _principal,
    ("DelegationTokenRecord", "DelegationTokenRecord", "TokenId"): _kind("token"),
    ("FeatureLevelRecord", "FeatureLevelRecord", "Name"): _feature,
    ("RegisterBrokerRecord", "BrokerEndpoint", "Name"): _listener,
    ("RegisterBrokerRecord", "BrokerEndpoint", "Host"): _host,
    ("RegisterBrokerRecord", "BrokerFeature", "Name"): _feature,
    ("RegisterBrokerRecord", "RegisterBrokerRecord", "Rack"): _kind("rack"),
    ("RegisterControllerRecord", "ControllerEndpoint", "Name"): _listener,
    ("RegisterControllerRecord", "ControllerEndpoint", "Host"): _host,
    ("RegisterControllerRecord", "ControllerFeature", "Name"): _feature,
    ("RemoveDelegationTokenRecord", "RemoveDelegationTokenRecord", "TokenId"): _kind("token"),
    ("RemoveUserScramCredentialRecord", "RemoveUserScramCredentialRecord", "Name"): _kind("user"),
    ("TopicRecord", "TopicRecord", "Name"): _kind("topic"),
    ("UserScramCredentialRecord", "UserScramCredentialRecord", "Name"): _kind("user"),
    ("VotersRecord", "Endpoint", "Name"): _listener,
    ("VotersRecord", "Endpoint", "Host"): _host,
}
"""(message, struct, field) -> the function that replaces its text."""


_DIGITS: Final = {"topic": 5}
_DIGITS_USUAL: Final = 3


class Aliases:
    """Deals an alias for each name of a kind (topic, user, host ...).

    Shape: `draw(n)` returns a number below n. `patterns` are all prefixed patterns of each kind: an alias begins with the alias of a
    pattern if, and only if, the name begins with the pattern. `kept` are names of a kind that are not replaced; they consist of letters,
    digits and underscores.

    Why random numbers? A hash of a name could be found by guessing names, and a counter would show which name came first.

    Worked case: the prefixed patterns `pay` and `payments-` become `prefix-12.` and `prefix-12.prefix-40.`, and the topic `payments-eu`
    becomes `prefix-12.prefix-40.topic-17`. So both patterns still match it.
    """

    def __init__(
        self, draw: Callable[[int], int], *, patterns: Iterable[tuple[str, str]] = (), kept: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._draw = draw
        self._kept: dict[str, set[str]] = {}
        for kind, name in kept:
            self._kept.setdefault(kind, set()).add(name)
        self._patterns: dict[str, set[str]] = {}
        for kind, pattern in patterns:
            self._patterns.setdefault(kind, set()).add(pattern)
        self._lengths = {kind: sorted(set(map(len, found))) for kind, found in self._patterns.items()}
        self._tokens: dict[tuple[str, str], str] = {}
        self._taken: dict[str, set[int]] = {}
        self._dealt: dict[tuple[str, str], str] = {}

    def name(self, kind: str, name: str) -> str:
        """The alias of a name."""
        found = self._dealt.get((kind, name))
        if found is None:
            found = name if name in self._kept.get(kind, ()) else self._begin(kind, name) + self._token(kind, name)
            self._dealt[kind, name] = found
        return found

    def pattern(self, kind: str, pattern: str) -> str:
        """The alias of a prefixed pattern, which must be one of `patterns`."""
        assert pattern in self._patterns.get(kind, ()), "aliases of names would not begin with it"
        return pattern if self._is_kept(kind, pattern) else self._begin(kind, pattern)

    def dealt(self) -> Iterator[tuple[str, str, str]]:
        """Kind, name and alias of each name so far, in order of kind and name."""
        for (kind, name), alias in sorted(self._dealt.items()):
            yield kind, name, alias

    def _begin(self, kind: str, text: str) -> str:
        """The beginning of a text's alias: a piece for each pattern that the text begins with."""
        patterns = self._patterns.get(kind, ())
        chain = [text[:length] for length in self._lengths.get(kind, ()) if text[:length] in patterns and length <= len(text)]
        is_kept = [self._is_kept(kind, pattern) for pattern in chain]
        # A pattern that a kept name begins with stays. The dot after it is in no kept name, so no longer one of these fits what follows.
        head = chain[sum(is_kept) - 1] if any(is_kept) else ""
        pieces = "".join(f"{self._token('prefix', f'{kind} {pattern}')}." for pattern, kept in zip(chain, is_kept, strict=True) if not kept)
        return f"{head}.{pieces}" if head else pieces

    def _is_kept(self, kind: str, pattern: str) -> bool:
        return not pattern or any(name.startswith(pattern) for name in self._kept.get(kind, ()))

    def _token(self, kind: str, name: str) -> str:
        found = self._tokens.get((kind, name))
        if found is None:
            taken = self._taken.setdefault(kind, set())
            digits = _DIGITS.get(kind, _DIGITS_USUAL)
            while len(taken) >= 10**digits // 2:
                digits += 1
            number = self._draw(10**digits)
            while number in taken:
                number = self._draw(10**digits)
            taken.add(number)
            found = self._tokens[kind, name] = f"{kind}-{number:0{digits}d}"
        return found
