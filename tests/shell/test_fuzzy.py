"""Names that fit what was typed, in the order in which people want them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from metashell.shell.words import LOOKED_AT, matching

NAMES = sorted(["orders", "orders-eu", "big-orders", "reorders", "ORDERS", "audit.ordering", "o-r-d", "payments"])


def test_prefixes_then_parts_then_characters_in_order() -> None:
    assert matching("ord", NAMES, 9) == ["orders", "orders-eu", "ORDERS", "audit.ordering", "big-orders", "reorders"]
    assert matching("ord", NAMES, 3) == ["orders", "orders-eu", "ORDERS"]
    assert matching("pmts", NAMES, 9) == ["payments"]
    assert matching("", NAMES, 2) == NAMES[:2]
    assert matching("r", NAMES, 9) == ["reorders"]


def test_the_closest_characters_come_first() -> None:
    assert matching("abc", ["a-----b-----c", "a-b-c", "cba"], 9) == ["a-b-c", "a-----b-----c"]


def test_no_more_hits_are_ranked_than_anybody_reads() -> None:
    class Counted(list[str]):
        asked = 0

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            type(self).asked += 1
            return super().__getitem__(index)

    names = Counted(f"topic-{index:06}" for index in range(50_000))
    assert matching("pic-0", names, 5, lambda word, limit: []) == [f"topic-{index:06}" for index in range(5)]
    assert Counted.asked == LOOKED_AT


@given(st.lists(st.text("abAB-.\n(é", max_size=6), max_size=12), st.text("abAB-.(*[é", max_size=4))
def test_what_is_found_has_the_characters_and_the_best_come_first(names: list[str], word: str) -> None:
    found = matching(word, names, 100)
    assert [name for name in found if name.startswith(word)] == [name for name in names if name.startswith(word)]
    loose = re.compile(".*".join(map(re.escape, word.lower())), re.DOTALL)
    assert all(loose.search(name.lower()) for name in found)
    if len(word) > 1:
        assert {name for name in names if word.lower() in name.lower().replace("\n", " ")} <= set(found)
