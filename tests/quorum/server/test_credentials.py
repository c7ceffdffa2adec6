"""SCRAM users and delegation tokens of an image, as a listener asks for them."""

from __future__ import annotations

from base64 import b64encode

from metashell.metadata.image import DelegationToken, MetadataImage
from metashell.metadata.image.settings import ScramCredential
from metashell.net.sasl import ScramClient, ScramServer, make_credential
from metashell.quorum.controller.acls_and_tokens import hmac_of_token
from metashell.quorum.server.apis import ImageCredentials

SECRET = "token-secret"
NOW_MS = 1_000_000


class State:
    """An image that changes, and a clock."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.now_ms = NOW_MS

    def credentials(self, secret: str | None = SECRET) -> ImageCredentials:
        return ImageCredentials(lambda: self.image, secret, lambda: self.now_ms)

    def add_user(self, name: str, password: str, mechanism: int = 2) -> None:
        made = ScramCredential(*make_credential("SCRAM-SHA-512" if mechanism == 2 else "SCRAM-SHA-256", password))
        users = self.image.scram.get(mechanism)
        empty = type(self.image.scram)()
        self.image = self.image._replace(scram=self.image.scram.set(mechanism, (empty if users is None else users).set(name, made)))

    def add_token(self, token_id: str, expires_ms: int, owner: str = "User:alice") -> None:
        token = DelegationToken(owner, owner, (), NOW_MS - 5, NOW_MS + 1_000, expires_ms, token_id)
        self.image = self.image._replace(delegation_tokens=self.image.delegation_tokens.set(token_id, token))


def logged_in(server: ScramServer, client: ScramClient) -> str:
    client.next(server.next(client.next(server.next(client.first())) or b""))
    return server.principal


def test_users_of_the_image_log_in_by_their_mechanism_from_when_they_are_there() -> None:
    state = State()
    credentials = state.credentials()
    assert credentials.scram("SCRAM-SHA-512", "bob") is None
    state.add_user("bob", "pw")
    assert logged_in(ScramServer("SCRAM-SHA-512", credentials), ScramClient("SCRAM-SHA-512", "bob", "pw")) == "User:bob"
    assert credentials.scram("SCRAM-SHA-256", "bob") is None
    assert credentials.plain("bob") is None


def test_a_token_is_good_until_it_expires_or_is_removed() -> None:
    state = State()
    credentials = state.credentials()
    state.add_token("one", NOW_MS + 300)
    found = credentials.token("SCRAM-SHA-256", "one")
    assert found is not None and (found.owner, found.lifetime_ms) == ("User:alice", 300)
    state.now_ms += 299
    again = credentials.token("SCRAM-SHA-256", "one")
    assert again is not None and again == found._replace(lifetime_ms=1)
    state.now_ms += 1
    assert credentials.token("SCRAM-SHA-256", "one") is None
    state.now_ms = NOW_MS
    state.add_token("late", NOW_MS + 5_000)
    late = credentials.token("SCRAM-SHA-256", "late")
    assert late is not None and late.lifetime_ms == 1_000
    state.image = MetadataImage()
    assert credentials.token("SCRAM-SHA-256", "late") is None


def test_the_password_of_a_token_is_its_hmac_in_base64() -> None:
    state = State()
    state.add_token("one", NOW_MS + 300)
    found = state.credentials().token("SCRAM-SHA-512", "one")
    assert found is not None
    password = b64encode(hmac_of_token(SECRET, "one")).decode()
    assert found.credential == make_credential("SCRAM-SHA-512", password, salt=found.credential.salt)


def test_without_a_secret_no_token_is_taken() -> None:
    state = State()
    state.add_token("one", NOW_MS + 300)
    assert state.credentials(None).token("SCRAM-SHA-512", "one") is None
