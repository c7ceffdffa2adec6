"""Two cores back to back, for tests: bytes go to and fro until both are silent."""

from __future__ import annotations

from typing import Any

from metashell.net.api_versions import ApiRanges, supported_ranges
from metashell.net.client_connection import ClientConnection
from metashell.net.listener_options import ConnectionLimits, server_terms
from metashell.net.sasl import PlainClient, SaslClient, ScramClient, StaticCredentials, sasl_server_mechanisms
from metashell.net.server_connection import ANONYMOUS, ServerConnection

PASSWORDS = {"alice": "alice-secret", "bob,=": "pässword"}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
CREDENTIALS = StaticCredentials(PASSWORDS)
RANGES = supported_ranges([3, 60])


def sasl_client(mechanism: str, username: str = "alice", password: str = "alice-secret") -> SaslClient:
    if mechanism == "PLAIN":
        return PlainClient(username, password)
    return ScramClient(mechanism, username, password, nonce="client-nonce")


def sasl_terms(names: tuple[str, ...] = MECHANISMS) -> dict[str, Any]:
    return {"mechanisms": sasl_server_mechanisms(names, CREDENTIALS)}


def sasl_server(limits: ConnectionLimits | None = None, names: tuple[str, ...] = MECHANISMS, **terms: Any) -> ServerConnection:
    return server_of(RANGES, limits=limits or ConnectionLimits(), **sasl_terms(names), **terms)


def server_of(ranges: ApiRanges = RANGES, principal: str = ANONYMOUS, **terms: Any) -> ServerConnection:
    """The core of a connection to a listener that serves these APIs."""
    return ServerConnection(server_terms(ranges, **terms), principal)


def server_events(server: ServerConnection) -> list[Any]:
    return list(iter(server.next_event, None))


def client_events(client: ClientConnection) -> list[Any]:
    return list(iter(client.next_event, None))


def talk(client: ClientConnection, server: ServerConnection) -> tuple[list[Any], list[Any]]:
    """Carry bytes until neither has any; the events of both."""
    of_client: list[Any] = []
    of_server: list[Any] = []
    while True:
        asked = client.take_output()
        server.receive_data(asked)
        of_server += server_events(server)
        answered = server.take_output()
        client.receive_data(answered)
        of_client += client_events(client)
        if not asked and not answered:
            return of_client, of_server
