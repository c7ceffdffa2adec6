"""PLAIN, both sides."""

from __future__ import annotations

import pytest

from metashell.net.sasl import PlainClient, PlainServer, SaslError, StaticCredentials, sasl_server_mechanisms

USERS = StaticCredentials({"alice": "alice-secret", "пользователь": "пароль"})


def test_a_client_sends_name_and_password_once() -> None:
    client = PlainClient("пользователь", "пароль")
    server = PlainServer(USERS)
    assert client.next(server.next(client.first())) is None
    assert server.principal == "User:пользователь"
    with pytest.raises(SaslError, match="over"):
        client.next(b"more")


@pytest.mark.parametrize("token", [b"alice\0alice\0alice-secret", b"\0alice\0alice-secret"])
def test_the_authorization_id_may_be_the_name(token: bytes) -> None:
    server = PlainServer(USERS)
    assert server.next(token) == b""
    assert server.principal == "User:alice"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0nobody\0", "password not specified"),
        (b"\0nobody\0alice-secret", "Invalid username or password"),
        (b"\0\xff\0alice-secret", "Invalid username or password"),
        (b"\0alice\0\xff", "Invalid username or password"),
        (b"\0\0alice-secret", "username not specified"),
        (b"bob\0alice\0alice-secret", "authorization id"),
        (b"", "expected 3 tokens, got 1"),
        (b"\0" * 100, "expected 3 tokens"),
    ],
)
def test_anything_else_is_refused(token: bytes, told: str) -> None:
    server = PlainServer(USERS)
    with pytest.raises(SaslError, match=told):
        server.next(token)
    assert server.principal == ""


def test_only_mechanisms_that_are_known_can_be_offered() -> None:
    assert set(sasl_server_mechanisms(["PLAIN", "SCRAM-SHA-512"], USERS)) == {"PLAIN", "SCRAM-SHA-512"}
    with pytest.raises(KeyError):
        sasl_server_mechanisms(["GSSAPI"], USERS)


def test_users_of_scram_may_be_others_than_those_of_plain() -> None:
    both = StaticCredentials({"carol": "c"}, USERS)
    assert both.plain("carol") == "c" and both.scram("SCRAM-SHA-256", "carol") is None
    assert both.plain("alice") is None and both.scram("SCRAM-SHA-256", "alice") is not None
