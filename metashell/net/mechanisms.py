"""What a listener needs for SASL: its mechanisms, and users with their passwords in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from metashell.net.plain import PlainServer
from metashell.net.sasl import PLAIN, Credentials, SaslServer, ScramCredential, TokenCredential
from metashell.net.scram import HASHES, ScramServer, make_credential


class StaticCredentials:
    """Users with their passwords, in memory: those of a JAAS configuration, or of a test.

    With `scram`, its users and tokens are those of SCRAM, and the passwords are only for PLAIN, as on a Kafka listener.
    """

    def __init__(self, passwords: Mapping[str, str], scram: Credentials | None = None) -> None:
        self._passwords = dict(passwords)
        self._others = scram
        self._made: dict[tuple[str, str], ScramCredential] = {}

    def plain(self, username: str) -> str | None:
        """See Credentials."""
        return self._passwords.get(username)

    def scram(self, mechanism: str, username: str) -> ScramCredential | None:
        """See Credentials. A credential is made from the password when it is first asked for."""
        if self._others is not None:
            return self._others.scram(mechanism, username)
        password = self._passwords.get(username)
        if password is None:
            return None
        key = mechanism, username
        if key not in self._made:
            self._made[key] = make_credential(mechanism, password)
        return self._made[key]

    def token(self, mechanism: str, token_id: str) -> TokenCredential | None:
        """See Credentials."""
        return None if self._others is None else self._others.token(mechanism, token_id)


def server_mechanisms(names: Iterable[str], credentials: Credentials) -> dict[str, Callable[[], SaslServer]]:
    """What a listener needs to offer these mechanisms.

    Errors: KeyError for a mechanism that is not PLAIN or SCRAM.
    """

    def maker(name: str) -> Callable[[], SaslServer]:
        if name == PLAIN:
            return lambda: PlainServer(credentials)
        if name not in HASHES:
            raise KeyError(name)
        return lambda: ScramServer(name, credentials)

    return {name: maker(name) for name in names}
