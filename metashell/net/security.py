"""Security of connections, read from Kafka's properties: of a client's file, or of a server's for one of its listeners.

For a listener, a key with its prefix wins: `listener.name.NAME.ssl.keystore.location` before `ssl.keystore.location`, and for SASL
`listener.name.NAME.MECHANISM.sasl.jaas.config`. What is not supported is refused in one line before anything connects.

sasl.jaas.config names one login module with its options:
`org.apache.kafka...ScramLoginModule required username="alice" password="secret" key='v';`
A backslash escapes the next character of a value.
No part of its value is ever repeated in an error, because it may be a part of a password.

Source: SecurityProtocol, SslConfigs, SaslConfigs, ListenerName, JaasConfig, JaasContext of org.apache.kafka.common; KIP-85, KIP-103,
KIP-226; java.io.StreamTokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.net.principal import DEFAULT_RULES, MAPPING_RULES_KEY
from metashell.net.sasl import PLAIN, PlainClient, ScramClient

if TYPE_CHECKING:
    from metashell.net.sasl import SaslClient


PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512")
CLIENT_AUTH: Final = ("none", "requested", "required")

_REFUSED: Final = {
    "GSSAPI": "GSSAPI (Kerberos) is not supported",
    "OAUTHBEARER": "OAUTHBEARER is not supported",
}
SESSION_KEY: Final = "connections.max.reauth.ms"
_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_OWN_CLASSES: Final = {
    "principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "ssl.engine.factory.class": "",
}
_MODULES: Final = ("ScramLoginModule", "PlainLoginModule")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """A store of certificates (and a key): a file, or PEM text. `type` is Kafka's, but the file's content decides.

    `prefix` is the beginning of the keys that named it, for messages: `ssl.truststore`.
    """

    prefix: str
    location: str = ""
    password: str = field(default="", repr=False)
    type: str = "JKS"
    certificates: str = ""
    key: str = field(default="", repr=False)
    key_password: str = field(default="", repr=False)

    @property
    def given(self) -> bool:
        """Whether anything is configured."""
        return bool(self.location or self.certificates or self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """Kafka's ssl.* properties. `client_auth` matters to servers, `endpoint_identification` to clients."""

    truststore: StoreConfig = StoreConfig(prefix="ssl.truststore")
    keystore: StoreConfig = StoreConfig(prefix="ssl.keystore")
    endpoint_identification: bool = True
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    client_auth: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """The security of a client. `protocol` is one of Kafka's four; `tls` is set exactly with SSL and SASL_SSL."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    tls: TlsConfig | None = None

    def sasl_client(self) -> SaslClient | None:
        """Return the client's side of a new exchange, None without SASL."""
        if not self.mechanism:
            return None
        if self.mechanism == PLAIN:
            return PlainClient(self.username, self.password)

        return ScramClient(self.mechanism, self.username, self.password)


PLAINTEXT: Final = SecurityConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSecurity:
    """The security of a listener. `mechanisms` is empty without SASL; `plain_users` are those of PLAIN's login module.

    `principal_rules` is ssl.principal.mapping.rules. `session_ms` is connections.max.reauth.ms by mechanism, without those that it does
    not limit.
    """

    protocol: str = "PLAINTEXT"
    mechanisms: tuple[str, ...] = ()
    plain_users: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: TlsConfig | None = None
    principal_rules: str = DEFAULT_RULES
    session_ms: Mapping[str, int] = field(default_factory=dict)


def security_config(properties: Mapping[str, str], listener: str = "") -> SecurityConfig:
    """Read a client's security from a client's properties or, with a listener's name, from a server's for that listener.

    Errors: UsageError with the key at fault.
    """
    values = for_listener(properties, listener)
    key, protocol = _protocol(properties, listener)
    _check_protocol(protocol, key)
    tls = tls_config(values) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return SecurityConfig(protocol=protocol, tls=tls)
    key, mechanism = _client_mechanism(values, listener)
    _check_mechanism(mechanism, key)
    module = _login_module(properties, listener, mechanism)
    for option in ("username", "password"):
        if not module.options.get(option):
            raise UsageError(f"sasl.jaas.config: {module.short_name} has no {option}", "sasl.jaas.config")
    return SecurityConfig(
        protocol=protocol,
        mechanism=mechanism,
        username=module.options["username"],
        password=module.options["password"],
        tls=tls,
    )


