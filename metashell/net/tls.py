"""TLS contexts from Kafka's ssl.* properties, with PEM and PKCS12 stores, and TLS of an accepted connection without I/O.

The content of a file decides what it is, not ssl.*.type: Java does the same for JKS and PKCS12. A JKS store cannot be read; the error holds
the keytool line that converts it. PKCS12 needs `cryptography` (the extra `tls`). Keys are handed to OpenSSL, which reads files only,
through memory where the system has memfd.

The names of cipher suites are Java's. Of TLS 1.3 there is no choice: naming one of its suites allows all three, naming none forbids it.

`TlsLayer` takes bytes of the socket and gives plain bytes, and the other way. asyncio's own layer drops the alert that tells a peer why
its handshake failed, and gives data before it gives the certificate.

Source: org.apache.kafka.common.security.ssl.DefaultSslEngineFactory, SslFactory; KIP-651 (PEM)."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import UsageError

if TYPE_CHECKING:
    from metashell.net.security import StoreConfig, TlsConfig


STORE_SIZE_MAX: Final = 16 * 1024 * 1024

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_JAVA_STORES: Final = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
_PEM_BEGIN: Final = "-----BEGIN "
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_SUITE = re.compile(r"(?:TLS|SSL)_(?:(DHE|ECDHE)_)?(RSA|ECDSA)_WITH_(.+)")
_CIPHER = re.compile(r"AES_(128|256)_(GCM|CBC)_(SHA(?:256|384)?)")


class Identity(NamedTuple):
    """A private key and its certificates as PEM text; `password` opens the key, empty where it is not encrypted."""

    key: str
    certificates: str
    password: str


def client_context(config: TlsConfig) -> ssl.SSLContext:
    """Make a client's TLS context: it checks the server's certificate, and its name unless that is switched off.

    Without a truststore the system's certificates are trusted. Errors: UsageError with the key at fault.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.endpoint_identification
    if config.truststore.given:
        _trust(context, config.truststore)
    else:
        context.load_default_certs()
    if config.keystore.given:
        _identify(context, config.keystore)
    _limit(context, config)
    return context


def server_context(config: TlsConfig) -> ssl.SSLContext:
    """Make a listener's TLS context; clients show certificates as ssl.client.auth says. Errors: UsageError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _identify(context, config.keystore)
    if config.client_auth != "none":
        context.verify_mode = ssl.CERT_REQUIRED if config.client_auth == "required" else ssl.CERT_OPTIONAL
        if config.truststore.given:
            _trust(context, config.truststore)
        else:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    _limit(context, config)
    return context


def _trust(context: ssl.SSLContext, store: StoreConfig) -> None:
    pem = store.certificates
    if not pem:
        data = _read(store)
        pem = _text(data) if _is_pem(data) else _open_pkcs12(store, data).certificates
    certificates = "\n".join(_CERTIFICATE.findall(pem))
    if not certificates:
        raise UsageError(f"{_name(store)}: no certificates in it", store.prefix)
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"{_name(store)}: a certificate is malformed ({_reason(error)})", store.prefix) from None


def _identify(context: ssl.SSLContext, store: StoreConfig) -> None:
    identity = _identity(store)
    if _PEM_BEGIN not in identity.key or not _CERTIFICATE.search(identity.certificates):
        raise UsageError(f"{_name(store)}: no private key with its certificate in it", store.prefix)
    try:
        with _as_file(identity.key + "\n" + identity.certificates) as path:
            # An empty password, or else OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=lambda: identity.password)
    except (ssl.SSLError, ValueError) as error:
        hint = "is ssl.key.password right?" if "ENCRYPTED" in identity.key else _reason(error)
        raise UsageError(f"{_name(store)}: the key or its certificate cannot be used ({hint})", store.prefix) from None


def _identity(store: StoreConfig) -> Identity:
    if store.key or store.certificates:
        return Identity(store.key, store.certificates, store.key_password)
    data = _read(store)
    if not _is_pem(data):
        return _open_pkcs12(store, data)
    text = _text(data)
    return Identity(_CERTIFICATE.sub("", text), "\n".join(_CERTIFICATE.findall(text)), store.key_password)


def _read(store: StoreConfig) -> bytes:
    try:
        with open(store.location, "rb") as file:
            data = file.read(STORE_SIZE_MAX + 1)
    except OSError as error:
        raise UsageError(f"{_name(store)}: {error.strerror or error}", store.location) from None
    if len(data) > STORE_SIZE_MAX:
        raise UsageError(f"{_name(store)}: more than {STORE_SIZE_MAX} bytes", store.location)
    kind = _JAVA_STORES.get(data[:4])
    if kind is not None:
        raise UsageError(
            f"{_name(store)}: a {kind} store; convert it with: keytool -importkeystore -srckeystore {store.location} "
            f"-destkeystore {os.path.splitext(store.location)[0]}.p12 -deststoretype PKCS12",
            store.location,
        )
    return data


def _open_pkcs12(store: StoreConfig, data: bytes) -> Identity:
    """A PKCS12 store as PEM. The key's password is the store's, as keytool makes them."""
    if data[:1] != b"\x30":
        raise UsageError(f"{_name(store)}: neither PEM nor a PKCS12 store", store.location)
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        from metashell.common.runtime import missing

        raise UsageError(f"{_name(store)}: PKCS12 stores need a package: {missing('cryptography', 'tls')}", store.location) from None
    try:
        found = load_pkcs12(data, store.password.encode())
    except ValueError:
        raise UsageError(f"{_name(store)}: cannot be opened (is {store.prefix}.password right?)", store.location) from None
    certificates = [found.cert, *found.additional_certs]
    pem = "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in certificates if each is not None)
    key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode() if found.key is not None else ""
    return Identity(key, pem, "")


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A path under which `text` can be read by this process, and by nobody afterwards."""
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        number = os.memfd_create("key")
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
            file.flush()
            yield f"/proc/self/fd/{number}"
    else:
        with tempfile.NamedTemporaryFile("wb", suffix=".pem") as named:  # mode 0600
            named.write(text.encode())
            named.flush()
            yield named.name


