"""Orders of Java's and Kafka's hash tables, as a real TimelineHashMap and HashMap of 4.3.1 gave them.
Expressions of client metrics, as a real java.util.regex.Pattern takes them."""

from __future__ import annotations

import random
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.java import bucket_count, hash_order, string_hash_order, table_order
from metashell.quorum.controller.java import is_java_pattern, timeline_order
from tests.java import run_program

TIMELINE = {
    1: "0",
    3: "2 0 1",
    5: "2 0 4 1 3",
    6: "5 0 2 4 1 3",
    8: "5 0 2 7 4 1 6 3",
    11: "0 5 10 2 7 4 9 1 6 3 8",
    14: "13 0 5 10 2 7 12 4 9 1 6 11 3 8",
    19: "13 0 18 5 10 2 15 7 12 4 17 9 1 14 6 11 3 16 8",
}


@pytest.mark.parametrize("count", TIMELINE)
def test_partitions_come_as_from_kafkas_table(count: int) -> None:
    assert " ".join(map(str, timeline_order(range(count)))) == TIMELINE[count]


def test_a_change_of_a_full_table_makes_it_larger() -> None:
    assert timeline_order(range(5))[0] == 2
    assert timeline_order(range(5), was_changed=True)[0] == 0


def test_small_numbers_come_ascending_and_large_ones_by_bucket() -> None:
    assert hash_order((5, 3, 9, 3)) == (3, 5, 9)
    assert hash_order((3000, 1, 2)) == (1, 2, 3000)
    assert hash_order((16, 1, 0)) == (16, 0, 1)


@given(st.lists(st.integers(-3, 40) | st.integers(65_530, 65_545), max_size=40), st.sampled_from((1, 16, 64, 1 << 17)))
def test_the_short_way_gives_the_order_of_the_table(ids: list[int], capacity: int) -> None:
    distinct = dict.fromkeys(ids)
    assert hash_order(ids, capacity) == tuple(table_order(distinct, int, bucket_count(capacity, len(distinct))))


def test_names_come_by_their_hashes() -> None:
    assert string_hash_order(("nope", "group.version")) == ("group.version", "nope")


_PIECES = (
    r"a ¦ z ¦ 0 ¦ 9 ¦ - ¦ ^ ¦ $ ¦ . ¦ | ¦ ( ¦ ) ¦ [ ¦ ] ¦ [ ¦ ] ¦ ( ¦ ) ¦ { ¦ } ¦ {2} ¦ {1,2} ¦ {3,} ¦ {2,1} ¦ , ¦ * ¦ + ¦ ? ¦ "
    r"\ ¦ \d ¦ \w ¦ \p{L} ¦ \p{Alpha} ¦ \pL ¦ \px ¦ \Q ¦ \E ¦ (?: ¦ (?= ¦ (?! ¦ (?<= ¦ (?<! ¦ (?<n> ¦ (?<m> ¦ (?> ¦ (?i) ¦ "
    r"(?i: ¦ (?-i) ¦ (? ¦ \k<n> ¦ \1 ¦ \b ¦ \B ¦ \A ¦ \z ¦ \Z ¦ \G ¦ \R ¦ \X ¦ \h ¦ \x41 ¦ \x{41} ¦ \x4 ¦ \u0041 ¦ \u00 ¦ \01 ¦ "
    r"\08 ¦ \0400 ¦ \cA ¦ && ¦ & ¦ \- ¦ \] ¦ \[ ¦ \. ¦ \y ¦ \y ¦ \e ¦ \N{DIGIT ONE} ¦ é ¦ \p{IsLatin} ¦ \b{g} ¦ > ¦ < ¦ = ¦   ¦ "
    r"# ¦ \_ ¦ [a-z] ¦ [^a] ¦ [a&&[^b]] ¦ \p{}"
)
PIECES = _PIECES.split(" ¦ ")
KNOWN_BITS = (Path(__file__).parent / "java" / "patterns.hex").read_text().replace("\n", "")
KNOWN = [digit == "1" for digit in f"{int(KNOWN_BITS, 16):0{4 * len(KNOWN_BITS)}b}"]
"""Of the first expressions that are drawn, those which Java takes."""


def expressions(count: int) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choice(PIECES) for _ in range(chance.randint(1, 7))) for _ in range(count)]


def test_an_expression_is_taken_or_refused_as_java_did() -> None:
    drawn = expressions(len(KNOWN))
    assert [text for text, is_one in zip(drawn, KNOWN, strict=True) if is_one != is_java_pattern(text)] == []


@pytest.mark.slow
def test_an_expression_is_taken_or_refused_as_by_java() -> None:
    drawn = expressions(20_000)
    lines = "".join(b64encode(text.encode()).decode() + "\n" for text in drawn)

    answers = run_program(Path(__file__).parent / "java" / "Patterns.java", stdin=lines.encode()).decode().splitlines()

    assert [answer == "ok" for answer in answers[: len(KNOWN)]] == KNOWN
    differing = [(text, answer) for text, answer in zip(drawn, answers, strict=True) if (answer == "ok") != is_java_pattern(text)]
    assert not differing


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("", True),
        ("[0-9]+(?i)x", True),
        ("\\p{Alpha}++", True),
        ("(?<year>\\d{4})-\\k<year>", True),
        ("(?P<year>x)", False),
        ("a{", False),
        ("[z-a]", False),
        ("\\", False),
        ("a{99999999999}", False),
        ("(" * 5000, False),
        ("(?x) a # (", True),
    ],
)
def test_what_java_has_and_python_has_not(text: str, is_one: bool) -> None:
    assert is_java_pattern(text) is is_one