def listener_security(properties: Mapping[str, str], listener: str) -> ListenerSecurity:
    """Read the security of a server's listener. Errors: UsageError with the key at fault."""
    values = for_listener(properties, listener)
    key, protocol = _protocol(properties, listener)
    _check_protocol(protocol, key)
    tls = tls_config(values) if protocol.endswith("SSL") else None
    if tls is not None and not tls.keystore.given:
        raise UsageError(f"ssl.keystore.location: listener {listener} has no key and certificate", "ssl.keystore.location")
    _check_classes(values)
    # The rules map names of certificates to principals. With SASL the principal is the user who logged in, so they do not apply.
    if not protocol.startswith("SASL"):
        return ListenerSecurity(protocol=protocol, tls=tls, principal_rules=values.get(MAPPING_RULES_KEY, DEFAULT_RULES))
    mechanisms = _words(values.get("sasl.enabled.mechanisms", "GSSAPI"))
    for mechanism in mechanisms:
        _check_mechanism(mechanism, "sasl.enabled.mechanisms")
    users: dict[str, str] = {}
    if PLAIN in mechanisms:
        # `user_NAME` is a user that may log in. `username` and `password` are the server's own, for connections that it makes itself.
        options = _login_module(properties, listener, PLAIN).options
        users = {name.removeprefix("user_"): password for name, password in options.items() if name.startswith("user_")}
    return ListenerSecurity(
        protocol=protocol,
        mechanisms=mechanisms,
        plain_users=users,
        tls=tls,
        session_ms={name: limit for name in mechanisms if (limit := _session_ms(values, name)) > 0},
    )


def _session_ms(values: Mapping[str, str], mechanism: str) -> int:
    return java_number(values, f"{mechanism.lower()}.{SESSION_KEY}", java_number(values, SESSION_KEY, 0, "LONG"), "LONG")


def _check_classes(values: Mapping[str, str]) -> None:
    """Refuse a class that would decide who is who in place of Kafka's own. Errors: UsageError.

    To ignore it would be worse than to stop: clients would get other principals, and with them other rights.
    """
    # `for_listener` has removed this listener's prefix. A key that still has one is about another listener.
    for key in values:
        is_handler = key.endswith("sasl.server.callback.handler.class") and not key.startswith("listener.name.")
        if key in _OWN_CLASSES or is_handler:
            name = values[key].strip()
            if name not in ("", _OWN_CLASSES.get(key)):
                raise UsageError(f"{key}: {name}: classes of Java cannot be run here", key)


def java_number(values: Mapping[str, str], key: str, default: int, type: str = "INT") -> int:
    """Return a number as Kafka reads it, `default` where the key is not set. Errors: UsageError in Kafka's words."""
    # A key that is set to nothing is an error in Kafka, and not the default.
    text = values.get(key, "").strip()
    if not text and key not in values:
        return default
    bits = 63 if type == "LONG" else 31
    if not _NUMBER.fullmatch(text) or not -(1 << bits) <= int(text) < 1 << bits:
        raise UsageError(f"Invalid value {text} for configuration {key}: Not a number of type {type}", key)
    return int(text)


