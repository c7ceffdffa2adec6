"""The name that Kafka gives to the owner of a client certificate. Source: KafkaPrincipal, SslAuthenticator; RFC 2253."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


def principal_of(certificate: Mapping[str, Any]) -> str:
    """Kafka's principal for a client's certificate: its distinguished name as RFC 2253 writes it, the last part first."""
    parts = certificate.get("subject", ())
    return "User:" + ",".join("+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in part) for part in reversed(parts))


_SHORT: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def _escaped(value: str) -> str:
    text = "".join(f"\\{char}" if char in ',+"\\<>;' else char for char in value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    return text[:-1] + "\\ " if text.endswith(" ") and len(text) > 1 else text
