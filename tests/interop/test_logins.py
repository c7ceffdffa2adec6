"""Logins at a controller's listener: what a real Kafka answers, and when it hangs up, is what ours does."""

from __future__ import annotations

import socket
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metashell.codec.messages import (
    ApiVersionsRequest,
    CreateDelegationTokenRequest,
    DescribeClusterRequest,
    DescribeQuorumRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from metashell.net.frames import api_key_of, decode_response, encode_request, frame
from metashell.net.sasl import ScramClient
from tests.java import lone_controllers
from tests.net.test_server_connection import TokenClient
from tools.interop.nodes import Cluster, cluster, controller_settings, format_directories, free_ports, server_command, write_config

pytestmark = pytest.mark.slow

SECURITY = "org.apache.kafka.common.security"
SESSION_MS = 60_000
"""Long, so that it ends in no story because the machine is busy."""
SHORT_SESSION_MS = 2000
"""Of a listener of its own, for the stories that wait for the end; they do nothing else that it could end."""
AGAIN_S = 1.1
"""Kafka refuses a login within a second of the last one."""
LIMIT_S = 120.0
STAYS_S = 3.0
"""Who has not hung up by then does not."""


@dataclass
class Wire:
    """One connection, and what was answered on it."""

    port: int
    answered: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self.port), LIMIT_S)
        self._number = 0

    def send(self, data: bytes) -> bytes | None:
        """Send a whole frame, get one; None where the other side hangs up."""
        try:
            self._socket.sendall(data)
            size = self._take(4)
            return None if size is None else self._take(struct.unpack(">i", size)[0])
        except ConnectionError:
            return None

    def _take(self, size: int) -> bytes | None:
        found = b""
        while len(found) < size:
            more = self._socket.recv(size - len(found))
            if not more:
                return None
            found += more
        return found

    def ask(self, message: Any, version: int) -> Any:
        """The answer, which is noted; None where the other side hangs up."""
        self._number += 1
        key = api_key_of(message)
        data = self.send(encode_request(message, version, self._number, "logins"))
        if data is None:
            self.answered.append(f"{key}: hung up")
            return None
        number, answer = decode_response(data, key, version)
        assert number == self._number
        self.answered.append((key, answer.error_code, getattr(answer, "error_message", None), *_details(answer)))
        return answer

    def hangs_up(self) -> None:
        """Note whether the other side closes the connection without another word."""
        self._socket.settimeout(STAYS_S)
        try:
            self.answered.append("hung up" if self._socket.recv(1) == b"" else "more bytes")
        except TimeoutError:
            self.answered.append("stays")
        except ConnectionError:
            self.answered.append("hung up")
        self._socket.settimeout(LIMIT_S)

    def close(self) -> None:
        self._socket.close()

    # ---- parts of a story

    def shake(self, mechanism: str, version: int = 1) -> Any:
        return self.ask(SaslHandshakeRequest(mechanism=mechanism), version)

    def plain(self, user: str = "bob", password: str = "bob-secret", version: int = 2) -> Any:
        self.shake("PLAIN")
        return self.ask(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode()), version)

    def scram(self, client: ScramClient, version: int = 2) -> Any:
        self.shake(client.mechanism)
        first = self.ask(SaslAuthenticateRequest(auth_bytes=client.first()), version)
        if first is None or first.error_code:
            return first
        # Ours says only in the second round that there is no such user, so that nobody learns which there are.
        self.answered.pop()
        return self.ask(SaslAuthenticateRequest(auth_bytes=client.next(first.auth_bytes) or b""), version)

    def versions(self) -> None:
        self.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)

    def works(self) -> None:
        """Whether requests are taken now."""
        self.ask(DescribeQuorumRequest(topics=()), 1)


def _details(answer: Any) -> tuple[Any, ...]:
    if hasattr(answer, "mechanisms"):
        return (sorted(answer.mechanisms),)
    if hasattr(answer, "session_lifetime_ms"):
        # What is left of a token's life depends on when it was made.
        left = answer.session_lifetime_ms
        return (left if left <= SESSION_MS else "long",)
    return ()


def plain_twice(wire: Wire) -> None:
    wire.plain()
    wire.works()
    time.sleep(AGAIN_S)
    wire.plain()
    wire.plain()
    wire.works()


def session_ends(wire: Wire) -> None:
    wire.plain()
    time.sleep(SHORT_SESSION_MS / 1000 + 0.2)
    wire.works()


def login_after_the_end(wire: Wire) -> None:
    wire.plain()
    time.sleep(SHORT_SESSION_MS / 1000 + 0.2)
    wire.plain()
    wire.works()


