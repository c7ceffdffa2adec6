"""Names of nodes, each read back to its text, and Java's forms of text."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.nodes.names import (
    DEFAULT_ENTITY,
    double_text,
    entity_escape,
    entity_unescape,
    is_uuid_text,
    list_text,
    name_escape,
    name_unescape,
    optional_text,
    parse_int,
    part_escape,
    sorted_names,
    utc_time_text,
    utf16_key,
    version_range_text,
)

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=20)
HOSTILE = st.text(alphabet="%/.a2F\x00\x1b\x85\u202e\ud800\ud83d<>default()\\", max_size=12)
TEXTS = ANY_TEXT | HOSTILE | st.sampled_from(["", ".", "..", "%", "%%", "%2F", "<default>", "%3Cdefault%3E", "..."])


@given(TEXTS)
def test_every_text_reads_back_from_its_component(text):
    assert name_unescape(name_escape(text)) == text


@given(TEXTS)
def test_a_component_is_never_empty_nor_dots_nor_holds_a_slash_or_a_control_character(text):
    name = name_escape(text)
    assert name not in ("", ".", "..")
    assert not any(character == "/" or ord(character) < 32 or 127 <= ord(character) < 160 for character in name)


@given(TEXTS | st.none())
def test_every_entity_reads_back_and_only_the_default_one_is_called_so(text):
    assert entity_unescape(entity_escape(text)) == text
    assert (entity_escape(text) == DEFAULT_ENTITY) == (text is None)


@given(TEXTS)
def test_a_part_of_a_quota_entity_holds_no_parenthesis_or_backslash_and_reads_back(text):
    part = part_escape(text)
    assert not set("()\\/") & set(part)
    assert part == "" if text == "" else name_unescape(part) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", "orders"),
        ("with.dots_and-dashes", "with.dots_and-dashes"),
        ("a/b", "a%2Fb"),
        ("100%", "100%25"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("...", "..."),
        ("", "%"),
        ("\x1b[31m", "%1B[31m"),
        ("\x85", "%C2%85"),
        ("\u202ecod", "%E2%80%AEcod"),
        ("Zürich 日本", "Zürich 日本"),
    ],
)
def test_names_are_escaped_only_where_a_path_or_a_terminal_needs_it(text, name):
    assert name_escape(text) == name


@pytest.mark.parametrize(("name", "text"), [("%61%62", "ab"), ("%c3%BC", "ü"), ("%zz", "%zz"), ("50%", "50%"), ("%FF", "%FF"), ("%", "")])
def test_any_character_may_be_written_as_an_escape_and_what_is_none_stays(name, text):
    assert name_unescape(name) == text


@given(st.lists(TEXTS))
def test_names_are_in_the_order_of_utf16_units(names):
    assert sorted_names(names) == sorted(names, key=utf16_key)


def test_a_supplementary_character_sorts_before_one_beyond_the_surrogates():
    assert sorted_names(["\uff5e", "\U0001f600", "10", "2"]) == ["10", "2", "\U0001f600", "\uff5e"]


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("Uj5wn_FqTXirEASvVZRY1w", True),
        ("Uj5wn_FqTXirEASvVZRY1w==", True),
        ("Uj5wn_FqTXirEASvVZRY1w=", False),
        ("Uj5wn+FqTXirEASvVZRY1w", False),
        ("Uj5wn_FqTXirEASvVZRY1", False),
        ("Uj5wn_FqTXirEASvVZRY1w\n", False),
        ("", False),
    ],
)
def test_ids_are_read_as_java_reads_them(name, valid):
    assert is_uuid_text(name) is valid


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