def tls_config(values: Mapping[str, str]) -> TlsConfig:
    """Read Kafka's ssl.* properties. Errors: UsageError."""
    algorithm = values.get("ssl.endpoint.identification.algorithm", "https").strip()
    if algorithm.lower() not in ("", "https"):
        raise UsageError(f"ssl.endpoint.identification.algorithm: {algorithm} is neither https nor empty", algorithm)
    client_auth = values.get("ssl.client.auth", "none").strip().lower()
    if client_auth not in CLIENT_AUTH:
        raise UsageError(f"ssl.client.auth: {client_auth} is none of {', '.join(CLIENT_AUTH)}", client_auth)
    return TlsConfig(
        truststore=_store(values, "ssl.truststore", "ssl.truststore.certificates"),
        keystore=_store(values, "ssl.keystore", "ssl.keystore.certificate.chain"),
        endpoint_identification=bool(algorithm),
        protocols=_words(values.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3")),
        cipher_suites=_words(values.get("ssl.cipher.suites", "")),
        client_auth=client_auth,
    )


def _store(values: Mapping[str, str], prefix: str, certificates: str) -> StoreConfig:
    is_keystore = prefix == "ssl.keystore"
    return StoreConfig(
        prefix=prefix,
        location=values.get(f"{prefix}.location", "").strip(),
        password=values.get(f"{prefix}.password", ""),
        type=values.get(f"{prefix}.type", "JKS").strip(),
        certificates=values.get(certificates, ""),
        key=values.get("ssl.keystore.key", "") if is_keystore else "",
        key_password=values.get("ssl.key.password", "") if is_keystore else "",
    )


def _prefix(listener: str) -> str:
    return f"listener.name.{listener.lower()}."


def for_listener(properties: Mapping[str, str], listener: str) -> dict[str, str]:
    """Return the properties with those of the listener in place of the general ones."""
    if not listener:
        return dict(properties)
    prefix = _prefix(listener)
    return {**properties, **{key[len(prefix) :]: value for key, value in properties.items() if key.startswith(prefix)}}


def _protocol(properties: Mapping[str, str], listener: str) -> tuple[str, str]:
    """Return the key that decides the protocol, and the protocol."""
    if not listener:
        return "security.protocol", properties.get("security.protocol", "PLAINTEXT").strip()
    key = "listener.security.protocol.map"
    for entry in _words(properties.get(key, "")):
        name, _, protocol = entry.partition(":")
        if name.strip().upper() == listener.upper():
            return key, protocol.strip()
    # Kafka's default map has each protocol under its own name. A name that is missing from a map that is given is returned as it is, so
    # that `_check_protocol` refuses it: PLAINTEXT in its place would open a listener that was meant to be closed.
    return key, listener if listener.upper() in PROTOCOLS or key in properties else "PLAINTEXT"


def _check_protocol(protocol: str, key: str) -> None:
    if protocol not in PROTOCOLS:
        raise UsageError(f"{key}: {protocol or 'empty'} is none of {', '.join(PROTOCOLS)}", protocol)


def _client_mechanism(values: Mapping[str, str], listener: str) -> tuple[str, str]:
    """Return the key that decides a client's mechanism, and the mechanism."""
    # GSSAPI is Kafka's default. It is kept so that `_check_mechanism` refuses it: no other is taken in its place.
    key = "sasl.mechanism"
    if listener and key not in values:
        of_controller = listener in _words(values.get("controller.listener.names", ""))
        key = "sasl.mechanism.controller.protocol" if of_controller else "sasl.mechanism.inter.broker.protocol"
    return key, values.get(key, "GSSAPI").strip()


def _check_mechanism(mechanism: str, key: str) -> None:
    if mechanism not in MECHANISMS:
        reason = _REFUSED.get(mechanism, f"{mechanism or 'empty'} is not known")
        raise UsageError(f"{key}: {reason}; supported are {', '.join(MECHANISMS)}", mechanism)


def _login_module(properties: Mapping[str, str], listener: str, mechanism: str) -> LoginModule:
    # A listener with several mechanisms has a login module for each (KIP-85, KIP-226), so the most specific key wins.
    names = ["sasl.jaas.config"]
    if listener:
        names = [f"{_prefix(listener)}{mechanism.lower()}.sasl.jaas.config", f"{_prefix(listener)}sasl.jaas.config", *names]
    key = next((name for name in names if name in properties), None)
    if key is None:
        raise UsageError(f"{names[0]}: not set, and a JAAS file of Java is not read", names[0])
    module = parse_jaas(properties[key], key)
    if module.short_name not in _MODULES:
        raise UsageError(f"{key}: {module.short_name} is not supported, only {' and '.join(_MODULES)}", key)
    return module


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")

# A grammar of our own, not `shlex`: octal escapes, comments and words are as in java.io.StreamTokenizer, with which Kafka reads the value.
_TOKEN = re.compile(
    r"""(?P<skip>[\x00-\x20]+|//[^\r\n]*|/\*.*?\*/)|(?P<quoted>"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')"""
    r"""|(?P<word>[A-Za-z_$\x80-\U0010ffff][\w.$-]*)|(?P<mark>[=;])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LoginModule(NamedTuple):
    """The name of a login module's class, and its options."""

    name: str
    options: Mapping[str, str]

    @property
    def short_name(self) -> str:
        """The class without its package."""
        return self.name.rpartition(".")[2]


class _Token(NamedTuple):
    kind: str
    text: str


def parse_jaas(text: str, key: str = "sasl.jaas.config") -> LoginModule:
    """Return the one login module that a value describes.

    Errors: UsageError with `key` and what is wrong, without the value.
    """
    tokens = list(_tokens(text, key))
    if len(tokens) < 2 or tokens[0].kind != "word":
        raise UsageError(f"{key}: no login module", key)
    if tokens[1].text.upper() not in FLAGS:
        raise UsageError(f"{key}: the word after the login module is none of {', '.join(flag.lower() for flag in FLAGS)}", key)
    options: dict[str, str] = {}
    position = 2
    while position < len(tokens) and tokens[position] != _Token("mark", ";"):
        # Errors count options and do not name them: behind a quotation mark at the wrong place, a name may be a part of a password.
        name, equals, value = (tokens[position : position + 3] + [_Token("end", "")] * 3)[:3]
        if name.kind == "mark" or equals != _Token("mark", "="):
            raise UsageError(f"{key}: option {len(options) + 1} is not NAME=VALUE", key)
        if value.kind not in ("word", "quoted"):
            raise UsageError(f"{key}: option {len(options) + 1} has no value (one that does not begin with a letter needs quotes)", key)
        options[name.text] = value.text
        position += 3
    if position == len(tokens):
        raise UsageError(f"{key}: no semicolon at the end", key)
    if position + 1 < len(tokens):
        raise UsageError(f"{key}: more than one login module", key)
    return LoginModule(tokens[0].text, options)


def _tokens(text: str, key: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            what = "a quotation mark is not closed" if text[position] in "\"'" else "a character that needs quotes"
            raise UsageError(f"{key}: character {position + 1}: {what}", key)
        position = match.end()
        if match.lastgroup == "quoted":
            yield _Token("quoted", _ESCAPE.sub(_unescaped, match[0][1:-1]))
        elif match.lastgroup != "skip":
            yield _Token(match.lastgroup or "", match[0])


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape, 8)) if escape[0] in "01234567" else _CONTROLS.get(escape, escape)
