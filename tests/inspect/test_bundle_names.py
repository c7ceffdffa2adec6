"""Aliases are one for each name, tell nothing, and are matched by the same patterns."""

from __future__ import annotations

from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from metashell.inspect.bundle_names import KEPT, Aliases

INTERNAL = [name for kind, name in KEPT if kind == "topic"]
TEXT = st.text(alphabet="_ct.-ao", max_size=6)
NAMES = st.one_of(TEXT, st.sampled_from(INTERNAL), st.builds(lambda name, cut: name[:cut], st.sampled_from(INTERNAL), st.integers(0, 20)))


def aliases(patterns: list[str] | set[str] = frozenset(), seed: int = 1) -> Aliases:  # type: ignore[assignment]
    return Aliases(Random(seed).randrange, patterns=[("topic", pattern) for pattern in patterns], kept=KEPT)


@given(st.lists(NAMES, max_size=8), st.sets(NAMES, max_size=6), st.integers(0, 9))
@example(["__consum-x", "__transaction_state"], {"__", "__t", "__consumer"}, 1)
@example(["orders", "orders-eu", "ordersx"], {"orders", "orders-", "o", ""}, 1)
def test_a_pattern_matches_what_it_matched_and_no_two_names_become_one(names: list[str], patterns: set[str], seed: int) -> None:
    dealt = aliases(patterns, seed)
    names = [*names, *patterns, *INTERNAL]
    other = {name: dealt.name("topic", name) for name in names}
    for pattern in patterns:
        replaced = dealt.pattern("topic", pattern)
        for name in names:
            assert other[name].startswith(replaced) == name.startswith(pattern), (name, pattern, other[name], replaced)
        for wider in patterns:
            assert replaced.startswith(dealt.pattern("topic", wider)) == pattern.startswith(wider)
    assert len(set(other.values())) == len(set(names))


def test_a_name_of_kafkas_stays_and_another_shows_nothing_of_itself() -> None:
    dealt = aliases({"ord"})
    assert dealt.name("topic", "__consumer_offsets") == "__consumer_offsets"
    assert dealt.name("topic", "orders").startswith(dealt.pattern("topic", "ord"))
    assert "ord" not in dealt.name("topic", "orders")
    assert dealt.name("topic", "orders") == dealt.name("topic", "orders") != dealt.name("user", "orders")


def test_numbers_do_not_follow_the_order_in_which_names_are_asked_for_and_differ_each_time() -> None:
    names = [f"t{number}" for number in range(200)]
    first, second = ([dealt.name("topic", name) for name in names] for dealt in (aliases(seed=1), aliases(seed=2)))
    assert first != sorted(first) and first != second


def test_a_kind_with_more_names_than_digits_gets_more_digits() -> None:
    dealt = aliases()
    assert len({dealt.name("rack", str(number)) for number in range(1200)}) == 1200


def test_what_was_dealt_is_told_by_kind_and_name() -> None:
    dealt = aliases()
    alias = dealt.name("topic", "b"), dealt.name("topic", "a")
    assert list(dealt.dealt()) == [("topic", "a", alias[1]), ("topic", "b", alias[0])]
