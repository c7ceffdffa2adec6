"""Controllers 1 and 2, brokers 11 and 12, all with StandardAuthorizer and delegation tokens; who comes without SASL is a super user.

Controller 1 is the only voter; 2 is started by a command. Brokers listen without and with SASL, and have two log directories. alice and
bob are nobody until something is allowed to them.
"""

from __future__ import annotations

from typing import Final

from tools.interop.admin.logins import PLAIN, SCRAM, USERS, plain_jaas, sasl_settings
from tools.interop.admin.place import AdminPlace, Layout
from tools.interop.nodes import controller_settings, format_directories, write_config

RELEASE: Final = "4.1-IV0"
"""The metadata.version to begin with, so that there is one to upgrade to."""
CONTROLLERS: Final = {1: "controller", 2: "standby"}
BROKERS: Final = {11: ("broker", "sasl"), 12: ("other", "other-sasl")}
_SHARED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "delegation.token.secret.key": "a-secret",
    "delegation.token.max.lifetime.ms": 3_600_000,
}


def configure(made: AdminPlace) -> None:
    """See Layout."""
    folder, ports = made.folder, made.ports
    quorum = {"controller.quorum.bootstrap.servers": made.address("controller")}
    for id, name in CONTROLLERS.items():
        settings = controller_settings(id, ports[name], folder / f"d{id}", {**quorum, **_SHARED, "broker.session.timeout.ms": 8_000})
        config = write_config(folder / f"node-{id}.properties", settings)
        format_directories(config, "-r", RELEASE, "--standalone" if id == 1 else "--no-initial-controllers")
    for id, (plain, secure) in BROKERS.items():
        settings = broker_settings(id, ports[plain], ports[secure], f"{folder}/d{id},{folder}/e{id}", quorum)
        format_directories(write_config(folder / f"node-{id}.properties", settings), "-r", RELEASE)
    made.names.add(f"{made.address('broker')},{made.address('other')}", "brokers")
    for user, password in USERS.items():
        write_config(folder / f"{user}.properties", sasl_settings("PLAIN", plain_jaas(user, password)))


def broker_settings(id: int, plain: int, secure: int, log_dirs: str, quorum: dict[str, object]) -> dict[str, object]:
    """A small broker with one listener for everyone and one for those who log in."""
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    listeners = f"PLAINTEXT://localhost:{plain},SASL://localhost:{secure}"
    return {
        **quorum,
        **_SHARED,
        "process.roles": "broker",
        "node.id": id,
        "broker.rack": f"rack-{id}",
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": f"{PLAIN} {users};",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
        "log.dirs": log_dirs,
        "offsets.topic.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 4_000_000,
        "broker.heartbeat.interval.ms": 500,
        "num.network.threads": 1,
        "num.io.threads": 2,
    }


OPEN: Final = Layout(("controller", "standby", "broker", "sasl", "other", "other-sasl"), tuple(BROKERS), configure)
