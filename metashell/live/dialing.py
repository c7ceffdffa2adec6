"""How a connection is opened: handshake, TLS and SASL as a client's configuration says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.net.client_connection import ClientConnection

if TYPE_CHECKING:
    from metashell.live.controllers import Dial, Link
    from metashell.net.addresses import Address
    from metashell.net.security import SecurityConfig

CLIENT_ID: Final = "metashell-observer"
CONNECT_TIMEOUT_S: Final = 5.0


def dial_with(security: SecurityConfig) -> Dial:
    """A way to open connections that `security` secures. Errors: UsageError for a store or key that cannot be used."""
    tls = None
    if security.tls is not None:
        from metashell.net.tls import client_context

        tls = client_context(security.tls)

    async def dial(address: Address, name: str) -> Link:
        from metashell.net.transport import connect

        core = ClientConnection(client_id=CLIENT_ID, sasl=security.sasl_client())
        return await connect(address, core=core, tls=tls, server_hostname=name, timeout_s=CONNECT_TIMEOUT_S)

    return dial
