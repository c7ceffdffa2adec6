"""A step in the words of a command line, for events, causes and answers. `words/step_words.py` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from metashell.amounts import duration_word
from metashell.codec.config_types import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from metashell.codec.redaction import is_sensitive_config
from metashell.forms import counted
from metashell.rehearse.steps import (
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Reassign,
    RemoveController,
    RestartBroker,
    RollBrokers,
    Step,
    Unregister,
    UnregisterController,
)

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
    """The words that a step could have been written with, shortened where it names much."""
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
    """Secrets are left out."""
    type = next((name for name, code in RESOURCE_TYPES.items() if code == step.resource_type), str(step.resource_type))
    verb = "unset" if all(value is None for _, value in step.values) else "set"
    keys = [
        key if value is None else f"{key}={_HIDDEN if is_sensitive_config(step.resource_type, key) else value}"
        for key, value in step.values
    ]
    return ["config", verb, f"{type}:{step.resource_name or DEFAULT_NAME}", *keys]


def has_secrets(step: Step) -> bool:
    """Whether a step sets something whose value must not be shown."""
    match step:
        case ConfigSet():
            return any(value is not None and is_sensitive_config(step.resource_type, key) for key, value in step.values)
        case CreateTopic():
            return any(is_sensitive_config(TOPIC_RESOURCE, key) for key, _ in step.configs)
        case _:
            return False


def shown_words(words: Sequence[str]) -> str:
    """Words as a shell would take them."""
    return " ".join(
        word if word and not any(char in " \t\n'\"\\$`" for char in word) else "'" + word.replace("'", "'\\''") + "'" for word in words
    )
