"""What to attach to, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.net.addresses import Address, AddressMap
from metashell.net.security import PLAINTEXT, SecurityConfig

ATTACH_TIMEOUT_S = 10.0
ABSENT_TIMEOUT_S = 2.0
"""As long as somebody waits for the line that says the port is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A quorum, by its controllers, or by brokers that know them: exactly one of both is not empty.

    `address_map` says where to connect instead. Units: `timeout_s` bounds attaching only; `absent_s` does where no
    address takes a connection.
    """

    controllers: tuple[Address, ...] = ()
    brokers: tuple[Address, ...] = ()
    security: SecurityConfig = PLAINTEXT
    address_map: AddressMap = field(default_factory=AddressMap)
    timeout_s: float = ATTACH_TIMEOUT_S
    absent_s: float = ABSENT_TIMEOUT_S
    max_decompressed: int = MAX_DECOMPRESSED

    @property
    def label(self) -> str:
        """What the source is called: its first address."""
        return str((self.controllers or self.brokers)[0])
