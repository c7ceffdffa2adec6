"""The steps of a rehearsal as values, their text as on a command line, and their times.

`step_grammar` parses that text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from metashell.codec.codes import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.redaction import is_sensitive_config
from metashell.common.errors import UsageError
from metashell.common.forms import counted
from metashell.common.values import duration_ms, duration_word


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The time of a step in milliseconds of the rehearsal; None: when all effects of the steps before it
    have ended, apart from the elections that the controller holds every few minutes.
    """

    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class KillBroker(Timed):
    """A broker dies at once, as with kill -9 or a lost machine, and stays dead."""

    broker: int


@dataclass(frozen=True, slots=True)
class RestartBroker(Timed):
    """A live broker shuts down in a controlled way and starts again `down_ms` after that (None: the assumed time); a dead one starts.

    With `empty` these log directories (ids as texts) are empty then, as on a new disk: all of them if it names none.
    """

    broker: int
    down_ms: int | None = None
    empty: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RollBrokers(Timed):
    """Brokers restart in the order of their ids, at most `max_offline` at a time; the next one stops when one is in sync again.

    Without `brokers` all unfenced brokers restart.
    """

    brokers: tuple[int, ...] | None = None
    max_offline: int = 1
    down_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LoseRack(Timed):
    """All live brokers of a rack die at once."""

    rack: str


@dataclass(frozen=True, slots=True)
class LoseDirectory(Timed):
    """A log directory of a broker fails; without an id (a text) the only one. A broker without another directory dies."""

    broker: int
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class Unregister(Timed):
    """A broker's registration is removed, dead or alive."""

    broker: int


@dataclass(frozen=True, slots=True)
class UnregisterController(Timed):
    """The registration of a controller, voter or not, is removed; a running controller registers again at once."""

    controller: int


@dataclass(frozen=True, slots=True)
class RemoveController(Timed):
    """A voter, alive or dead, is removed from the voter set; it stays registered."""

    controller: int


@dataclass(frozen=True, slots=True)
class Move:
    """The new replicas of a partition; None cancels a reassignment under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Reassign(Timed):
    """Partitions move to other brokers. `throttle_bytes` is a limit for each broker and second, None for the assumed rate."""

    moves: tuple[Move, ...]
    throttle_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class AddBroker(Timed):
    """A new broker registers and joins."""

    broker: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Elect(Timed):
    """A leader election in the named partitions, (topic, partition) each; in all partitions if none is named."""

    partitions: tuple[tuple[str, int], ...] | None = None
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class FeatureUpgrade(Timed):
    """A feature is finalised at another level. A lower one needs `downgrade`, and `unsafe` if metadata may be lost."""

    feature: str
    level: int
    downgrade: bool = False
    unsafe: bool = False


@dataclass(frozen=True, slots=True)
class LoseController(Timed):
    """A controller dies; without an id the active one. It comes back after `back_after_ms`, never if that is None."""

    controller: int | None = None
    back_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CreateTopic(Timed):
    """A topic is created; -1 stands for the cluster's default. `assignments` gives the replicas of each partition instead."""

    topic: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteTopic(Timed):
    """A topic is deleted."""

    topic: str


@dataclass(frozen=True, slots=True)
class ConfigSet(Timed):
    """Settings of one resource change; a value of None removes the setting. `resource_type` is Kafka's number (2 topic, 4 broker)."""

    resource_type: int
    resource_name: str
    values: tuple[tuple[str, str | None], ...]


Step: TypeAlias = (
    KillBroker
    | RestartBroker
    | RollBrokers
    | LoseRack
    | LoseDirectory
    | Unregister
    | UnregisterController
    | RemoveController
    | Reassign
    | AddBroker
    | Elect
    | FeatureUpgrade
    | LoseController
    | CreateTopic
    | DeleteTopic
    | ConfigSet
)


class StepError(UsageError):
    """A step is impossible in this cluster: `index` is its place among the steps, `field_name` the field at fault."""

    def __init__(self, message: str, index: int, field_name: str = "") -> None:
        super().__init__(message)
        self.index = index
        self.field_name = field_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The assumptions of a rehearsal, for facts that no image has; the outcome lists them.

    Units: `_ms` are milliseconds, `_bytes` bytes, `_rate` bytes a second.
    Shape: `settings` are the relevant settings in the nodes' server.properties, as texts (min.insync.replicas,
    auto.leader.rebalance.enable and so on); others have Kafka's defaults. Some settings are fields of their own:
    broker.session.timeout.ms, broker.heartbeat.interval.ms, and replica.lag.time.max.ms. A broker starts within `boot_ms`, and
    `recovery_ms` later after a crash. A replica that was away catches up within `catch_up_percent` of the time that it was away, but not
    faster than `catch_up_min_ms`. A new replica copies its partition's size (`partition_bytes` if no size is known) at `copy_rate`, which
    all copies to one broker share. A replica of a live broker that is not in sync at the beginning stays so, unless `lagging_catch_up`.
    `voters` are the controllers if the image names none. `seed` decides the times of heartbeats, ids, and the places of new replicas.
    `read` names the place where a field or setting was read (see `assumptions.with_statics`), so that it is not assumed.
    """

    session_timeout_ms: int = 9_000
    heartbeat_interval_ms: int = 2_000
    commit_ms: int = 5
    boot_ms: int = 10_000
    recovery_ms: int = 20_000
    down_ms: int = 30_000
    catch_up_percent: int = 10
    catch_up_min_ms: int = 1_000
    copy_rate: int = 50_000_000
    partition_bytes: int = 1_000_000_000
    replica_lag_ms: int = 30_000
    quorum_failover_ms: int = 3_000
    shutdown_timeout_ms: int = 300_000
    patience_ms: int = 86_400_000
    lagging_catch_up: bool = False
    seed: int = 0
    voters: tuple[int, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    read: tuple[tuple[str, str], ...] = ()


def static_min_isr(assumptions: Assumptions) -> int:
    """min.insync.replicas of server.properties; Kafka's default if it is unknown or no number."""
    value = dict(assumptions.settings).get("min.insync.replicas", "")
    return int(value) if value.isascii() and value.isdigit() and int(value) else 1


