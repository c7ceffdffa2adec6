"""The keys that a server keeps of a SCRAM password. Source: RFC 5802, section 3."""

from __future__ import annotations


def scram_keys(algorithm: str, salted_password: bytes) -> tuple[bytes, bytes]:
    """The stored key and the server key of a salted password. `algorithm` is sha256 or sha512."""
    # Imported here: OpenSSL is loaded with them, and most starts hash no password.
    import hashlib
    import hmac

    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), hmac.digest(salted_password, b"Server Key", algorithm)
