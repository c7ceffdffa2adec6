"""The settings that Kafka knows are data from Kafka itself, and a value is taken or refused as Kafka does."""

from __future__ import annotations

import pytest

from metashell.quorum.controller.decision import ApiError
from metashell.quorum.controller.settings import check_value, config_keys, parse_value
from tools import gen_config_definitions


@pytest.mark.slow
@pytest.mark.parametrize("kind", gen_config_definitions.KINDS)
def test_the_definitions_are_those_of_the_real_kafka(kind: str) -> None:
    assert (gen_config_definitions.FOLDER / f"{kind}.tsv").read_text(encoding="utf-8") == gen_config_definitions.definitions(kind)


@pytest.mark.parametrize("kind", gen_config_definitions.KINDS)
def test_every_default_passes_its_own_check(kind: str) -> None:
    for key in config_keys(kind).values():
        value = parse_value(key, key.default)
        if value is not None:
            check_value(key, value)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("retention.ms", "x", "Not a number of type LONG"),
        ("retention.ms", "9223372036854775808", "Not a number of type LONG"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("cleanup.policy", "shred", "String must be one of: compact, delete"),
        ("preallocate", "maybe", "Expected value to be either true or false"),
    ],
)
def test_a_bad_value_is_refused_in_kafkas_words(name: str, text: str, why: str) -> None:
    key = config_keys("topic")[name]

    with pytest.raises(ApiError) as raised:
        check_value(key, parse_value(key, text))

    assert raised.value.message == f"Invalid value {text} for configuration {name}: {why}"


def test_a_password_is_never_shown() -> None:
    key = next(key for key in config_keys("broker").values() if key.is_sensitive)._replace(check="ValidString validStrings=x")

    with pytest.raises(ApiError) as raised:
        check_value(key, parse_value(key, "secret"))

    assert "secret" not in str(raised.value.message)
