"""Names of nodes: every text has one component, and reads back from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.nodes.names import (
    DEFAULT_ENTITY,
    entity_escape,
    entity_unescape,
    is_uuid_text,
    name_escape,
    name_unescape,
    part_escape,
    sorted_names,
    utf16_key,
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
