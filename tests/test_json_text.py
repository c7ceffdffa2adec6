"""JSON for people and programs."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from metashell.common.forms import compact_json, plain_text, pretty_json
from metashell.common.terminal import colored_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_every_form_is_the_same_json(value):
    assert json.loads(pretty_json(value)) == json.loads(compact_json(value)) == value


def test_a_record_has_a_line_for_each_field_and_short_arrays_stay_on_theirs():
    value = {"replicas": [1, 2, 3], "listener": {"host": "a", "port": 1}, "none": []}
    assert pretty_json(value) == '{\n  "replicas": [1, 2, 3],\n  "listener": {"host": "a", "port": 1},\n  "none": []\n}'


def test_a_long_array_is_broken():
    assert len(pretty_json(["x" * 60, "y" * 60]).splitlines()) == 4


def test_scalars_are_plain():
    assert [plain_text(value) for value in ("a b", True, None, 1.0, 7)] == ["a b", "true", "null", "1.0", "7"]


def test_a_large_text_is_not_coloured():
    assert "\x1b[" in colored_json('{"a": 1}')
    large = json.dumps("x" * 300_000)
    assert colored_json(large) == large
