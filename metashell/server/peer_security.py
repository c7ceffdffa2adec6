"""How a replica connects to its peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

    from metashell.net.sasl import SaslClient


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSecurity:
    """TLS and a login, where there are any; `sasl` makes the client's side for each connection."""

    tls: ssl.SSLContext | None = None
    sasl: Callable[[], SaslClient] | None = None