def _limit(context: ssl.SSLContext, config: TlsConfig) -> None:
    unknown = [name for name in config.protocols if name not in _VERSIONS]
    if unknown or not config.protocols:
        raise UsageError(
            f"ssl.enabled.protocols: {', '.join(unknown) or 'empty'}: known are {', '.join(_VERSIONS)}", "ssl.enabled.protocols"
        )
    versions = [_VERSIONS[name] for name in config.protocols]
    if config.cipher_suites:
        older = [openssl_cipher(name) for name in config.cipher_suites if _SUITE.fullmatch(name)]
        newer = [name for name in config.cipher_suites if not _SUITE.fullmatch(name)]
        allowed = ([ssl.TLSVersion.TLSv1_2] if older else []) + ([ssl.TLSVersion.TLSv1_3] if newer else [])
        versions = [version for version in versions if version in allowed]
        if not versions:
            raise UsageError("ssl.cipher.suites: none of them belongs to a protocol in ssl.enabled.protocols", "ssl.cipher.suites")
        if older:
            try:
                context.set_ciphers(":".join(older))
            except ssl.SSLError:
                raise UsageError(f"ssl.cipher.suites: OpenSSL has none of {', '.join(config.cipher_suites)}", "ssl.cipher.suites") from None
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def openssl_cipher(java_name: str) -> str:
    """OpenSSL's name of a TLS 1.2 suite: ECDHE-RSA-AES256-GCM-SHA384 for TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384."""
    match = _SUITE.fullmatch(java_name)
    if match is None:
        return java_name
    exchange, signature, cipher = match.groups()
    aes = _CIPHER.fullmatch(cipher)
    if aes is not None:
        cipher = f"AES{aes[1]}-{'GCM-' if aes[2] == 'GCM' else ''}{aes[3]}"
    cipher = cipher.removesuffix("_SHA256").replace("_", "-") if "CHACHA20" in cipher else cipher
    return f"{exchange}-{signature}-{cipher}" if exchange else cipher


def _is_pem(data: bytes) -> bool:
    return _PEM_BEGIN.encode() in data


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _name(store: StoreConfig) -> str:
    if store.location:
        return f"{store.prefix}.location: {store.location}"
    return f"{store.prefix}.certificate{'s' if store.prefix == 'ssl.truststore' else '.chain'}"


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)


_PIECE: Final = 64 * 1024


class TlsLayer:
    """The server's side of one TLS connection.

    `done`: the handshake is over, `fault` why the connection cannot go on, `ended` that the peer said good-bye.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.certificate = b""
        """The peer's, in DER; empty before the end of the handshake, and where there is none."""
        self.done = False
        self.ended = False
        self.fault: ssl.SSLError | None = None

    def receive(self, data: bytes | memoryview) -> bytes:
        """The plain bytes that are complete now. `take_output` may have something afterwards, also after a fault (an alert)."""
        if self.fault is not None or self.ended:
            return b""
        self._incoming.write(data)
        found = bytearray()
        try:
            if not self.done:
                self._object.do_handshake()
                self.done = True
                self.certificate = self._object.getpeercert(binary_form=True) or b""
            while not self.ended:
                piece = self._object.read(_PIECE)
                found += piece
                self.ended = not piece
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError as error:
            self.fault = error
        return bytes(found)

    def send(self, data: bytes) -> None:
        """Encrypt plain bytes for `take_output`; only after the handshake."""
        if self.fault is None:
            view = memoryview(data)
            try:
                while view:
                    view = view[self._object.write(view) :]
            except ssl.SSLError as error:
                self.fault = error

    def close(self) -> None:
        """Say good-bye, for `take_output`."""
        if self.done and self.fault is None:
            try:
                self._object.unwrap()
            except ssl.SSLError:
                return  # the peer's own good-bye has not come; nobody waits for it

    def take_output(self) -> bytes:
        """The bytes for the socket; they are given once."""
        return self._outgoing.read()
