"""SCRAM credentials of a server, and those that it pretends to have for names that it does not know, so that nobody learns which it knows.

The first answer of a server has the salt and the iteration count of the name that wants to log in. For a name that is not known both are
made from the name and a secret: always the same ones, in one of the forms that the credentials of known names have, as often as these have
it. Forms differ: Kafka's tools make a salt that is a number in base 36, this package's make bytes, and the count is the administrator's.

- Where nobody is known, the form is that of Kafka's kafka-configs. There is nothing to tell apart then.
- Controllers of one cluster have the same secret when delegation.token.secret.key or the passwords of PLAIN are the same on all of them;
  otherwise it comes from the credentials themselves. A secret that changes shows once which names were pretended, so those of the
  configuration are better.

Source: RFC 5802; org.apache.kafka.common.security.scram.internals.ScramFormatter.secureRandomString, ScramCredentialUtils."""

from __future__ import annotations

import hashlib
import hmac
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import accumulate
from os import urandom
from typing import Final, NamedTuple

from metashell.codec.validation import scram_keys

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS_MIN: Final = 4096
"""The least count that Kafka's client takes, and that RFC 7677 asks for."""
SALT_SIZE: Final = 24
JAVA_BITS: Final = 130
"""Random bits of a salt that Kafka makes; it is their number in base 36."""
_DIGITS: Final = string.digits + string.ascii_lowercase
_JAVA_SIZES: Final = range(20, 27)
_OF_DIGITS: Final = frozenset(_DIGITS.encode())


class ScramCredential(NamedTuple):
    """The form in which a server keeps a password: enough to check a proof, and to prove itself, but not to log in elsewhere."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def make_credential(mechanism: str, password: str, *, salt: bytes = b"", iterations: int = ITERATIONS_MIN) -> ScramCredential:
    """Make the credential that a server keeps of a password, with a fresh salt where none is given."""
    algorithm = HASHES[mechanism]
    salt = salt or urandom(SALT_SIZE)
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode("utf-8", "surrogateescape"), salt, iterations)
    stored_key, server_key = scram_keys(algorithm, salted)
    return ScramCredential(salt, stored_key, server_key, iterations)


class Form(NamedTuple):
    """How a credential looks: its iteration count, and the size of its salt in bytes, 0 for a number in base 36."""

    iterations: int
    salt_size: int


KAFKA_FORM: Final = Form(ITERATIONS_MIN, 0)
MADE_HERE: Final = ScramCredential(bytes(SALT_SIZE), b"", b"", ITERATIONS_MIN)
"""A credential of the form that `make_credential` gives."""


def form_of(credential: ScramCredential) -> Form:
    """Return the form of a credential."""
    salt = credential.salt
    is_number = len(salt) in _JAVA_SIZES and _OF_DIGITS.issuperset(salt)
    return Form(credential.iterations, 0 if is_number else len(salt))


class Pretence:
    """Pretends for one server.

    Shape: `known` gives the credentials of a mechanism, the same object as long as they do not change. `secrets` are what the
    configuration keeps secret; without any, the first credential's keys are used.
    """

    def __init__(self, known: Callable[[str], Collection[ScramCredential]], secrets: Iterable[str] = ()) -> None:
        self._known = known
        held = [secret.encode("utf-8", "surrogateescape") for secret in sorted(secrets) if secret]
        self._secret = _digest(b"pretended credentials", b"\0".join(held)) if held else b""
        self._random = urandom(32)
        self._seen: dict[str, tuple[object, list[Form], list[int], bytes]] = {}

    def credential(self, mechanism: str, username: str) -> ScramCredential:
        """Return what is shown for a name. It takes as long for a name that is known."""
        forms, bounds, secret = self._forms(mechanism)
        name = f"{mechanism}\0{username}".encode("utf-8", "surrogateescape")
        chosen = int.from_bytes(_digest(secret, b"form\0" + name)[:8]) % bounds[-1]
        form = forms[next(at for at, bound in enumerate(bounds) if chosen < bound)]
        # No proof has these keys: nobody knows a password for them, and the name has no owner.
        key = hmac.digest(secret, b"keys\0" + name, HASHES[mechanism])
        return ScramCredential(_salt(form, secret, name), key, key, form.iterations)

    def _forms(self, mechanism: str) -> tuple[list[Form], list[int], bytes]:
        known = self._known(mechanism)
        seen = self._seen.get(mechanism)
        if seen is None or seen[0] is not known:
            counted = Counter(map(form_of, known)) or Counter((KAFKA_FORM,))
            forms = sorted(counted)
            secret = self._secret or _digest(b"pretended credentials", min((each.server_key for each in known), default=self._random))
            seen = self._seen[mechanism] = known, forms, list(accumulate(counted[form] for form in forms)), secret
        return seen[1:]


def _salt(form: Form, secret: bytes, name: bytes) -> bytes:
    size = form.salt_size or (JAVA_BITS + 7) // 8
    made = b"".join(_digest(secret, b"salt%d\0" % at + name) for at in range(size // 32 + 1))[:size]
    return made if form.salt_size else _in_base_36(int.from_bytes(made) >> (8 * size - JAVA_BITS))


def _in_base_36(number: int) -> bytes:
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)).encode()


def _digest(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")
