"""Values of a server's configuration: parsed and checked one by one, as Kafka's definition of each key says.

Source: org.apache.kafka.common.config.ConfigDef; the keys are in config_keys.tsv, made from KafkaConfig itself.
"""

from __future__ import annotations

import re
from functools import cache
from os.path import dirname, join
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never, cast

from metashell.codec.config_types import ConfigType
from metashell.storage.errors import ConfigError
from metashell.storage.java import JAVA_BLANKS, java_int
from metashell.storage.quorum_servers import check_bootstrap_servers, voter_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Value = str | int | float | bool | tuple[str, ...] | None

_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_BITS = {"SHORT": 16, "INT": 32, "LONG": 64}
_REQUIRED = "(required)"
_NULL = "(null)"


class ConfigKey(NamedTuple):
    """One key: its type, default and check, as text."""

    name: str
    type: ConfigType
    default: str
    check: str


@cache
def config_keys() -> dict[str, ConfigKey]:
    """Every key by its name, in the order in which Kafka checks them."""
    with open(join(dirname(__file__), "config_keys.tsv"), encoding="utf-8") as file:
        text = file.read()
    rows = (line.split("\t") for line in text.split("\n") if line and line[0] != "#")
    return {name: ConfigKey(name, cast(ConfigType, type), default, check) for name, type, default, check in rows}


class ConfigValues:
    """The checked values of one configuration; of a key that it does not set, the default."""

    def __init__(self, originals: Mapping[str, str]) -> None:
        self.originals = dict(originals)
        self._set = _checked(self.originals)

    def is_set(self, name: str) -> bool:
        return name in self.originals

    def value(self, name: str) -> Value:
        if name in self._set:
            return self._set[name]
        key = config_keys()[name]
        return None if key.default == _NULL else parse_value(key, key.default)

    def text(self, name: str) -> str | None:
        value = self.value(name)
        assert value is None or isinstance(value, str)
        return value

    def number(self, name: str) -> int:
        value = self.value(name)
        assert isinstance(value, int)
        return value

    def maybe_number(self, name: str) -> int | None:
        return None if self.value(name) is None else self.number(name)

    def words(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        assert isinstance(value, tuple)
        return value

    def maybe_words(self, name: str) -> tuple[str, ...] | None:
        return None if self.value(name) is None else self.words(name)


def _checked(originals: Mapping[str, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key in config_keys().values():
        if key.name in originals:
            values[key.name] = parse_value(key, originals[key.name])
            check_value(key, values[key.name])
        elif key.default == _REQUIRED:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
    return values


def parse_value(key: ConfigKey, text: str) -> Value:
    """The value that `text` means.

    Errors: ConfigError in Kafka's words.
    """
    trimmed = text.strip(JAVA_BLANKS)
    match key.type:
        case "BOOLEAN":
            if trimmed.lower() not in ("true", "false"):
                raise invalid(key, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case "SHORT" | "INT" | "LONG" | "DOUBLE":
            number = _double(trimmed) if key.type == "DOUBLE" else java_int(trimmed, _BITS[key.type])
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


def _double(text: str) -> float | None:
    if not _DOUBLE.fullmatch(text):
        return None
    return float(text.rstrip("fFdD") if text[-1] in "fFdD" and "Inf" not in text else text)


def invalid(key: ConfigKey, value: object, why: str) -> ConfigError:
    """Kafka's sentence about a bad value; a password is never repeated."""
    shown = "[hidden]" if key.type == "PASSWORD" else _java_text(value)
    return ConfigError(f"Invalid value {shown} for configuration {key.name}: {why}")


def _java_text(value: object) -> str:
    if isinstance(value, float):
        from metashell.codec.json_forms import java_double

        return java_double(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_value(key: ConfigKey, value: Value) -> None:
    """Check a value as its key demands.

    Errors: ConfigError in Kafka's words.
    """
    name, _, rest = key.check.partition(" ")
    if name:
        settings = dict(word.split("=", 1) for word in rest.split(" ") if word)
        _CHECKS[name](key, value, settings)


def _check_range(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int | float)
    if settings["min"] != _NULL and value < float(settings["min"]):
        raise invalid(key, value, f"Value must be at least {settings['min']}")
    if settings["max"] != _NULL and value > float(settings["max"]):
        raise invalid(key, value, f"Value must be no more than {settings['max']}")


def _check_one_of(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    known = settings["validStrings"].split(",")
    any_case = key.check.startswith("CaseInsensitive")
    if (str(value).upper() if any_case else value) not in known:
        raise invalid(key, value, f"String must be one of{' (case insensitive)' if any_case else ''}: {', '.join(known)}")


def _check_list(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    known = [word for word in settings["validStrings"].split(",") if word]
    if not value and settings["isEmptyAllowed"] != "true":
        valid = f"[{', '.join(known)}]" if known else "any non-empty value"
        raise ConfigError(f"Configuration '{key.name}' must not be empty. Valid values include: {valid}")
    for word in value:
        if not word:
            raise ConfigError(f"Configuration '{key.name}' values must not be empty.")
        if known and word not in known:
            raise invalid(key, word, f"String must be one of: {', '.join(known)}")


def _check_not_empty(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    if value == "":
        raise invalid(key, value, "String must be non-empty")


def _check_gzip_level(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, int)
    if not (1 <= value <= 9 or value == -1):
        raise invalid(key, value, "Value must be between 1 and 9 or equal to -1")


def _check_nothing(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    """A value that is set is never null."""


def _check_quorum(key: ConfigKey, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    check = voter_ports if key.check == "ControllerQuorumVotersValidator" else check_bootstrap_servers
    check(value)


_CHECKS: Final[dict[str, Callable[[ConfigKey, Value, Mapping[str, str]], None]]] = {
    "Range": _check_range,
    "ValidString": _check_one_of,
    "CaseInsensitiveValidString": _check_one_of,
    "ValidList": _check_list,
    "NonEmptyString": _check_not_empty,
    "LambdaValidator": _check_gzip_level,
    "NonNullValidator": _check_nothing,
    "ControllerQuorumVotersValidator": _check_quorum,
    "ControllerQuorumBootstrapServersValidator": _check_quorum,
}
