"""The security of a controller in words: who may log in where, as whom, what that allows, and which settings are weak.

`posture_of` reads a configuration and starts nothing. A weak setting is one with which somebody gets more than the configuration seems to
say; each has an id, the setting at fault, what it lets happen, and what helps.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizer, kafka.server.KafkaConfig, KIP-48, KIP-373."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from metashell.common.runtime import descriptors_max, room_for_connections, strangers_max
from metashell.net.listener_options import UNBOUNDED, ListenerOptions, is_loopback
from metashell.net.security import ListenerSecurity, listener_security, security_config
from metashell.quorum.controller.decision import ANONYMOUS
from metashell.quorum.controller.settings import Settings
from metashell.quorum.server.config import ControllerConfig, listener_options

DESCRIPTORS_MIN: Final = 4096
"""Fewer of them are few for a cluster."""
GROUPS: Final = "group.coordinator"
PLAIN: Final = "PLAIN"
_CERTIFICATES: Final = {"required": "a certificate is required", "requested": "a certificate may be shown"}
_OF_CERTIFICATE: Final = "User:SUBJECT of its certificate (ssl.principal.mapping.rules)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """One listener: `logins` are the ways to log in, `principal` is who a client is then."""

    name: str
    address: str
    protocol: str
    is_local: bool
    logins: tuple[str, ...]
    principal: str

    @property
    def line(self) -> str:
        """The listener in one line."""
        how = "; ".join(self.logins) or "nobody logs in"
        reach = " (this machine only)" if self.is_local else ""
        return f"listener {self.name} on {self.address}{reach}: {self.protocol}: {how}: a client is {self.principal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """One weak setting."""

    id: str
    setting: str
    what: str
    advice: str

    @property
    def line(self) -> str:
        """The weakness in one line."""
        return f"weak: {self.setting}: {self.what}; {self.advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """What the process may have open, and what of it connections may use."""

    limit: int
    connections_max: int
    strangers_max: int

    @property
    def line(self) -> str:
        """The descriptors in one line."""
        connections = f"{self.connections_max} for connections, {self.strangers_max} of these for clients that have not logged in"
        return f"descriptors: {self.limit} at hand, {connections}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posture:
    """See the module. `peers` says as whom this controller logs in at the others, `forwards` for whom it forwards requests."""

    listeners: tuple[Listening, ...]
    authorizer: str
    super_users: tuple[str, ...]
    peers: str
    forwards: str
    descriptors: Descriptors
    weaknesses: tuple[Weakness, ...]

    @property
    def lines(self) -> list[str]:
        """The posture in lines, the weak settings last."""
        return [
            *(each.line for each in self.listeners),
            f"rights: {self.authorizer}",
            f"other controllers: {self.peers}",
            f"forwards: {self.forwards}",
            self.descriptors.line,
            *(each.line for each in self.weaknesses),
        ]

    def as_json(self) -> dict[str, Any]:
        """The posture as an object."""
        return asdict(self)


def posture_of(config: ControllerConfig, descriptors: int | None = None) -> Posture:
    """Return the posture of a configuration, with the descriptors of this process if none are given. Errors: MetashellError, UsageError."""
    limit = descriptors_max() if descriptors is None else descriptors
    connections_max = room_for_connections(limit)
    held = Descriptors(limit=limit, connections_max=connections_max, strangers_max=strangers_max(connections_max))
    settings = Settings(config.node.values.originals, "", config.node.node_id)
    securities = {each.name: listener_security(config.properties, each.name) for each in config.node.listeners.of_controller}
    options = listener_options(config)
    return Posture(
        listeners=tuple(_listening(each, securities[each.name]) for each in options),
        authorizer=_rights(settings),
        super_users=tuple(sorted(settings.super_users)),
        peers=_peers(config),
        forwards=_forwards(config),
        descriptors=held,
        weaknesses=tuple(_weaknesses(options, securities, settings, held)),
    )


def _listening(options: ListenerOptions, security: ListenerSecurity) -> Listening:
    logins = []
    for mechanism in security.mechanisms:
        if mechanism == PLAIN:
            logins.append(f"PLAIN by {_names(security.plain_users)} of the configuration")
        else:
            logins.append(f"{mechanism} by users and delegation tokens of the quorum")
    principal = "User:NAME of its login"
    if not security.mechanisms:
        client_auth = "none" if security.tls is None else security.tls.client_auth
        if client_auth in _CERTIFICATES:
            logins.append(_CERTIFICATES[client_auth])
        principal = {"required": _OF_CERTIFICATE, "requested": f"{_OF_CERTIFICATE}, or {ANONYMOUS}"}.get(client_auth, ANONYMOUS)
    return Listening(
        name=options.name,
        address=f"{options.host}:{options.port}",
        protocol=security.protocol,
        is_local=is_loopback(options.host),
        logins=tuple(logins),
        principal=principal,
    )


def _names(users: Any) -> str:
    names = sorted(users)
    return f"the users {', '.join(names[:10])}{' ...' if len(names) > 10 else ''}" if names else "no user"


def _rights(settings: Settings) -> str:
    if not settings.has_authorizer:
        return "no authorizer: whoever is let in may do everything"
    users = ", ".join(sorted(settings.super_users)) or "nobody"
    others = "everything that no ACL is about" if settings.allows_without_acl else "only what an ACL allows"
    return f"StandardAuthorizer: {users} may do everything, others {others}"


def _peers(config: ControllerConfig) -> str:
    security = security_config(config.properties, config.node.controller_listener)
    if security.mechanism:
        return f"it logs in by {security.mechanism} as {security.username} ({security.protocol})"
    if security.tls is not None:
        return f"it shows its certificate ({security.protocol})"
    return f"it is {ANONYMOUS} there ({security.protocol})"


def _forwards(config: ControllerConfig) -> str:
    if config.properties.get(GROUPS, "") != "embedded":
        return "nothing: brokers forward requests in envelopes as their clients, which needs ClusterAction"
    return "what clients of groups ask of the controller, in envelopes, as the client"


def _weaknesses(
    options: list[ListenerOptions], securities: dict[str, ListenerSecurity], settings: Settings, held: Descriptors
) -> Iterator[Weakness]:
    for each in options:
        yield from _of_listener(each, securities[each.name], settings, held)
    if not settings.has_authorizer:
        yield Weakness(
            id="no-authorizer",
            setting="authorizer.class.name",
            what="is not set: whoever is let in may do everything",
            advice="set org.apache.kafka.metadata.authorizer.StandardAuthorizer and super.users",
        )
    if settings.has_authorizer and settings.allows_without_acl:
        yield Weakness(
            id="allows-without-acl",
            setting="allow.everyone.if.no.acl.found",
            what="lets everybody do what no ACL is about, for example fence brokers",
            advice="leave it false, and add ACLs",
        )
    if ANONYMOUS in settings.super_users:
        yield Weakness(
            id="anonymous-super-user",
            setting="super.users",
            what=f"has {ANONYMOUS}: who does not log in may do everything",
            advice="let controllers and brokers log in, and name their users",
        )
    if held.limit < DESCRIPTORS_MIN:
        yield Weakness(
            id="few-descriptors",
            setting="ulimit -Hn",
            what=f"gives {held.limit} descriptors, so {held.connections_max} connections",
            advice=f"allow at least {DESCRIPTORS_MIN}",
        )


def _of_listener(options: ListenerOptions, security: ListenerSecurity, settings: Settings, held: Descriptors) -> Iterator[Weakness]:
    setting = f"listener {options.name}"
    is_anonymous = not security.mechanisms and (security.tls is None or security.tls.client_auth != "required")
    if is_anonymous and settings.has_authorizer:
        yield Weakness(
            id="anonymous-with-authorizer",
            setting=setting,
            what=f"takes clients that are all {ANONYMOUS}: an ACL for one is an ACL for all of them",
            advice="let clients log in by SASL, or set ssl.client.auth=required",
        )
    elif is_anonymous:
        yield Weakness(
            id="anonymous",
            setting=setting,
            what=f"lets {'every user of this machine' if is_loopback(options.host) else 'other machines'} in without a login",
            advice="let clients log in by SASL, or set ssl.client.auth=required",
        )
    if security.mechanisms and security.tls is None:
        passwords = "passwords" if PLAIN in security.mechanisms else "what a password can be guessed from"
        yield Weakness(
            id="clear-passwords", setting=setting, what=f"sends {passwords} in the clear, and everything else", advice="use SASL_SSL"
        )
    if PLAIN in security.mechanisms and not options.failed_authentication_delay_s:
        yield Weakness(
            id="quick-guesses",
            setting="connection.failed.authentication.delay.ms",
            what="is 0: passwords can be tried without a pause",
            advice="leave it at 100",
        )
    if held.connections_max < options.connections_max != UNBOUNDED:
        yield Weakness(
            id="connections-beyond-descriptors",
            setting="max.connections",
            what=f"is {options.connections_max} for {options.name}, and descriptors are there for {held.connections_max}",
            advice="raise ulimit -Hn, or lower it",
        )
