"""Parses and shows the assumptions of a rehearsal (`copy-rate=100M`, `boot=40s`), and takes settings read from servers.

`min.insync.replicas=2` is a setting of server.properties. A setting that has an assumption of its own, such as
broker.session.timeout.ms, sets that. A setting of a running server, from its server.properties or a live node, replaces an
assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from metashell.common.errors import UsageError
from metashell.common.options import did_you_mean, size_bytes, whole_number
from metashell.common.values import duration_ms, duration_text, size_text
from metashell.quorum.controller.settings import config_keys
from metashell.rehearse.steps import Assumptions


class AssumptionWord(NamedTuple):
    """The text form of an assumption: the field of `Assumptions`, its parser, its formatter, and its meaning."""

    field: str
    read: Callable[[str], object]
    show: Callable[[Any], str]
    help: str


def _rate(text: str) -> int:
    rate = size_bytes(text.removesuffix("/s"))
    if rate == 0:
        raise UsageError(f"{text!r}: nothing would ever be copied", text)
    return rate


def _ids(text: str) -> tuple[int, ...]:
    return tuple(sorted({whole_number(part.strip()) for part in text.split(",")}))


def _ids_text(ids: tuple[int, ...]) -> str:
    return ",".join(map(str, ids)) or "as the image names them"


def _time(text: str) -> int:
    return duration_ms(text)


def _some_time(text: str) -> int:
    time_ms = duration_ms(text)
    if time_ms == 0:
        raise UsageError(f"{text!r} is not a time", text)
    return time_ms


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise UsageError(f"{text!r}: yes or no", text)
    return text == "yes"


def _yes_or_no_text(is_so: bool) -> str:
    return "yes" if is_so else "no"


WORDS: Final[dict[str, AssumptionWord]] = {
    "session-timeout": AssumptionWord("session_timeout_ms", _some_time, duration_text, "a broker that is silent for so long is fenced"),
    "heartbeat-interval": AssumptionWord("heartbeat_interval_ms", _some_time, duration_text, "brokers send heartbeats this often"),
    "commit": AssumptionWord("commit_ms", _time, duration_text, "the quorum needs this long to commit a record"),
    "boot": AssumptionWord("boot_ms", _time, duration_text, "a broker needs this long to start and register"),
    "recovery": AssumptionWord("recovery_ms", _time, duration_text, "and this much longer after a crash"),
    "down": AssumptionWord("down_ms", _time, duration_text, "a broker that restarts is off for so long"),
    "catch-up-percent": AssumptionWord(
        "catch_up_percent", whole_number, lambda count: f"{count}%", "a replica that was away takes this part of it"
    ),
    "catch-up-min": AssumptionWord("catch_up_min_ms", _time, duration_text, "and at least this long"),
    "copy-rate": AssumptionWord("copy_rate", _rate, lambda rate: f"{size_text(rate)}/s", "of all replicas that a broker copies"),
    "partition-size": AssumptionWord("partition_bytes", size_bytes, size_text, "of a partition for which no size is given"),
    "replica-lag": AssumptionWord("replica_lag_ms", _some_time, duration_text, "a follower so far behind leaves the ISR"),
    "quorum-failover": AssumptionWord("quorum_failover_ms", _time, duration_text, "the quorum needs this long to elect a leader"),
    "shutdown-timeout": AssumptionWord("shutdown_timeout_ms", _some_time, duration_text, "a controlled shutdown is given up then"),
    "patience": AssumptionWord("patience_ms", _some_time, duration_text, "the rehearsal ends here, whatever still changes"),
    "lagging-catch-up": AssumptionWord("lagging_catch_up", _yes_or_no, _yes_or_no_text, "replicas that are out of sync at first catch up"),
    "seed": AssumptionWord("seed", whole_number, str, "draws heartbeats and the places of new replicas"),
    "voters": AssumptionWord("voters", _ids, _ids_text, "1,2,3: the controllers, if the image names none"),
}


def parse_assumption(assumptions: Assumptions, name: str, value: str) -> Assumptions:
    """Change one assumption. Errors: UsageError that begins with the name."""
    try:
        if name in FIELDS:
            return _with_field(assumptions, FIELDS[name], whole_number(value))
        if "." in name:
            return _with_setting(assumptions, name, value)
        if name not in WORDS:
            known = ", ".join(WORDS)
            raise UsageError(f"not an assumption{did_you_mean(name, list(WORDS)) or f' (known: {known})'}", name)
        word = WORDS[name]
        return _with_field(assumptions, word.field, word.read(value))
    except UsageError as error:
        raise UsageError(f"{name}: {error}", name) from None


def _with_field(assumptions: Assumptions, field: str, value: object) -> Assumptions:
    return replace(assumptions, **{field: value}, read=_read_without(assumptions, field))  # type: ignore[arg-type]


def _read_without(assumptions: Assumptions, name: str) -> tuple[tuple[str, str], ...]:
    """The values read from servers without this one: an explicit assumption wins."""
    return tuple(one for one in assumptions.read if one[0] != name)


def _with_setting(assumptions: Assumptions, name: str, value: str) -> Assumptions:
    known = config_keys("broker")
    if name not in known:
        raise UsageError(f"not a setting of a server{did_you_mean(name, list(known))}", name)
    settings = {**dict(assumptions.settings), name: value}
    return replace(assumptions, settings=tuple(settings.items()), read=_read_without(assumptions, name))


def parse_assumptions(assumptions: Assumptions, words: Mapping[str, str]) -> Assumptions:
    """Change some assumptions. Errors: as `parse_assumption`."""
    for name, value in words.items():
        assumptions = parse_assumption(assumptions, name, value)
    return assumptions


class ShownAssumption(NamedTuple):
    """An assumption to print: whether it is the default, and where it was read, empty if it was not read."""

    name: str
    value: str
    is_default: bool
    where: str = ""


def shown_assumptions(assumptions: Assumptions) -> list[ShownAssumption]:
    """All assumptions to print, with values that were read in their place."""
    usual, read = Assumptions(), dict(assumptions.read)
    shown = []
    for name, word in WORDS.items():
        value = getattr(assumptions, word.field)
        shown.append(ShownAssumption(name, word.show(value), value == getattr(usual, word.field), read.get(word.field, "")))
    return shown + [ShownAssumption(name, value, False, read.get(name, "")) for name, value in assumptions.settings]


FIELDS: Final = {
    "broker.session.timeout.ms": "session_timeout_ms",
    "broker.heartbeat.interval.ms": "heartbeat_interval_ms",
    "replica.lag.time.max.ms": "replica_lag_ms",
}
"""Settings that have an assumption of their own."""
_FAILOVER: Final = ("controller.quorum.fetch.timeout.ms", "controller.quorum.election.timeout.ms")
"""A follower waits for the dead leader, then for votes; the sum is the time without a leader. Source: QuorumConfig."""
_OF_LEADERS: Final = ("broker.heartbeat.interval.ms", "replica.lag.time.max.ms", "min.insync.replicas")
"""Settings of brokers; all others are settings of controllers."""
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
"""The settings that a rehearsal uses."""


class Statics(NamedTuple):
    """The settings with which one server was started.

    Shape: `values` has the explicit settings, all others have Kafka's defaults. `where` is the place to print.
    """

    where: str
    roles: frozenset[str]
    values: Mapping[str, str]


def with_statics(assumptions: Assumptions, found: Sequence[Statics]) -> Assumptions:
    """Replace assumptions by the settings of servers; `read` lists these.

    A broker's setting comes from the first broker, a controller's from the first controller. Without a server of that role the setting
    stays assumed: a broker's file may have a session timeout, but only the controllers' counts.
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
    """The settings that differ between servers of one role; those of the first one count."""
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
