"""Values of a server's configuration: parsed and checked one by one, as Kafka's definition of each key says.

Source: org.apache.kafka.common.config.ConfigDef; the keys are in config_keys.tsv, made from KafkaConfig itself.
"""

from __future__ import annotations

from functools import cache
from os.path import dirname, join
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from metashell.codec import config_def
from metashell.codec.config_def import NULL, REQUIRED, Check, ConfigValueError, Definition, Value
from metashell.codec.config_types import ConfigType
from metashell.storage.errors import ConfigError
from metashell.storage.quorum_servers import check_bootstrap_servers, voter_ports

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        return None if key.default == NULL else parse_value(key, key.default)

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
        elif key.default == REQUIRED:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
    return values


def parse_value(key: ConfigKey, text: str) -> Value:
    """The value that `text` means. Errors: ConfigError in Kafka's words."""
    try:
        return config_def.parse_value(key, text)
    except ConfigValueError as error:
        raise ConfigError(str(error)) from None


def check_value(key: ConfigKey, value: Value) -> None:
    """Check a value as its key demands. Errors: ConfigError in Kafka's words."""
    try:
        config_def.check_value(key, value, _CHECKS)
    except ConfigValueError as error:
        raise ConfigError(str(error)) from None


def invalid(key: ConfigKey, value: object, why: str) -> ConfigError:
    """Kafka's sentence about a bad value; a password is never repeated."""
    return ConfigError(str(config_def.invalid(key, value, why)))


def _check_quorum(key: Definition, value: Value, settings: Mapping[str, str]) -> None:
    assert isinstance(value, tuple)
    check = voter_ports if key.check == "ControllerQuorumVotersValidator" else check_bootstrap_servers
    check(value)


_CHECKS: Final[dict[str, Check]] = {
    "ControllerQuorumVotersValidator": _check_quorum,
    "ControllerQuorumBootstrapServersValidator": _check_quorum,
}
