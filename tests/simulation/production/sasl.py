"""Who connects, where listeners ask for that: PLAIN, since nothing of it is drawn by chance."""

from __future__ import annotations

from collections.abc import Callable

from metashell.net.mechanisms import StaticCredentials, server_mechanisms
from metashell.net.plain import PlainClient
from metashell.net.sasl import SaslClient, SaslServer

USER, PASSWORD = "quorum", "secret"


def sasl_client() -> SaslClient:
    """The side of a peer or operator."""
    return PlainClient(USER, PASSWORD)


def mechanisms() -> dict[str, Callable[[], SaslServer]]:
    """The side of a listener."""
    return server_mechanisms(["PLAIN"], StaticCredentials({USER: PASSWORD}))
