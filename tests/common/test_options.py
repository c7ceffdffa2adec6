"""Words to values."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.common.options import DECODERS, convert_value, past_ms
from metashell.inspect.dump.kafka_records import class_decoder
from metashell.inspect.dump.own_members import class_member


@pytest.mark.parametrize(
    ("type_name", "text", "value"),
    [
        ("int", "7", 7),
        ("integer", "-7", -7),
        ("int32", "-2147483648", -(1 << 31)),
        ("size", "5242880", 5242880),
        ("size", "64k", 64 << 10),
        ("size", "128MiB", 128 << 20),
        ("size", "1g", 1 << 30),
        ("range", "7..42", (7, 42)),
        ("range", "7..", (7, None)),
        ("range", "..42", (None, 42)),
        ("range", "7", (7, 7)),
        ("time", "1760000000000", 1760000000000),
        ("time", "2026-01-01", 1767225600000),
        ("time", "2026-01-01T00:00:00Z", 1767225600000),
        ("time", "2026-01-01T01:00:00.500+01:00", 1767225600500),
        ("str", "any thing", "any thing"),
        ("decoder-class", "Integer", "org.apache.kafka.tools.api.IntegerDecoder"),
        ("decoder-class", "StringDecoder", "org.apache.kafka.tools.api.StringDecoder"),
        ("decoder-class", "org.apache.kafka.tools.api.LongDecoder", "org.apache.kafka.tools.api.LongDecoder"),
    ],
)
def test_a_word_becomes_the_value_that_its_type_says(type_name: str, text: str, value: object) -> None:
    assert convert_value(type_name, text) == value


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("int", "-7"),
        ("int", "٣"),
        ("int", ""),
        ("integer", "7.5"),
        ("int32", "2147483648"),
        ("size", "12 parsecs"),
        ("size", "-1"),
        ("range", ".."),
        ("range", "9..7"),
        ("range", "a..b"),
        ("time", "yesterday"),
        ("time", "123"),
        ("regex", "("),
    ],
)
def test_a_word_that_does_not_fit_is_named_in_the_error(type_name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        convert_value(type_name, text)
    assert str(caught.value).startswith(repr(text))


@pytest.mark.parametrize("digits", ["9223372036854775808", "9" * 20, "9" * 5000])
@pytest.mark.parametrize("type_name", ["int", "integer", "int32", "java-integer", "optional-int", "size", "range", "time"])
def test_a_number_that_nothing_can_count_to_is_refused(type_name: str, digits: str) -> None:
    with pytest.raises(UsageError, match=r"^could not convert" if type_name == "java-integer" else "^'"):
        convert_value(type_name, digits)


@pytest.mark.parametrize("type_name", ["int", "integer", "size", "time"])
def test_the_largest_number_is_one(type_name: str) -> None:
    assert convert_value(type_name, "9223372036854775807") == (1 << 63) - 1


def test_how_long_ago_may_be_longer_than_a_year() -> None:
    assert past_ms("-9999h", 9999 * 3_600_000 + 5) == past_ms("9999h", 9999 * 3_600_000 + 5) == 5
    for text in ("9999999d", "-40000d"):
        with pytest.raises(UsageError, match="nor how long ago"):
            past_ms(text, 0)


def test_a_regex_finds_what_it_says() -> None:
    pattern = convert_value("regex", "or.er")
    assert pattern.search("an order")  # type: ignore[attr-defined]


def test_each_decoder_class_is_one_that_dump_log_has_in_both_forms() -> None:
    for name in DECODERS:
        full = convert_value("decoder-class", name)
        assert isinstance(full, str)
        class_member("key", full)
        class_decoder(full)
    with pytest.raises(UsageError, match="'Foo' is not one of String, Integer, Long, Default"):
        convert_value("decoder-class", "Foo")
