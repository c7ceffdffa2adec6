"""Keys and certificates for tests: a CA, and what it signs, as PEM and PKCS12 files that live for an hour."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD = "store-secret"
KEY_PASSWORD = "key-secret"


@dataclass(frozen=True)
class Signed:
    """A key, its certificate, and the CA's."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuer: x509.Certificate
    name: str

    @property
    def chain_pem(self) -> str:
        return pem(self.certificate)

    def key_pem(self, password: str = "") -> str:
        encryption: KeySerializationEncryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def write_pem(self, folder: Path, password: str = "") -> Path:
        path = folder / f"{self.name}{'-encrypted' if password else ''}.pem"
        path.write_text(self.key_pem(password) + self.chain_pem)
        return path

    def write_p12(self, folder: Path) -> Path:
        path = folder / f"{self.name}.p12"
        encryption = BestAvailableEncryption(PASSWORD.encode())
        path.write_bytes(pkcs12.serialize_key_and_certificates(self.name.encode(), self.key, self.certificate, [self.issuer], encryption))
        return path


class Authority:
    """A certificate authority that nobody knows."""

    def __init__(self, name: str = "test CA") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = _build(name, None, self.key.public_key(), self, [], is_ca=True)

    @property
    def pem(self) -> str:
        return pem(self.certificate)

    def sign(self, name: str, hosts: list[str]) -> Signed:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _build(name, self.certificate.subject, key.public_key(), self, hosts, is_ca=False)
        return Signed(key, certificate, self.certificate, name)

    def write_pem(self, folder: Path, name: str = "ca") -> Path:
        path = folder / f"{name}.pem"
        path.write_text(self.pem)
        return path


def pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _build(
    name: str, issuer: x509.Name | None, public: ec.EllipticCurvePublicKey, authority: Authority, hosts: list[str], *, is_ca: bool
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Tests"), x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
