"""What is secret, in one table, for every voice of ours: shell, dump, export.

SCRAM salts and keys, delegation token HMACs, and configuration values: those whose key is of Kafka's type PASSWORD (with
or without a `listener.name.NAME.` prefix), and any key of a BROKER resource that Kafka does not know, as Kafka itself
treats it. Redaction happens on JSON values, before any rendering; filters and searches see the redacted text.
Source: org.apache.kafka.metadata.KafkaConfigSchema.isSensitive; KafkaConfig of 3.9.2 and 4.3.1.
"""

from __future__ import annotations

from os.path import join
from typing import Any

from metashell.codec.registry import SCHEMA_FOLDER

REDACTED = "[redacted]"
BROKER_RESOURCE = 4
_LISTENER_PREFIX = "listener.name."

SECRET_FIELDS: dict[str, frozenset[str]] = {
    "UserScramCredentialRecord": frozenset(("salt", "storedKey", "serverKey", "saltedPassword")),
    "ScramCredentialUpsertion": frozenset(("salt", "saltedPassword")),
    "DelegationToken": frozenset(("hmac",)),
}
"""Message or struct to the JSON names of its secret fields."""

REDACTED_RECORD_TYPES = frozenset((4, 11))
"""The metadata record types that can hold a secret: ConfigRecord and UserScramCredentialRecord."""

_known_keys: dict[str, bool] = {}


def broker_config_keys() -> dict[str, bool]:
    """Every configuration key of a broker, and whether its value is a password."""
    if not _known_keys:
        with open(join(SCHEMA_FOLDER, "broker-configs.txt"), encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    key, _, mark = line.strip().partition(" ")
                    _known_keys[key] = mark == "password"
    return _known_keys


def is_sensitive_config(resource_type: int, key: str) -> bool:
    """Whether the value of a configuration key must not be shown. Units: `resource_type` as in ConfigResource.Type."""
    keys = broker_config_keys()
    spellings = [key]
    if key.startswith(_LISTENER_PREFIX):
        rest = key[len(_LISTENER_PREFIX) :].partition(".")[2]
        # A SASL mechanism may stand between the listener's name and the key.
        spellings += [rest, rest.partition(".")[2]]
    if any(keys.get(spelling) for spelling in spellings):
        return True
    return resource_type == BROKER_RESOURCE and not any(spelling in keys for spelling in spellings)


def redact(message_name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A record's JSON value with its secrets replaced by `[redacted]`; the value itself where it has none."""
    if message_name == "ConfigRecord":
        if value.get("value") is not None and is_sensitive_config(value["resourceType"], value["name"]):
            return {**value, "value": REDACTED}
        return value
    secret = SECRET_FIELDS.get(message_name)
    if message_name == "UserScramCredentialRecord" and "credentialInfos" in value:
        # KIP-631's own form keeps one record a user, with a list of credentials.
        infos = [_redact_fields(info, secret or frozenset()) for info in value["credentialInfos"]]
        return {**value, "credentialInfos": infos}
    return value if secret is None else _redact_fields(value, secret)


def _redact_fields(value: dict[str, Any], secret: frozenset[str]) -> dict[str, Any]:
    return {name: REDACTED if name in secret and item is not None else item for name, item in value.items()}
