"""A Kafka node that is broker and controller, with a listener of each security protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

NAMES = ("PLAINTEXT", "SSL", "MTLS", "SASL", "SASLSSL", "CONTROLLER")
"""Its listeners, in the order of the ports; MTLS is SSL with clients that must show a certificate."""
PLAIN_USERS: Mapping[str, str] = {"carol": "carol-secret"}
SCRAM_USERS: Mapping[str, Mapping[str, str]] = {
    "SCRAM-SHA-256": {"alice": "alice-secret"},
    "SCRAM-SHA-512": {"bob": "bob-secret"},
}
SESSION_MS = 3_600_000
"""How long a login holds."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "PLAINTEXT")
_MODULES = "org.apache.kafka.common.security"


def scram_words() -> list[str]:
    """The users as `--add-scram` takes them."""
    return [f"{mechanism}=[name={user},password={word}]" for mechanism, users in SCRAM_USERS.items() for user, word in users.items()]


def secured_settings(ports: Sequence[int], log_dir: Path, keystore: Path, truststore: Path, password: str) -> dict[str, object]:
    """The node's settings; `keystore` is a PKCS12 file with that password, `truststore` a PEM file."""
    listeners = [f"{name}://localhost:{port}" for name, port in zip(NAMES, ports, strict=True)]
    settings: dict[str, object] = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"localhost:{ports[-1]}",
        "listeners": ",".join(listeners),
        "advertised.listeners": ",".join(listeners[:-1]),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in zip(NAMES, _PROTOCOLS, strict=True)),
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": log_dir,
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": keystore,
        "ssl.keystore.password": password,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": truststore,
        "listener.name.mtls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "connections.max.reauth.ms": SESSION_MS,
        "offsets.topic.replication.factor": 1,
        "num.network.threads": 1,
        "num.io.threads": 1,
    }
    users = " ".join(f'user_{user}="{word}"' for user, word in PLAIN_USERS.items())
    for listener in ("sasl", "saslssl"):
        settings[f"listener.name.{listener}.plain.sasl.jaas.config"] = f"{_MODULES}.plain.PlainLoginModule required {users};"
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"listener.name.{listener}.{mechanism}.sasl.jaas.config"] = f"{_MODULES}.scram.ScramLoginModule required;"
    return settings