def other_user_later(wire: Wire) -> None:
    wire.plain()
    time.sleep(AGAIN_S)
    wire.plain("carol", "carol-secret")
    wire.hangs_up()


def wrong_password_later(wire: Wire) -> None:
    wire.plain()
    time.sleep(AGAIN_S)
    wire.plain(password="wrong")
    wire.hangs_up()


def other_mechanism_later(wire: Wire) -> None:
    wire.plain()
    time.sleep(AGAIN_S)
    wire.scram(ScramClient("SCRAM-SHA-256", "alice", "alice-secret"))
    wire.hangs_up()


def request_while_logging_in_again(wire: Wire) -> None:
    wire.plain()
    time.sleep(AGAIN_S)
    wire.shake("PLAIN")
    wire.versions()
    wire.hangs_up()


def unknown_mechanism_later(wire: Wire) -> None:
    wire.plain()
    time.sleep(AGAIN_S)
    wire.shake("GSSAPI")
    wire.hangs_up()


def plain_of(user: str, password: str) -> Callable[[Wire], None]:
    def story(wire: Wire) -> None:
        wire.plain(user, password)
        wire.hangs_up()

    return story


def token_of(token: bytes, mechanism: str = "PLAIN") -> Callable[[Wire], None]:
    def story(wire: Wire) -> None:
        wire.shake(mechanism)
        wire.ask(SaslAuthenticateRequest(auth_bytes=token), 2)
        wire.hangs_up()

    return story


def scram_of(mechanism: str, user: str, password: str, version: int = 2) -> Callable[[Wire], None]:
    def story(wire: Wire) -> None:
        wire.scram(ScramClient(mechanism, user, password), version)
        wire.works()
        wire.scram(ScramClient(mechanism, user, password), version)

    return story


def bare_tokens(password: str) -> Callable[[Wire], None]:
    def story(wire: Wire) -> None:
        wire.shake("PLAIN", 0)
        wire.answered.append(wire.send(frame(f"\0bob\0{password}".encode())))
        wire.works()

    return story


def nothing_first(wire: Wire) -> None:
    wire.works()


def versions_in_between(wire: Wire) -> None:
    wire.versions()
    wire.shake("PLAIN")
    wire.versions()
    wire.hangs_up()


def no_handshake(wire: Wire) -> None:
    wire.ask(SaslAuthenticateRequest(auth_bytes=b"\0bob\0bob-secret"), 2)
    wire.hangs_up()


def two_handshakes(wire: Wire) -> None:
    wire.shake("PLAIN")
    wire.shake("PLAIN")
    wire.hangs_up()


def unknown_mechanism(wire: Wire) -> None:
    wire.shake("GSSAPI")
    wire.hangs_up()


def late_again(wire: Wire) -> None:
    wire.scram(ScramClient("SCRAM-SHA-256", "alice", "alice-secret"))
    wire.ask(SaslAuthenticateRequest(auth_bytes=b""), 2)
    wire.works()


def delegation_token(wire: Wire) -> None:
    wire.scram(ScramClient("SCRAM-SHA-256", "alice", "alice-secret"))
    made = wire.ask(CreateDelegationTokenRequest(max_lifetime_ms=3_600_000), 3)
    password = b64encode(made.hmac).decode()
    until_published(wire.port, made.token_id, password)
    for name, word in ((made.token_id, password), (made.token_id, "wrong"), ("nobody", password)):
        other = Wire(wire.port, wire.answered)
        other.scram(TokenClient("SCRAM-SHA-512", name, word))
        other.works()
        # A token makes no tokens.
        other.ask(CreateDelegationTokenRequest(max_lifetime_ms=3_600_000), 3)
        other.close()
    other = Wire(wire.port, wire.answered)
    other.scram(ScramClient("SCRAM-SHA-512", made.token_id, password))
    other.close()


