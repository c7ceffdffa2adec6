"""The settings that Kafka knows for topics, brokers, groups and client metrics, and whether a value fits.

The definitions are data, made from Kafka's own (`tools/gen_config_definitions.py`); what types and checks mean is in `codec/config_def.py`.
"""

from __future__ import annotations

from functools import cache
from pkgutil import get_data
from typing import Final, NamedTuple, cast

from metashell.codec import config_def
from metashell.codec.config_def import NULL, REQUIRED, ConfigValueError, Value, no_check
from metashell.codec.config_types import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE, ConfigType
from metashell.codec.error_codes import INVALID_CONFIG
from metashell.controller.decision import ApiError

TYPE_CODES: Final[dict[ConfigType, int]] = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
    "CLASS": 8,
    "PASSWORD": 9,
}
"""How DescribeConfigs says a type."""


KINDS: Final = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker", GROUP_RESOURCE: "group", CLIENT_METRICS_RESOURCE: "client_metrics"}
"""The kind of settings that a type of resource has."""


_VALID_STRINGS: Final = "validStrings="


class ConfigKey(NamedTuple):
    """One setting.

    Shape: `default` is None for none; `synonyms` are (broker setting, factor): a topic's value comes from the first that is set,
    times the factor.
    """

    name: str
    type: ConfigType
    default: str | None
    check: str
    is_internal: bool
    is_dynamic: bool
    synonyms: tuple[tuple[str, int], ...]
    documentation: str | None

    @property
    def is_sensitive(self) -> bool:
        return self.type == "PASSWORD"


@cache
def config_keys(kind: str) -> dict[str, ConfigKey]:
    """Every key of a kind (topic, broker, group, client_metrics) by its name, in the order in which Kafka checks them."""
    data = get_data("metashell.controller", f"config_keys/{kind}.tsv")
    assert data is not None, "the definitions lie beside this module"
    lines = (line for line in data.decode().split("\n") if line and line[0] != "#")
    return {key.name: key for key in map(_config_key, lines)}


def _config_key(line: str) -> ConfigKey:
    name, type, default, check, flags, synonyms, documentation = line.split("\t")
    return ConfigKey(
        name,
        cast(ConfigType, type),
        None if default in (REQUIRED, NULL) else default,
        check,
        "internal" in flags.split(" "),
        "dynamic" in flags.split(" "),
        tuple(_synonym(word) for word in synonyms.split(" ") if word),
        None if documentation == "null" else documentation.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\"),
    )


def _synonym(word: str) -> tuple[str, int]:
    name, _, factor = word.partition("*")
    return name, int(factor or "1")


def allowed_words(key: ConfigKey) -> tuple[str, ...]:
    """The words that a key takes; none where it takes any number or text."""
    if key.type == "BOOLEAN":
        return "true", "false"
    named = [word.removeprefix(_VALID_STRINGS) for word in key.check.split(" ") if word.startswith(_VALID_STRINGS)]
    return tuple(word for text in named for word in text.split(",") if word)


def parse_value(key: ConfigKey, text: str | None) -> Value:
    """The value that `text` stands for. Errors: ApiError INVALID_CONFIG in Kafka's words."""
    if text is None:
        return None
    try:
        return config_def.parse_value(key, text)
    except ConfigValueError as error:
        raise ApiError(INVALID_CONFIG, str(error)) from None


def check_value(key: ConfigKey, value: Value) -> None:
    """Hold a value against the key's own check. Errors: ApiError INVALID_CONFIG in Kafka's words."""
    try:
        config_def.check_value(key, value, _OTHERS)
    except ConfigValueError as error:
        raise ApiError(INVALID_CONFIG, str(error)) from None


_OTHERS: Final = dict.fromkeys(("ControllerQuorumVotersValidator", "ControllerQuorumBootstrapServersValidator"), no_check)
"""Checks of what a process is started with, which is no affair of the log."""
