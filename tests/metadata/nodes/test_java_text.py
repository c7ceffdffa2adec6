"""Java's text forms."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.nodes.names import double_text, list_text, optional_text, parse_int, utc_time_text, version_range_text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("+1", 1),
        ("-1", -1),
        ("-0", 0),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("٣", 3),
        ("２", 2),
        ("2147483648", None),
        ("-2147483649", None),
        ("", None),
        ("+", None),
        ("-", None),
        ("+-1", None),
        (" 1", None),
        ("1 ", None),
        ("1\n", None),
        ("1_0", None),
        ("0x1", None),
        ("²", None),
        ("\U0001d7d9", None),
        ("id", None),
    ],
)
def test_integers_are_read_as_parse_int_reads_them(text, number):
    assert parse_int(text) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.0, "10.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (12.5, "12.5"),
        (1048576.0, "1048576.0"),
        (2500000.0, "2500000.0"),
        (9999999.0, "9999999.0"),
        (9999999.999, "9999999.999"),
        (1e7, "1.0E7"),
        (1.5e7, "1.5E7"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (0.00012345, "1.2345E-4"),
        (-123456789.0, "-1.23456789E8"),
        (1e16, "1.0E16"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e21, "1.0E21"),
        (1.25e-7, "1.25E-7"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_doubles_have_a_fraction_and_an_exponent_only_far_from_one(value, text):
    assert double_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_reads_back_from_its_text(value):
    assert float(double_text(value)) == value


@given(st.floats(min_value=1e-3, max_value=1e7, exclude_max=True))
def test_no_exponent_shows_between_a_thousandth_and_ten_million(value):
    assert "E" not in double_text(value) and "e" not in double_text(value)


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z[UTC]"),
        (-1, "1969-12-31T23:59:59.999Z[UTC]"),
        (1795220498440, "2026-11-21T00:21:38.44Z[UTC]"),
        (1795220498600, "2026-11-21T00:21:38.6Z[UTC]"),
        (1795220498001, "2026-11-21T00:21:38.001Z[UTC]"),
        (951782400000, "2000-02-29T00:00:00Z[UTC]"),
        (253402300800000, "+10000-01-01T00:00:00Z[UTC]"),
        (9223372036854775807, "+292278994-08-17T07:12:55.807Z[UTC]"),
        (-9223372036854775808, "-292275055-05-16T16:47:04.192Z[UTC]"),
        (-62167219200001, "-0001-12-31T23:59:59.999Z[UTC]"),
        (-62167219200000, "0000-01-01T00:00:00Z[UTC]"),
    ],
)
def test_instants_are_written_as_iso_zoned_date_time_in_utc(timestamp_ms, text):
    assert utc_time_text(timestamp_ms) == text


@given(st.datetimes())
def test_instants_of_pythons_calendar_agree_with_it(moment):
    moment = moment.replace(microsecond=0)
    timestamp_ms = int((moment - datetime.datetime(1970, 1, 1)).total_seconds()) * 1000
    assert utc_time_text(timestamp_ms) == f"{moment.isoformat()}Z[UTC]"


def test_lists_optionals_and_ranges():
    assert list_text([1, 2]) == "[1, 2]"
    assert list_text([]) == "[]"
    assert optional_text(None) == "Optional.empty"
    assert optional_text("rack-a") == "Optional[rack-a]"
    assert version_range_text(0, 0) == "0"
    assert version_range_text(7, 32767) == "7+"
    assert version_range_text(7, 30) == "7-30"