def until_published(port: int, token_id: str, password: str) -> None:
    """Wait until a token is known to those who check logins."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with closing(Wire(port)) as wire:
            answer = wire.scram(TokenClient("SCRAM-SHA-512", token_id, password))
            if answer is not None and answer.error_code == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the token does not log in")


STORIES: dict[str, Callable[[Wire], None]] = {
    "plain twice": plain_twice,
    "a session ends": session_ends,
    "login after the end": login_after_the_end,
    "another user later": other_user_later,
    "a wrong password later": wrong_password_later,
    "another mechanism later": other_mechanism_later,
    "an unknown mechanism later": unknown_mechanism_later,
    "a request while logging in again": request_while_logging_in_again,
    "plain, wrong password": plain_of("bob", "wrong"),
    "plain, nobody": plain_of("nobody", "x"),
    "plain, no password": plain_of("bob", ""),
    "plain, no name": plain_of("", "x"),
    "plain, other authorization": token_of(b"carol\0bob\0bob-secret"),
    "plain, own authorization": token_of(b"bob\0bob\0bob-secret"),
    "plain, two parts": token_of(b"\0bob"),
    "plain, four parts": token_of(b"\0bob\0bob-secret\0"),
    "plain, empty": token_of(b""),
    "scram, nonsense": token_of(b"nonsense", "SCRAM-SHA-256"),
    "scram 256": scram_of("SCRAM-SHA-256", "alice", "alice-secret"),
    "scram 512": scram_of("SCRAM-SHA-512", "dave", "dave-secret"),
    "scram, version 0": scram_of("SCRAM-SHA-512", "dave", "dave-secret", 0),
    "scram, wrong password": scram_of("SCRAM-SHA-512", "dave", "wrong"),
    "scram, other mechanism": scram_of("SCRAM-SHA-512", "alice", "alice-secret"),
    "bare tokens": bare_tokens("bob-secret"),
    "bare tokens, wrong": bare_tokens("wrong"),
    "nothing first": nothing_first,
    "versions in between": versions_in_between,
    "no handshake": no_handshake,
    "two handshakes": two_handshakes,
    "unknown mechanism": unknown_mechanism,
    "one token too many": late_again,
    "a delegation token": delegation_token,
}


ENDING = {"a session ends", "login after the end"}


class Listening(NamedTuple):
    """The secured listeners of a controller: with long sessions, and with short ones."""

    secured: int
    ending: int


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listening, Listening]]:
    """Kafka's controller and ours."""
    folder = tmp_path_factory.mktemp("logins")
    with cluster(lambda tool, *words: server_command(*words), folder) as place:
        yield start(place, folder, "kafka"), start(place, folder, "ours")
    lone_controllers().leave(folder / "kafka.properties")


def security(listener: str, session_ms: int) -> dict[str, object]:
    """Who may log in at a listener, and for how long by PLAIN."""
    own = f"listener.name.{listener}"
    scram = [f"{own}.{mechanism}.sasl.jaas.config" for mechanism in ("scram-sha-256", "scram-sha-512")]
    return {
        f"{own}.plain.sasl.jaas.config": f'{SECURITY}.plain.PlainLoginModule required user_bob="bob-secret" user_carol="carol-secret";',
        f"{own}.plain.connections.max.reauth.ms": session_ms,
        **dict.fromkeys(scram, f"{SECURITY}.scram.ScramLoginModule required;"),
    }


def start(place: Cluster, folder: Path, name: str) -> Listening:
    """Start a controller; its secured listeners, once it is active."""
    port, secured, ending = free_ports(3)
    settings = controller_settings(1, port, folder / f"{name}-log", {"controller.quorum.bootstrap.servers": f"localhost:{port}"}) | {
        "controller.listener.names": "CONTROLLER,SECURED,ENDING",
        "listeners": f"CONTROLLER://localhost:{port},SECURED://localhost:{secured},ENDING://localhost:{ending}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT,ENDING:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        **security("secured", SESSION_MS),
        **security("ending", SHORT_SESSION_MS),
        "delegation.token.secret.key": "a secret",
    }
    config = write_config(folder / f"{name}.properties", settings)
    users = ["-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]", "-S", "SCRAM-SHA-512=[name=dave,password=dave-secret]"]
    format_directories(config, "--standalone", *users)
    start_config = lone_controllers().start if name == "kafka" else place.start
    start_config(config)

    def is_active() -> bool:
        try:
            with closing(Wire(port)) as wire, closing(Wire(secured)) as other:
                found = wire.ask(DescribeClusterRequest(endpoint_type=2), 1)
                login = other.scram(ScramClient("SCRAM-SHA-256", "alice", "alice-secret"))
                return found is not None and found.controller_id == 1 and login is not None and login.error_code == 0
        except OSError:
            return False

    place.wait_until("an active controller", is_active)
    return Listening(secured, ending)


@pytest.mark.parametrize("name", STORIES)
def test_a_login_goes_as_at_a_real_controller(controllers: tuple[Listening, Listening], name: str) -> None:
    def tell(controller: Listening) -> list[Any]:
        with closing(Wire(controller.ending if name in ENDING else controller.secured)) as wire:
            STORIES[name](wire)
            return wire.answered

    with ThreadPoolExecutor(2) as both:
        theirs, ours = both.map(tell, controllers)
    assert ours == theirs
