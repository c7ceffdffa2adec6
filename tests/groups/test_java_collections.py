"""The orders of Java's maps. Those of HashMap show in every golden list of classic members; those of Kafka's in the modern ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.java import JavaMap, TimelineMap, string_hash_order

KEYS = st.text(alphabet="abAB é", max_size=4)


@given(st.lists(KEYS, unique=True, max_size=60))
def test_a_map_that_only_grows_is_ordered_as_a_table_of_its_size(keys: list[str]) -> None:
    found: JavaMap[int] = JavaMap()
    for number, key in enumerate(keys):
        found[key] = number
    assert tuple(found) == string_hash_order(keys)


@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=80))
def test_maps_hold_what_a_dictionary_holds(steps: list[tuple[str, bool]]) -> None:
    for kind in (JavaMap, TimelineMap):
        found, model = kind(), dict[str, int]()
        for number, (key, is_added) in enumerate(steps):
            if is_added:
                found[key] = model[key] = number
            else:
                assert found.pop(key, None) == model.pop(key, None)
            assert dict(found) == model and len(found) == len(model)


def test_a_table_that_grew_stays_large() -> None:
    """The hashes of a and p are 97 and 112: in a table of 16 buckets p comes first, in one of 32 a does."""
    found: JavaMap[None] = JavaMap()
    for key in ("a", "p"):
        found[key] = None
    assert list(found) == ["p", "a"]
    others = [f"x{number}" for number in range(11)]
    found.update(dict.fromkeys(others))
    for key in others:
        del found[key]
    assert list(found) == ["a", "p"]
