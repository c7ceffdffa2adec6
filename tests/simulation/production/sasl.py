"""Who connects, where listeners ask for that: PLAIN, since nothing of it is drawn by chance."""

from __future__ import annotations

from collections.abc import Callable

from metashell.net.sasl import PlainClient, SaslClient, SaslServer, StaticCredentials, sasl_server_mechanisms

USER, PASSWORD = "quorum", "secret"


def sasl_client() -> SaslClient:
    """The side of a peer or operator."""
    return PlainClient(USER, PASSWORD)


def mechanisms() -> dict[str, Callable[[], SaslServer]]:
    """The side of a listener."""
    return sasl_server_mechanisms(["PLAIN"], StaticCredentials({USER: PASSWORD}))