AT = "at"
AFTER = "after"


class StepTimes:
    """Gives each step its time: `at` counts from the begin of the rehearsal, `after` from the begin of the step before.

    A step without either begins as soon as nothing changes any more; the first one at once.
    """

    def __init__(self) -> None:
        self._is_first = True
        self._last_ms: int | None = 0
        self._newest_ms = 0

    def next(self, word: str | None = None, time: str = "") -> int | None:
        """The time of the next step, whose `at` or `after` is `time`. Errors: UsageError for a time that is impossible or goes back."""
        self._last_ms = self._time(word, time)
        self._is_first = False
        self._newest_ms = max(self._newest_ms, self._last_ms or 0)
        return self._last_ms

    def _time(self, word: str | None, time: str) -> int | None:
        if word is None:
            return 0 if self._is_first else None
        try:
            moment = duration_ms(time)
        except UsageError as error:
            raise UsageError(f"{word}: {error}", time) from None
        if word == AFTER:
            if self._last_ms is None:
                raise UsageError(f"{AFTER}: the previous step has no time, so this one cannot have one either", time)
            return self._last_ms + moment
        if moment < self._newest_ms:
            raise UsageError(f"{AT} is before an earlier step, which begins at {duration_word(self._newest_ms)}", time)
        return moment


DEFAULT_NAME: Final = "default"
EMPTY_ALL: Final = "all"
"""All log directories of a broker."""
RESOURCE_TYPES: Final = {
    "topic": TOPIC_RESOURCE,
    "broker": BROKER_RESOURCE,
    "group": GROUP_RESOURCE,
    "client-metrics": CLIENT_METRICS_RESOURCE,
}
_NAMED_MAX: Final = 5
_HIDDEN: Final = "..."


def step_text(step: Step) -> str:
    """The step in the words of a command line, shortened if it names many things."""
    match step:
        case KillBroker():
            return f"kill-broker {step.broker}"
        case RestartBroker():
            empty = "" if step.empty is None else f" --empty {','.join(step.empty) or EMPTY_ALL}"
            return f"restart-broker {step.broker}" + _time_option("--down", step.down_ms) + empty
        case RollBrokers():
            brokers = "" if step.brokers is None else f" {','.join(map(str, step.brokers))}"
            return f"roll-brokers{brokers} --max-offline {step.max_offline}" + _time_option("--down", step.down_ms)
        case LoseRack():
            return shown_words(["lose-rack", step.rack])
        case LoseDirectory():
            return f"lose-directory {step.broker}" + ("" if step.directory is None else f" {step.directory}")
        case Unregister():
            return f"unregister {step.broker}"
        case UnregisterController():
            return f"unregister-controller {step.controller}"
        case RemoveController():
            return f"remove-controller {step.controller}"
        case Reassign():
            return f"reassign {counted(len(step.moves), 'partition')}"
        case AddBroker():
            return f"add-broker {step.broker}" + ("" if step.rack is None else f" {shown_words(['--rack', step.rack])}")
        case Elect():
            named = [f"{topic}:{partition}" for topic, partition in step.partitions or ()]
            words = ["elect", "unclean" if step.unclean else "preferred", *named[:_NAMED_MAX]]
            return shown_words(words) + (f" and {len(named) - _NAMED_MAX} more" if len(named) > _NAMED_MAX else "")
        case FeatureUpgrade():
            return f"feature {'downgrade' if step.downgrade else 'upgrade'} {shown_words([step.feature])} {step.level}"
        case LoseController():
            which = "" if step.controller is None else f" {step.controller}"
            return f"lose-controller{which}" + _time_option("--back", step.back_after_ms)
        case CreateTopic():
            return shown_words(["topic", "create", step.topic])
        case DeleteTopic():
            return shown_words(["topic", "delete", step.topic])
        case ConfigSet():
            return shown_words([*_config_words(step)])
        case _:
            assert_never(step)


def _time_option(name: str, ms: int | None) -> str:
    return "" if ms is None else f" {name} {duration_word(ms)}"


def _config_words(step: ConfigSet) -> list[str]:
    """The values of a setting step, without secrets."""
    type = next((name for name, code in RESOURCE_TYPES.items() if code == step.resource_type), str(step.resource_type))
    verb = "unset" if all(value is None for _, value in step.values) else "set"
    keys = [
        key if value is None else f"{key}={_HIDDEN if is_sensitive_config(step.resource_type, key) else value}"
        for key, value in step.values
    ]
    return ["config", verb, f"{type}:{step.resource_name or DEFAULT_NAME}", *keys]


def has_secrets(step: Step) -> bool:
    """Return whether a step sets a value that may be secret."""
    match step:
        case ConfigSet():
            return any(value is not None and is_sensitive_config(step.resource_type, key) for key, value in step.values)
        case CreateTopic():
            return any(is_sensitive_config(TOPIC_RESOURCE, key) for key, _ in step.configs)
        case _:
            return False


def shown_words(words: Sequence[str]) -> str:
    """Words, quoted for a shell."""
    return " ".join(
        word if word and not any(char in " \t\n'\"\\$`" for char in word) else "'" + word.replace("'", "'\\''") + "'" for word in words
    )
