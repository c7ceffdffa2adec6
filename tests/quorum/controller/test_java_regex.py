"""Expressions of client metrics, as a real java.util.regex.Pattern takes them."""

from __future__ import annotations

import random
from base64 import b64encode
from pathlib import Path

import pytest

from metashell.quorum.controller.java import is_java_pattern
from tests.java import run_program

PIECES = (
    *("a", "z", "0", "9", "-", "^", "$", ".", "|", "(", ")", "[", "]", "[", "]", "(", ")", "{", "}", "{2}", "{1,2}", "{3,}", "{2,1}", ","),
    *("*", "+", "?", "\\", "\\d", "\\w", "\\p{L}", "\\p{Alpha}", "\\pL", "\\px", "\\Q", "\\E", "(?:", "(?=", "(?!", "(?<=", "(?<!"),
    *("(?<n>", "(?<m>", "(?>", "(?i)", "(?i:", "(?-i)", "(?", "\\k<n>", "\\1", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\G", "\\R", "\\X"),
    *(
        "\\h",
        "\\x41",
        "\\x{41}",
        "\\x4",
        "\\u0041",
        "\\u00",
        "\\01",
        "\\08",
        "\\0400",
        "\\cA",
        "&&",
        "&",
        "\\-",
        "\\]",
        "\\[",
        "\\.",
        "\\y",
    ),
    *(
        "\\y",
        "\\e",
        "\\N{DIGIT ONE}",
        "\u00e9",
        "\\p{IsLatin}",
        "\\b{g}",
        ">",
        "<",
        "=",
        " ",
        "#",
        "\\_",
        "[a-z]",
        "[^a]",
        "[a&&[^b]]",
        "\\p{}",
    ),
)


@pytest.mark.slow
def test_an_expression_is_taken_or_refused_as_by_java() -> None:
    chance = random.Random(1)
    drawn = ["".join(chance.choice(PIECES) for _ in range(chance.randint(1, 7))) for _ in range(20_000)]
    lines = "".join(b64encode(text.encode()).decode() + "\n" for text in drawn)

    answers = run_program(Path(__file__).parent / "java" / "Patterns.java", stdin=lines.encode()).decode().splitlines()

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
