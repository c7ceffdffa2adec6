"""The settings that Kafka knows for topics, brokers, groups and client metrics, and whether a value fits.

The definitions are data, made from Kafka's own (`tools/gen_config_definitions.py`); here is what types and checks mean.
Source: org.apache.kafka.common.config.ConfigDef.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import get_data
from typing import Final, NamedTuple, assert_never, cast

from metashell.codec.config_types import ConfigType
from metashell.codec.error_codes import INVALID_CONFIG
from metashell.controller.decision import ApiError

Value = str | int | float | bool | tuple[str, ...] | None

JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
"""What String.trim takes away."""
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_BITS = {"SHORT": 16, "INT": 32, "LONG": 64}
_REQUIRED: Final = "(required)"
_NULL: Final = "(null)"
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
        None if default in (_REQUIRED, _NULL) else default,
        check,
        "internal" in flags.split(" "),
        "dynamic" in flags.split(" "),
        tuple(_synonym(word) for word in synonyms.split(" ") if word),
        None if documentation == "null" else documentation.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\"),
    )


def _synonym(word: str) -> tuple[str, int]:
    name, _, factor = word.partition("*")
    return name, int(factor or "1")


def parse_value(key: ConfigKey, text: str | None) -> Value:
    """The value that `text` stands for.

    Errors: ApiError INVALID_CONFIG in Kafka's words.
    """
    if text is None:
        return None
    trimmed = text.strip(JAVA_BLANKS)
    match key.type:
        case "BOOLEAN":
            if trimmed.lower() not in ("true", "false"):
                raise invalid(key, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case "SHORT" | "INT" | "LONG":
            limit = 1 << (_BITS[key.type] - 1)
            if not _INTEGER.fullmatch(trimmed) or len(trimmed) > 30 or not -limit <= int(trimmed) < limit:
                raise invalid(key, text, f"Not a number of type {key.type}")
            return int(trimmed)
        case "DOUBLE":
            if not _DOUBLE.fullmatch(trimmed):
                raise invalid(key, text, f"Not a number of type {key.type}")
            return float(trimmed.rstrip("fFdD") if trimmed[-1] in "fFdD" else trimmed)
        case "LIST":
            return split_list(trimmed)
        case "STRING" | "CLASS" | "PASSWORD":
            return trimmed
        case _:
            assert_never(key.type)


def split_list(text: str) -> tuple[str, ...]:
    """The items of a list as ConfigDef splits it; Java drops empty items at the end."""
    if not text:
        return ()
    items = _COMMA.split(text)
    while len(items) > 1 and not items[-1]:
        items.pop()
    return tuple(items)


def check_value(key: ConfigKey, value: Value) -> None:
    """Hold a value against the key's own check.

    Errors: ApiError INVALID_CONFIG in Kafka's words.
    """
    name, _, rest = key.check.partition(" ")
    if name in _CHECKS:
        _CHECKS[name](key, value, dict(word.split("=", 1) for word in rest.split(" ") if "=" in word))


def invalid(key: ConfigKey, value: object, why: str) -> ApiError:
    """Kafka's sentence about a bad value; a password is never repeated."""
    shown = "[hidden]" if key.is_sensitive else java_text(value)
    return ApiError(INVALID_CONFIG, f"Invalid value {shown} for configuration {key.name}: {why}")


def java_text(value: object) -> str:
    """A value as Java's string concatenation shows it."""
    if isinstance(value, float):
        from metashell.codec.json_forms import java_double

        return java_double(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_range(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int | float)
    low, high = settings["min"], settings["max"]
    if low != _NULL and value < float(low):
        raise invalid(key, value, f"Value must be at least {low}")
    if high != _NULL and value > float(high):
        raise invalid(key, value, f"Value must be no more than {high}")


def _check_one_of(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    known = settings["validStrings"].split(",")
    if value not in known:
        raise invalid(key, value, f"String must be one of: {', '.join(known)}")


def _check_list(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    known = [word for word in settings["validStrings"].split(",") if word]
    for word in value:
        if not word:
            raise ApiError(INVALID_CONFIG, f"Configuration '{key.name}' values must not be empty.")
    for word in value:
        if known and word not in known:
            raise invalid(key, word, f"String must be one of: {', '.join(known)}")


def _check_gzip_level(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise invalid(key, value, "Value must be between 1 and 9 or equal to -1")


def _check_throttled(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    if value and not (value[0].strip(JAVA_BLANKS) == "*" or all(re.fullmatch(r"[0-9]+:[0-9]+", word) for word in value)):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        raise invalid(key, value, f"{key.name} must be the literal '*' or a list of replicas in the following format: {form}")


_DURATION = re.compile(r"-?P(?=.)(-?\d+D)?(T(?=.)(-?\d+H)?(-?\d+M)?(-?\d+(\.\d{0,9})?S)?)?", re.IGNORECASE)


def _check_offset_reset(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, str)
    start, _, duration = value.partition(":")
    if value in ("earliest", "latest") or (start == "by_duration" and _is_duration(duration)):
        return
    form = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    raise invalid(key, value, f"Invalid value `{value}` for configuration {key.name}. {form}")


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None and not text.startswith("-") and any(letter.isdigit() for letter in text)


_CHECKS: Final[dict[str, Callable[[ConfigKey, Value, Mapping[str, str]], None]]] = {
    "Range": _check_range,
    "ValidString": _check_one_of,
    "ValidList": _check_list,
    "LambdaValidator": _check_gzip_level,
    "ThrottledReplicaListValidator": _check_throttled,
    "Validator": _check_offset_reset,
}
