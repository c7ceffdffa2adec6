"""SCRAM credentials from `MECHANISM=[name=...,password=...]` words, as records for the first metadata log.

No message repeats what may be part of a password: where Kafka's would, ours says what is wrong without it.
Source: org.apache.kafka.metadata.storage.ScramParser; KIP-900; RFC 5802.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Final

from metashell.codec.java_text import JAVA_BLANKS, java_int
from metashell.codec.messages import UserScramCredentialRecord
from metashell.codec.scram_keys import scram_keys
from metashell.storage.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

_MECHANISMS: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
_KEYS: Final = ("name", "password", "salt", "saltedpassword", "iterations")
_ITERATIONS_MIN, _ITERATIONS_MAX = 4096, 16384


def parse_scram(text: str, make_salt: Callable[[], bytes]) -> UserScramCredentialRecord:
    """The UserScramCredentialRecord that a word describes.

    Shape: `make_salt` gives a fresh salt for a credential that names none.
    Errors: StorageError, in Kafka's words without what may be secret.
    """
    mechanism, equals, config = text.strip(JAVA_BLANKS).partition("=")
    if not equals:
        raise StorageError("Failed to find equals sign in SCRAM argument")
    if mechanism not in _MECHANISMS:
        shown = mechanism if re.fullmatch(r"[A-Z0-9-]{1,32}", mechanism) else "[hidden]"
        raise StorageError(f"The add-scram mechanism {shown} is not supported.")
    number, algorithm = _MECHANISMS[mechanism]
    settings = _settings(config)
    name = settings.pop("name", None)
    if name is None:
        raise StorageError("You must supply 'name' to add-scram")
    salt_given = "salt" in settings
    salt = _base64(settings.pop("salt"), "salt") if salt_given else make_salt()
    iterations = _iterations(settings.pop("iterations", str(_ITERATIONS_MIN)))
    salted = _salted_password(settings, algorithm, salt, iterations, salt_given=salt_given)
    if settings:
        raise StorageError(f"Unknown SCRAM configurations ({len(settings)}); known are {', '.join(_KEYS)}")
    _check_iterations(iterations, mechanism.replace("-", "_"))
    stored_key, server_key = scram_keys(algorithm, salted)
    return UserScramCredentialRecord(
        name=name, mechanism=number, salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations
    )


def _settings(config: str) -> dict[str, str]:
    if not config.startswith("["):
        raise StorageError("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise StorageError("Expected configuration string to end with ]")
    settings = {}
    parts = config[1:-1].split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    for index, part in enumerate(parts, 1):
        key, equals, value = part.partition("=")
        if not equals:
            raise StorageError(f"No equals sign found in SCRAM component: number {index} (a comma cannot be part of a value)")
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        settings[key] = value[1:-1] if quoted else value
    return settings


def _base64(text: str, what: str) -> bytes:
    try:
        return b64decode(text + "=" * (-len(text) % 4 if "=" not in text else 0), validate=True)
    except (Base64Error, ValueError):
        raise StorageError(f"Failed to decode given {what}") from None


def _iterations(text: str) -> int:
    iterations = java_int(text)
    if iterations is None:
        raise StorageError("Failed to parse iterations count")
    return iterations


def _salted_password(settings: dict[str, str], algorithm: str, salt: bytes, iterations: int, *, salt_given: bool) -> bytes:
    # Imported here: OpenSSL is loaded with it, and only a format with --add-scram hashes a password.
    import hashlib

    password = settings.pop("password", None)
    salted = settings.pop("saltedpassword", None)
    if password == "":
        raise StorageError("Empty key: the password is empty")
    if password is not None:
        # Kafka ignores a salted password beside a plain one.
        return hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, max(1, min(iterations, _ITERATIONS_MAX)))
    if salted is None:
        raise StorageError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if not salt_given:
        raise StorageError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return _base64(salted, "saltedPassword")


def _check_iterations(iterations: int, mechanism: str) -> None:
    if iterations < _ITERATIONS_MIN:
        raise StorageError(f"The 'iterations' value must be >= {_ITERATIONS_MIN} for add-scram using {mechanism}")
    if iterations > _ITERATIONS_MAX:
        raise StorageError(f"The 'iterations' value must be <= {_ITERATIONS_MAX} for add-scram using {mechanism}")
