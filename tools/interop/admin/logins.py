"""Users and their logins, as Kafka's properties write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
USERS: Final = {"admin": "admin-secret", "alice": "alice-secret"}


def plain_jaas(user: str, password: str, known: Mapping[str, str] | None = None) -> str:
    """A login by PLAIN; for a listener also with the users that it knows."""
    users = "".join(f' user_{name}="{secret}"' for name, secret in (known or {}).items())
    return f'{PLAIN} username="{user}" password="{password}"{users};'


def scram_jaas(user: str, password: str) -> str:
    return f'{SCRAM} username="{user}" password="{password}";'


def sasl_settings(mechanism: str, jaas: str) -> dict[str, object]:
    """What a client needs to log in without TLS."""
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
