"""What a rehearsal assumes, as words: `copy-rate=100M`, `boot=40s`; `min.insync.replicas=2` is a setting of server.properties.

A setting that is an assumption too is taken as that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from metashell.amounts import duration_ms, duration_text, size_text
from metashell.controller.configs.keys import config_keys
from metashell.errors import UsageError
from metashell.options.values import did_you_mean, size, whole_number
from metashell.rehearse.statics import FIELDS
from metashell.rehearse.steps import Assumptions


class Word(NamedTuple):
    """An assumption as words: the field of `Assumptions`, what reads it, what shows it, and what it means."""

    field: str
    read: Callable[[str], object]
    show: Callable[[Any], str]
    help: str


def _rate(text: str) -> int:
    rate = size(text.removesuffix("/s"))
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


WORDS: Final[dict[str, Word]] = {
    "session-timeout": Word("session_timeout_ms", _some_time, duration_text, "a broker that is silent for so long is fenced"),
    "heartbeat-interval": Word("heartbeat_interval_ms", _some_time, duration_text, "brokers send heartbeats this often"),
    "commit": Word("commit_ms", _time, duration_text, "the quorum needs this long to commit a record"),
    "boot": Word("boot_ms", _time, duration_text, "a broker needs this long to start and register"),
    "recovery": Word("recovery_ms", _time, duration_text, "and this much longer after a crash"),
    "down": Word("down_ms", _time, duration_text, "a broker that restarts is off for so long"),
    "catch-up-percent": Word("catch_up_percent", whole_number, lambda count: f"{count}%", "a replica that was away takes this part of it"),
    "catch-up-min": Word("catch_up_min_ms", _time, duration_text, "and at least this long"),
    "copy-rate": Word("copy_rate", _rate, lambda rate: f"{size_text(rate)}/s", "of all replicas that a broker copies"),
    "partition-size": Word("partition_bytes", size, size_text, "of a partition for which no size is given"),
    "replica-lag": Word("replica_lag_ms", _some_time, duration_text, "a follower so far behind leaves the ISR"),
    "quorum-failover": Word("quorum_failover_ms", _time, duration_text, "the quorum needs this long to elect a leader"),
    "shutdown-timeout": Word("shutdown_timeout_ms", _some_time, duration_text, "a controlled shutdown is given up then"),
    "patience": Word("patience_ms", _some_time, duration_text, "the rehearsal ends here, whatever still changes"),
    "lagging-catch-up": Word("lagging_catch_up", _yes_or_no, _yes_or_no_text, "replicas that are out of sync at first catch up"),
    "seed": Word("seed", whole_number, str, "draws heartbeats and the places of new replicas"),
    "voters": Word("voters", _ids, _ids_text, "1,2,3: the controllers, if the image names none"),
}


def assume(assumptions: Assumptions, name: str, value: str) -> Assumptions:
    """The assumptions with one of them changed. Errors: UsageError that begins with the name."""
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
    """The values read from servers, without one: an explicit assumption wins."""
    return tuple(one for one in assumptions.read if one[0] != name)


def _with_setting(assumptions: Assumptions, name: str, value: str) -> Assumptions:
    known = config_keys("broker")
    if name not in known:
        raise UsageError(f"not a setting of a server{did_you_mean(name, list(known))}", name)
    settings = {**dict(assumptions.settings), name: value}
    return replace(assumptions, settings=tuple(settings.items()), read=_read_without(assumptions, name))


def assume_all(assumptions: Assumptions, words: Mapping[str, str]) -> Assumptions:
    """The assumptions with some of them changed. Errors: as `assume`."""
    for name, value in words.items():
        assumptions = assume(assumptions, name, value)
    return assumptions


class Assumed(NamedTuple):
    """An assumption for people: whether it is the default, and where it was read, empty where it was not."""

    name: str
    value: str
    is_default: bool
    where: str = ""


def assumed(assumptions: Assumptions) -> list[Assumed]:
    """Each assumption, and what was read in its place."""
    usual, read = Assumptions(), dict(assumptions.read)
    shown = []
    for name, word in WORDS.items():
        value = getattr(assumptions, word.field)
        shown.append(Assumed(name, word.show(value), value == getattr(usual, word.field), read.get(word.field, "")))
    return shown + [Assumed(name, value, False, read.get(name, "")) for name, value in assumptions.settings]
