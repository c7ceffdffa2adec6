"""Controller 1, where everybody has to say who they are, and a broker for each way to do that: 21 by PLAIN, 22 by SCRAM, 23 by certificate.

The controller listens by SASL (`login`), by TLS that wants certificates (`tls`), and for those who come without a name (`open`), who are
ANONYMOUS and no super users. What certificates are called, ssl.principal.mapping.rules says. Clients reach brokers by SASL.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.net.certificates import PASSWORD, Authority
from tools.interop.admin.logins import SCRAM, USERS, plain_jaas, sasl_settings, scram_jaas
from tools.interop.admin.place import AdminPlace, Layout
from tools.interop.nodes import controller_settings, format_directories, write_config

LOGINS: Final = {"controller": "controller-secret", "broker-plain": "plain-secret", **USERS}
SCRAM_LOGIN: Final = ("broker-scram", "scram-secret")
PROTOCOLS: Final = "LOGIN:SASL_PLAINTEXT,TLS:SSL,OPEN:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"
BROKERS: Final = {21: ("by-plain", "login"), 22: ("by-scram", "login"), 23: ("by-tls", "tls")}
"""The port of each broker, and that of the controller where it comes."""
_SHARED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:controller;User:broker-plain;User:broker-scram;User:broker-tls;User:admin",
    "delegation.token.secret.key": "a-secret",
    "listener.security.protocol.map": PROTOCOLS,
    "ssl.keystore.type": "PKCS12",
    "ssl.keystore.password": PASSWORD,
    "ssl.truststore.type": "PEM",
}


def configure(made: AdminPlace) -> None:
    """See Layout."""
    folder, ports = made.folder, made.ports
    authority = Authority()
    stores: dict[str, object] = {"ssl.truststore.location": authority.write_pem(folder)}
    for name in ("controller", "Broker-TLS", "admin", "alice", "stranger"):
        authority.sign(name, ["localhost"]).write_p12(folder)
    settings: dict[str, object] = {
        **controller_settings(1, ports["login"], folder / "d1", {"controller.quorum.bootstrap.servers": made.address("login")}),
        **_SHARED,
        **stores,
        "controller.listener.names": "LOGIN,TLS,OPEN",
        "listeners": ",".join(f"{name.upper()}://localhost:{ports[name]}" for name in ("login", "tls", "open")),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": plain_jaas("controller", LOGINS["controller"], LOGINS),
        "listener.name.login.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
        "listener.name.tls.ssl.client.auth": "required",
        "ssl.keystore.location": folder / "controller.p12",
        "ssl.principal.mapping.rules": r"RULE:^CN=stranger,.*$/nobody/U,RULE:^CN=([^,]*),O=Tests$/$1/L,DEFAULT",
    }
    scram = "SCRAM-SHA-512=[name={},password={}]".format(*SCRAM_LOGIN)
    config = write_config(folder / "node-1.properties", settings)
    format_directories(config, "--standalone", "--add-scram", scram)
    logins: Mapping[int, Mapping[str, object]] = {
        21: {"listener.name.login.plain.sasl.jaas.config": plain_jaas("broker-plain", LOGINS["broker-plain"])},
        22: {
            "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
            "listener.name.login.scram-sha-512.sasl.jaas.config": scram_jaas(*SCRAM_LOGIN),
        },
        23: {"ssl.keystore.location": folder / "Broker-TLS.p12"},
    }
    for id, (name, where) in BROKERS.items():
        broker = broker_settings(id, ports[name], folder / f"d{id}", where.upper(), made.address(where))
        format_directories(write_config(folder / f"node-{id}.properties", broker, stores, logins[id]))
    write_clients(folder, stores)


def broker_settings(id: int, port: int, log_dir: Path, listener: str, controller: str) -> dict[str, object]:
    """A small broker that comes to one of the controller's listeners."""
    return {
        **_SHARED,
        "process.roles": "broker",
        "node.id": id,
        "controller.quorum.bootstrap.servers": controller,
        "controller.listener.names": listener,
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listeners": f"CLIENTS://localhost:{port}",
        "inter.broker.listener.name": "CLIENTS",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.clients.plain.sasl.jaas.config": plain_jaas("broker-plain", LOGINS["broker-plain"], LOGINS),
        "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
        "log.dirs": log_dir,
        "offsets.topic.replication.factor": 1,
        "log.cleaner.dedupe.buffer.size": 4_000_000,
        "num.network.threads": 1,
        "num.io.threads": 2,
    }


def write_clients(folder: Path, stores: Mapping[str, object]) -> None:
    """Settings of clients: USER.properties by PLAIN, USER-tls.properties by certificate, and one with a wrong password."""
    for user, password in USERS.items():
        write_config(folder / f"{user}.properties", sasl_settings("PLAIN", plain_jaas(user, password)))
    write_config(folder / "wrong.properties", sasl_settings("PLAIN", plain_jaas("admin", "wrong")))
    for name in ("admin", "alice", "stranger"):
        store = {"ssl.keystore.location": folder / f"{name}.p12", "ssl.keystore.type": "PKCS12", "ssl.keystore.password": PASSWORD}
        write_config(folder / f"{name}-tls.properties", {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}, stores, store)
    write_config(folder / "nobody-tls.properties", {"security.protocol": "SSL", "ssl.truststore.type": "PEM"}, stores)


SECURED: Final = Layout(("login", "tls", "open", "by-plain", "by-scram", "by-tls"), tuple(BROKERS), configure, "login", "admin.properties")
