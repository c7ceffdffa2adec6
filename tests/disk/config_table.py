"""Configurations that Kafka's tool accepts or refuses: each is a base with some lines changed, added or taken away."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.disk.config_values import ConfigKey, config_keys

Config = dict[str, str]

CONTROLLER: Config = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://localhost:9093",
    "controller.quorum.voters": "1@localhost:9093",
    "log.dirs": "d1",
}
BROKER: Config = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "log.dirs": "d1,d2",
}
COMBINED: Config = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "log.dirs": "d1",
}
BASES = {"controller": CONTROLLER, "broker": BROKER, "combined": COMBINED}

SASL = "CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT"
# (base, changes): a change to None takes the line away.
TABLE: list[tuple[str, dict[str, str | None]]] = [
    ("controller", {}),
    ("broker", {}),
    ("combined", {}),
    # roles
    *[
        (base, {"process.roles": roles})
        for base in BASES
        for roles in ("", " ", "broker", "controller", "controller,broker", "Broker", "broker,broker", "broker,", "voter", " controller ")
    ],
    *[(base, {"process.roles": None}) for base in BASES],
    # ids
    *[
        ("controller", {"node.id": text})
        for text in ("0", "2", "-1", "x", "", "+1", "1.0", "2147483647", "2147483648", " 1 ", "01", "0x1", "1_0")
    ],
    ("controller", {"node.id": None}),
    ("controller", {"node.id": None, "broker.id": "1"}),
    ("controller", {"broker.id": "1"}),
    ("controller", {"broker.id": "2"}),
    ("controller", {"broker.id": "x"}),
    # listener names of controllers
    *[
        (base, {"controller.listener.names": text})
        for base in BASES
        for text in ("", ",", "OTHER", "CONTROLLER,OTHER", "controller", "CONTROLLER,", "PLAINTEXT", "SSL", "CONTROLLER,CONTROLLER",
        " CONTROLLER ")
    ],
    *[(base, {"controller.listener.names": None}) for base in BASES],
    # how the quorum is found
    *[
        ("controller", {"controller.quorum.voters": text})
        for text in (
            "", "x", "1", "1@", "@h:1", "1@h", "1@h:", "1@h:x", "1@h:1", "1@h:0", "1@h:65535", "1@h:65536", "1@h:99999999999", "1@h:-1",
            "2@h:1", "1@h:1,2@h:1", "1@h:1,1@h:2", "x@h:1", "-1@h:1", "1@0.0.0.0:1", "1@[::1]:1", "1@::1:1", "1@a b:1", "1@h:1,",
            ",1@h:1", "1@h:1@", "1@@h:1", "1@http://h:1", "1@h_x:1", "1@:1", "+1@h:1", "1@h:+1", "1@[h:1", "1@h]:1", "1@é:1",
        )
    ],
    *[
        (base, {"controller.quorum.bootstrap.servers": text})
        for base in BASES
        for text in ("", "h", "h:", "h:x", "h:1", "h:1,h:2", "h:1,h:1", "h:65536", "[::1]:1", ":1", "h:1,", "http://h:1", "0.0.0.0:1",
        "a b:1", "1@h:1")
    ],
    ("controller", {"controller.quorum.voters": None}),
    ("controller", {"controller.quorum.voters": None, "controller.quorum.bootstrap.servers": "h:1"}),
    ("broker", {"controller.quorum.bootstrap.servers": None}),
    ("broker", {"controller.quorum.bootstrap.servers": None, "controller.quorum.voters": "1@h:1"}),
    ("broker", {"controller.quorum.voters": "2@h:1"}),
    ("combined", {"controller.quorum.voters": "2@h:1"}),
    ("broker", {"controller.quorum.auto.join.enable": "true"}),
    ("controller", {"controller.quorum.auto.join.enable": "true"}),
    # listeners
    *[
        ("controller", {"listeners": text})
        for text in (
            "", "x", "CONTROLLER", "CONTROLLER://", "CONTROLLER://:9093", "CONTROLLER://h", "CONTROLLER://h:x", "CONTROLLER://h:0",
            "CONTROLLER://h:-1", "CONTROLLER://h:70000", "CONTROLLER://h:99999999999", "controller://h:1", "CONTROLLER://0.0.0.0:1",
            "CONTROLLER://[::1]:1", "CONTROLLER://::1:1", "PLAINTEXT://h:1", "CONTROLLER://h:1,CONTROLLER://h:2", "OTHER://h:1",
            "CONTROLLER://h:1,PLAINTEXT://h:2", "CONTROLLER://h:1,CONTROLLER2://h:1", "CONTROLLER://a b:1", "://h:1", "CONTROLLER://h:1,",
        )
    ],
    ("controller", {"listeners": None}),
    ("broker", {"listeners": None}),
    ("combined", {"listeners": None}),
    *[
        ("broker", {"listeners": text})
        for text in (
            "PLAINTEXT://:9092", "PLAINTEXT://0.0.0.0:9092", "CONTROLLER://h:1", "SSL://h:1", "PLAINTEXT://h:1,SSL://h:1",
            "PLAINTEXT://h:1,SSL://h:2", "PLAINTEXT://127.0.0.1:1,SSL://[::1]:1", "PLAINTEXT://127.0.0.1:1,SSL://127.0.0.2:1",
            "PLAINTEXT://127.0.0.1:1,SSL://h:1", "PLAINTEXT://127.0.0.1:1,SSL://[::1]:1,SASL_SSL://h:1", "PLAINTEXT://h:0,SSL://h:0",
            "PLAINTEXT://127.0.0.1:1,SSL://[::1]:1,SASL_SSL://[::2]:1", "PLAINTEXT://:1,SSL://:1", "PLAINTEXT://[::1]:1,SSL://[::2]:1",
            "PLAINTEXT://127.0.0.1:1,SSL://[::1]:1,SASL_SSL://h:1,SASL_PLAINTEXT://h:1",
        )
    ],
    *[
        (base, {"advertised.listeners": text})
        for base in BASES
        for text in (
            "", "PLAINTEXT://h:1", "PLAINTEXT://0.0.0.0:1", "CONTROLLER://h:1", "CONTROLLER://0.0.0.0:1",
            "PLAINTEXT://h:1,CONTROLLER://h:1",
            "SSL://h:1", "PLAINTEXT://h:1,PLAINTEXT://h:2", "x", "PLAINTEXT://h:-1", "PLAINTEXT://h:1,SSL://h:1",
        )
    ],
    ("controller", {"listeners": "CONTROLLER://0.0.0.0:9093"}),
    ("controller", {"listeners": "CONTROLLER://:9093"}),
    # protocols
    *[
        (base, {"listener.security.protocol.map": text})
        for base in BASES
        for text in (
            "", "CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "CONTROLLER:X", "CONTROLLER",
            "controller:plaintext,plaintext:plaintext", "CONTROLLER:SSL,PLAINTEXT:PLAINTEXT", "A:B:PLAINTEXT", "CONTROLLER:PLAINTEXT,",
            "CONTROLLER: PLAINTEXT , PLAINTEXT :PLAINTEXT",
        )
    ],
    ("broker", {"listeners": "INSIDE://h:1", "listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"}),
    (
        "broker",
        {
            "listeners": "INSIDE://h:1",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
        },
    ),
    *[(base, {"inter.broker.listener.name": text}) for base in BASES for text in ("", "PLAINTEXT", "CONTROLLER", "OTHER", "plaintext",
    "SSL")],
    *[(base, {"security.inter.broker.protocol": text}) for base in BASES for text in ("", "PLAINTEXT", "SSL", "OTHER", "plaintext")],
    ("broker", {"security.inter.broker.protocol": "PLAINTEXT", "inter.broker.listener.name": "PLAINTEXT"}),
    *[
        (
            "broker",
            {
                "listeners": "SASL://h:1",
                "listener.security.protocol.map": SASL,
                "inter.broker.listener.name": "SASL",
                **mechanisms,
            },
        )
        for mechanisms in (
            {},
            {"sasl.mechanism.inter.broker.protocol": "PLAIN"},
            {"sasl.mechanism.inter.broker.protocol": "PLAIN", "sasl.enabled.mechanisms": "PLAIN,GSSAPI"},
            {"sasl.mechanism.inter.broker.protocol": "PLAIN", "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN"},
            {"sasl.enabled.mechanisms": "PLAIN"},
            {"sasl.enabled.mechanisms": ""},
        )
    ],
    # directories
    *[
        ("controller", {"log.dirs": text})
        for text in ("", " ", ",", "d1,", "d1,d1", " d1 , d2 ", "d1,,d2", "/a/b", "d 1", "é")
    ],
    ("controller", {"log.dirs": None}),
    *[("controller", {"log.dirs": None, "log.dir": text}) for text in ("", "d9", "d8,d9", ",")],
    *[("controller", {"metadata.log.dir": text}) for text in ("", "md", "d1", " md ", "a,b")],
    *[("broker", {"cordoned.log.dirs": text}) for text in ("", "d1", "d1,d2", "*", "*,d1", "d3", "d1,d3,d4")],
    # between settings
    *[("controller", {"log.roll.hours": text}) for text in ("0", "1", "-1")],
    *[("controller", {"log.roll.ms": text}) for text in ("0", "1", "-1")],
    *[("controller", {"log.roll.jitter.ms": text}) for text in ("0", "-1")],
    *[("controller", {"log.retention.ms": text}) for text in ("0", "1", "-1", "-5")],
    *[("controller", {"log.retention.minutes": text}) for text in ("0", "1", "-1", "-5")],
    *[("controller", {"log.retention.hours": text}) for text in ("0", "1", "-1", "-5")],
    ("controller", {"log.retention.ms": "0", "log.retention.hours": "1"}),
    ("controller", {"log.cleaner.dedupe.buffer.size": "1048576"}),
    ("controller", {"log.cleaner.dedupe.buffer.size": "1048577"}),
    ("controller", {"log.cleaner.dedupe.buffer.size": "2097152", "log.cleaner.threads": "2"}),
    ("controller", {"log.cleaner.threads": "0"}),
    ("controller", {"replica.fetch.wait.max.ms": "30001"}),
    ("controller", {"replica.socket.timeout.ms": "499"}),
    ("controller", {"replica.lag.time.max.ms": "499"}),
    ("controller", {"queued.max.request.bytes": "1"}),
    ("controller", {"queued.max.request.bytes": "104857600"}),
    ("controller", {"max.connections.per.ip": "0"}),
    *[
        ("controller", {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": text})
        for text in ("", "h:1", "127.0.0.1:1,h:2", "h:x", "h", "a b:1", "[::1]:1", "::1:1")
    ],
    ("controller", {"connections.max.idle.ms": "100"}),
    ("controller", {"connections.max.idle.ms": "101"}),
    ("controller", {"connections.max.idle.ms": "-1"}),
    ("controller", {"broker.heartbeat.interval.ms": "9000"}),
    *[
        ("controller", {f"group.{kind}.{name}": text})
        for kind in ("consumer", "share", "streams")
        for name in (
            "session.timeout.ms", "min.session.timeout.ms", "max.session.timeout.ms", "heartbeat.interval.ms", "min.heartbeat.interval.ms",
            "max.heartbeat.interval.ms", "assignment.interval.ms", "min.assignment.interval.ms", "max.assignment.interval.ms",
        )
        for text in ("1", "10000", "100000", "50000")
    ],
    *[("controller", {f"group.share.{name}": text}) for name in ("delivery.count.limit", "min.delivery.count.limit",
      "max.delivery.count.limit", "partition.max.record.locks", "min.partition.max.record.locks", "max.partition.max.record.locks",
      "record.lock.duration.ms", "min.record.lock.duration.ms", "max.record.lock.duration.ms", "max.size", "max.share.sessions")
      for text in ("2", "7", "100", "1500", "20000", "50000")],
    ("controller", {"group.streams.num.standby.replicas": "3"}),
    ("controller", {"group.streams.max.standby.replicas": "0", "group.streams.num.standby.replicas": "1"}),
    *[("controller", {"group.share.assignors": text}) for text in ("", "simple", "simple,simple", "simple,range")],
    ("controller", {"unstable.feature.versions.enable": "true"}),
    ("controller", {"no.such.key": "1"}),
    ("controller", {"inter.broker.protocol.version": "3.8"}),
    *[(base, {"early.start.listeners": text}) for base in BASES for text in ("OTHER", "", "controller", "CONTROLLER",
    "PLAINTEXT,CONTROLLER")],
]  # fmt: skip


def configs() -> Iterator[tuple[str, Config]]:
    """Every configuration of the table, then every key with values that suit some types and not others."""
    for base, changes in TABLE:
        merged = {**BASES[base], **{key: value for key, value in changes.items() if value is not None}}
        yield f"{base} {changes}", {key: value for key, value in merged.items() if changes.get(key, "") is not None}
    for key in config_keys().values():
        for text in _values(key):
            yield f"{key.name}={text!r}", {**CONTROLLER, key.name: text}


def _values(key: ConfigKey) -> Iterator[str]:
    # Which classes there are, we do not know; what is named by a class is checked by the server.
    if key.type == "CLASS" or key.name.endswith((".class.name", ".class", ".assignors", "metric.reporters", "metrics.reporters")):
        return
    if key.name in CONTROLLER:
        return
    yield from (
        "",
        "x",
        "0",
        "1",
        "-1",
        "-2",
        "7",
        "true",
        "TRUE",
        "yes",
        "a,b",
        "a,a",
        "0.25",
        "1e3",
        "2147483648",
        "1e400",
        ".5",
        "NaN",
        " 5 ",
    )
    yield from ("9223372036854775808", "SSL", "zstd", "required", "classic,consumer", "delete,compact", "CreateTime", "upgrade", "32768")


def java_input(config: Config) -> str:
    """One line that the Java program reads as the configuration; blanks are escaped, so that they are part of a value."""
    lines = (f"{key}={value.replace(chr(92), chr(92) * 2).replace(' ', chr(92) + ' ')}" for key, value in config.items())
    return "\x1f".join(lines)
