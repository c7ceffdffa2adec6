"""What servers were started with: read from a server.properties or a live node, where a rehearsal would otherwise assume it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from metashell.controller.configs.keys import config_keys
from metashell.errors import UsageError
from metashell.options.values import whole_number
from metashell.rehearse.steps import Assumptions

FIELDS: Final = {
    "broker.session.timeout.ms": "session_timeout_ms",
    "broker.heartbeat.interval.ms": "heartbeat_interval_ms",
    "replica.lag.time.max.ms": "replica_lag_ms",
}
"""Settings that are assumptions too."""
_FAILOVER: Final = ("controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms")
"""A follower waits for the dead leader, then for votes: together the time without a leader. Source: org.apache.kafka.raft.QuorumConfig."""
_OF_LEADERS: Final = ("broker.heartbeat.interval.ms", "replica.lag.time.max.ms", "min.insync.replicas")
"""Settings that brokers use; all others are the controller's."""
_SETTINGS: Final = (
    "auto.leader.rebalance.enable",
    "default.replication.factor",
    "delete.topic.enable",
    "leader.imbalance.check.interval.seconds",
    "log.cleanup.policy",
    "log.retention.bytes",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "min.insync.replicas",
    "num.partitions",
    "unclean.leader.election.enable",
    "unclean.leader.election.interval.ms",
)
NAMES: Final = (*FIELDS, *_FAILOVER, *_SETTINGS)
"""The settings that a rehearsal goes by."""


class Statics(NamedTuple):
    """The settings with which one server was started.

    Shape: `values` has what is set, the rest has Kafka's defaults. `where` says for people where it is from.
    """

    where: str
    roles: frozenset[str]
    values: Mapping[str, str]


def with_statics(assumptions: Assumptions, found: Sequence[Statics]) -> Assumptions:
    """The assumptions with what servers say in their place; `read` tells which those are.

    A setting that brokers go by comes from a broker, another one from a controller; from the first of several. What nobody of that role
    says stays assumed: a broker's file may set a session timeout, but the controllers' counts.
    Errors: UsageError for a value that is no number.
    """
    settings, read = dict(assumptions.settings), dict(assumptions.read)
    fields: dict[str, int] = {}
    for name, field in FIELDS.items():
        if (one := _server_for(name, found)) is not None:
            fields[field], read[field] = _number(one, name), one.where
    if (one := _server_for(_FAILOVER[0], found)) is not None:
        fields["quorum_failover_ms"], read["quorum_failover_ms"] = sum(_number(one, name) for name in _FAILOVER), one.where
    for name in _SETTINGS:
        if (one := _server_for(name, found)) is not None and name in one.values:
            settings[name], read[name] = one.values[name], one.where
    return replace(assumptions, **fields, settings=tuple(settings.items()), read=tuple(read.items()))  # type: ignore[arg-type]


def differences(found: Sequence[Statics]) -> list[str]:
    """The settings that servers of one role do not have alike; the first one's count."""
    told = []
    for name in NAMES:
        role = _role_for(name)
        values = {one.where: _value(one, name) for one in found if role in one.roles}
        if len(set(values.values())) > 1:
            told.append(f"{name} differs: {', '.join(f'{value} in {where}' for where, value in values.items())}")
    return told


def _role_for(name: str) -> str:
    return "broker" if name in _OF_LEADERS else "controller"


def _server_for(name: str, found: Sequence[Statics]) -> Statics | None:
    role = _role_for(name)
    return next((one for one in found if role in one.roles), None)


def _value(one: Statics, name: str) -> str | None:
    return one.values.get(name, config_keys("broker")[name].default)


def _number(one: Statics, name: str) -> int:
    value = (_value(one, name) or "").strip()
    try:
        return whole_number(value)
    except UsageError as error:
        raise UsageError(f"{one.where}: {name}: {error}", value) from None
