"""Maps of maps behave as plain dictionaries of dictionaries that are never empty."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from metashell.metadata.image.settings import NestedDelta

KEYS = st.integers(0, 3)


@given(st.lists(st.tuples(KEYS, KEYS, st.none() | st.integers())))
def test_what_is_put_and_dropped_is_what_dictionaries_have(steps: list[tuple[int, int, int | None]]) -> None:
    expected: dict[int, dict[int, int]] = {}
    delta: NestedDelta[int, int, int] = NestedDelta(Map())
    for outer, inner, value in steps:
        if value is None:
            assert delta._drop(outer, inner) == (inner in expected.get(outer, {}))
            expected.get(outer, {}).pop(inner, None)
        else:
            delta._put(outer, inner, value)
            expected.setdefault(outer, {})[inner] = value
        expected = {key: values for key, values in expected.items() if values}
    assert {outer: dict(inner) for outer, inner in delta.apply().items()} == expected
