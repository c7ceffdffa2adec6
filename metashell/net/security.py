"""What secures connections: a protocol, and what it needs.

Source: org.apache.kafka.common.security.auth.SecurityProtocol, SslConfigs, SaslConfigs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True, slots=True)
class SecurityConfig:
    """How a connection is secured; `protocol` is one of Kafka's four."""

    protocol: str = "PLAINTEXT"


PLAINTEXT: Final = SecurityConfig()
