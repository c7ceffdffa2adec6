"""What Kafka's properties say about a listener, as its options."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.net.listener_options import HELD_MAX, SMALL_LIMIT, UNBOUNDED, options_of

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="b";'
SASL = {
    "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.controller.plain.sasl.jaas.config": JAAS,
}


def test_the_defaults_are_kafkas_but_for_what_may_be_held() -> None:
    options = options_of({}, "CONTROLLER", ranges={}, port=7)
    assert (options.name, options.port, options.security_protocol, options.backlog) == ("CONTROLLER", 7, 0, 50)
    assert (options.limits.frame_limit, options.limits.unauthenticated_limit) == (100 << 20, SMALL_LIMIT)
    assert (options.connections_max, options.connections_max_per_host, options.connections_max_of) == (UNBOUNDED, UNBOUNDED, {})
    assert (options.held_max, options.idle_timeout_s, options.failed_authentication_delay_s) == (HELD_MAX, 600.0, 0.1)
    assert options.session_ms == {}


def test_a_listeners_own_keys_win_where_kafka_has_them() -> None:
    options = options_of(
        {
            **SASL,
            "socket.request.max.bytes": "1000000",
            "queued.max.request.bytes": "5000000",
            "max.connections": "500",
            "listener.name.controller.max.connections": "20",
            "max.connections.per.ip": "10",
            "max.connections.per.ip.overrides": "127.0.0.1:200, [::1]:3",
            "connections.max.idle.ms": "-1",
            "connection.failed.authentication.delay.ms": "0",
            "sasl.server.max.receive.size": "1000",
            "listener.name.controller.sasl.server.max.receive.size": "2000",
            "connections.max.reauth.ms": "60000",
            "listener.name.controller.scram-sha-512.connections.max.reauth.ms": "0",
        },
        "CONTROLLER",
        ranges={},
    )
    assert (options.limits.frame_limit, options.limits.unauthenticated_limit, options.held_max) == (1_000_000, 2000, 5_000_000)
    assert (options.connections_max, options.connections_max_per_host) == (20, 10)
    assert options.connections_max_of == {"127.0.0.1": 200, "0:0:0:0:0:0:0:1": 3}
    assert (options.idle_timeout_s, options.failed_authentication_delay_s) == (None, 0.0)
    assert (options.session_ms, options.security_protocol) == ({"PLAIN": 60_000}, 2)
    assert list(options.mechanisms or {}) == ["PLAIN", "SCRAM-SHA-512"]


def test_one_request_may_always_come() -> None:
    assert options_of({"queued.max.request.bytes": "1"}, "C", ranges={}).held_max == 100 << 20


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("listener.name.c.max.connections", "x", "Invalid value x for configuration max.connections: Not a number of type INT"),
        ("socket.request.max.bytes", str(1 << 31), "Invalid value 2147483648 for configuration socket.request.max.bytes: Not a number"),
        ("max.connections.per.ip.overrides", "localhost:5", "max.connections.per.ip.overrides: localhost:5 is not ADDRESS:COUNT"),
        ("ssl.principal.mapping.rules", "RULE:x", "Invalid rule: `RULE:x`, unmatched substring: `RULE:x`"),
        ("principal.builder.class", "com.example.Own", "principal.builder.class: com.example.Own: classes of Java cannot be run here"),
        ("listener.name.c.plain.sasl.server.callback.handler.class", "X", "plain.sasl.server.callback.handler.class: X: classes of Java"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(key: str, value: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        options_of({key: value}, "C", ranges={})
    assert str(caught.value).startswith(told)
