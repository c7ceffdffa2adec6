"""What the types and checks of Kafka's settings mean: how a text becomes a value, and which values fit.

The settings themselves are data of those who ask (`storage`, `controller`), made from Kafka's own; errors have Kafka's words.
Source: org.apache.kafka.common.config.ConfigDef.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol, assert_never

from metashell.codec.config_types import ConfigType
from metashell.codec.java_text import JAVA_BLANKS, is_same_in_any_case, java_float, java_int, java_text
from metashell.errors import MetashellError

Value = str | int | float | bool | tuple[str, ...] | None

REQUIRED: Final = "(required)"
NULL: Final = "(null)"
"""How the data marks a setting without a default, and one that is null by default."""
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_BITS: Final = {"SHORT": 16, "INT": 32, "LONG": 64}
_DURATION = re.compile(r"-?P(?=.)(-?\d+D)?(T(?=.)(-?\d+H)?(-?\d+M)?(-?\d+(\.\d{0,9})?S)?)?", re.IGNORECASE)


class Definition(Protocol):
    """A setting: `check` is the name of its validator with that one's own settings, empty for none."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> ConfigType: ...
    @property
    def check(self) -> str: ...


class ConfigValueError(MetashellError):
    """A value that does not fit its setting, in Kafka's words."""


def parse_value(key: Definition, text: str) -> Value:
    """The value that `text` means. Errors: ConfigValueError."""
    trimmed = text.strip(JAVA_BLANKS)
    match key.type:
        case "BOOLEAN":
            if not (is_same_in_any_case(trimmed, "true") or is_same_in_any_case(trimmed, "false")):
                raise invalid(key, text, "Expected value to be either true or false")
            return len(trimmed) == len("true")
        case "SHORT" | "INT" | "LONG" | "DOUBLE":
            number = java_float(trimmed) if key.type == "DOUBLE" else java_int(trimmed, _BITS[key.type])
            if number is None:
                raise invalid(key, text, f"Not a number of type {key.type}")
            return number
        case "LIST":
            words = tuple(_COMMA.split(trimmed)) if trimmed else ()
            # Only lists that may not repeat a value lose repetitions; Kafka warns and goes on.
            return tuple(dict.fromkeys(words)) if key.check.startswith("ValidList") else words
        case "STRING" | "CLASS" | "PASSWORD":
            # Classes are taken as they are named: they may be anywhere on the server's class path.
            return trimmed
        case _:
            assert_never(key.type)


def invalid(key: Definition, value: object, why: str) -> ConfigValueError:
    """Kafka's sentence about a bad value; a password is never repeated."""
    shown = "[hidden]" if key.type == "PASSWORD" else java_text(value)
    return ConfigValueError(f"Invalid value {shown} for configuration {key.name}: {why}")


Check = Callable[[Definition, Value, Mapping[str, str]], None]


def check_value(key: Definition, value: Value, others: Mapping[str, Check] = {}) -> None:
    """Hold a value against its setting's check; `others` are those that only the caller knows.

    Errors: ConfigValueError.
    """
    name, _, rest = key.check.partition(" ")
    if name:
        check = others[name] if name in others else _CHECKS[name]
        check(key, value, dict(word.split("=", 1) for word in rest.split(" ") if "=" in word))


def _check_range(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int | float)
    low, high = settings["min"], settings["max"]
    if low != NULL and value < float(low):
        raise invalid(key, value, f"Value must be at least {low}")
    if high != NULL and value > float(high):
        raise invalid(key, value, f"Value must be no more than {high}")


def _check_one_of(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    known = settings["validStrings"].split(",")
    any_case = key.check.startswith("CaseInsensitive")
    if (str(value).upper() if any_case else value) not in known:
        raise invalid(key, value, f"String must be one of{' (case insensitive)' if any_case else ''}: {', '.join(known)}")


def _check_list(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    known = [word for word in settings["validStrings"].split(",") if word]
    if not value and settings["isEmptyAllowed"] != "true":
        valid = f"[{', '.join(known)}]" if known else "any non-empty value"
        raise ConfigValueError(f"Configuration '{key.name}' must not be empty. Valid values include: {valid}")
    for word in value:
        if not word:
            raise ConfigValueError(f"Configuration '{key.name}' values must not be empty.")
        if known and word not in known:
            raise invalid(key, word, f"String must be one of: {', '.join(known)}")


def _check_not_empty(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    if value == "":
        raise invalid(key, value, "String must be non-empty")


def _check_gzip_level(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise invalid(key, value, "Value must be between 1 and 9 or equal to -1")


def no_check(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    """Any value fits: one that is set is never null."""


def _check_throttled(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    if value and not (value[0].strip(JAVA_BLANKS) == "*" or all(re.fullmatch(r"[0-9]+:[0-9]+", word) for word in value)):
        form = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        raise invalid(key, value, f"{key.name} must be the literal '*' or a list of replicas in the following format: {form}")


def _check_offset_reset(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, str)
    start, _, duration = value.partition(":")
    if value in ("earliest", "latest") or (start == "by_duration" and _is_duration(duration)):
        return
    form = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    raise invalid(key, value, f"Invalid value `{value}` for configuration {key.name}. {form}")


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None and not text.startswith("-") and any(letter.isdigit() for letter in text)


_CHECKS: Final[Mapping[str, Check]] = {
    "Range": _check_range,
    "ValidString": _check_one_of,
    "CaseInsensitiveValidString": _check_one_of,
    "ValidList": _check_list,
    "NonEmptyString": _check_not_empty,
    "LambdaValidator": _check_gzip_level,
    "NonNullValidator": no_check,
    "ThrottledReplicaListValidator": _check_throttled,
    "Validator": _check_offset_reset,
}
