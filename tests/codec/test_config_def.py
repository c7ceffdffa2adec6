"""Values of settings as a real ConfigDef reads them."""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from pathlib import Path
from struct import pack
from typing import NamedTuple

import pytest

from metashell.codec.codes import ConfigType
from metashell.codec.java import java_text
from metashell.codec.validation import ConfigValueError, Value, check_value, parse_value
from tests.java import run_program

TYPES: tuple[ConfigType, ...] = ("BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "PASSWORD")
WORDS = (
    *("", " ", "a,b,,", "a,", ",", " , a ,", ",a", ",,", "a b", "a ,\tb\n,c", "\u00a0a,b", "a\u2003,b", "\x1fa\x1f,\x00b", "a,a,b,a"),
    *("true", "TRUE", " False ", "yes", "1", "t\u0131rue", "FAL\u017fE", "\u00a0true"),
    *(
        "+5",
        "-0",
        "+0",
        "00012",
        "0" * 400 + "7",
        "-" + "0" * 50 + "9",
        "0" * 50,
        "-",
        "+",
        "+-5",
        "5 5",
        "5L",
        "0x10",
        "1_000",
        "1e3",
        "5.0",
    ),
    *("\uff11\uff12", "\u0661\u0662\u0663", "-\u0661", "\U0001d7ce", "\u0661\U0001d7ce", "\u00b2", "\u2460", "\u09e7" * 40, "\u4e00"),
    *("32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "-2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9" * 5000),
    *("Infinity", "-Infinity", "+Infinity", "NaN", "-NaN", "+NaN", "NaNf", "Infinityd", "infinity", "nan", "inf", "INF"),
    *(
        "1.5f",
        "1.5F",
        "1.5d",
        "1.5D",
        "1.5ff",
        "1.",
        ".5",
        ".",
        "1.e3",
        ".5e-3",
        "1e400",
        "-1e400",
        "1e-400",
        "-0.0",
        "-0",
        "1e",
        "1e+",
        "e5",
    ),
    *(
        "0x1p3",
        "0X1P3",
        "0x1.8p1",
        "0x.8p1",
        "0x1",
        "0x1.8",
        "0xp3",
        "0x.p3",
        "0x1p",
        "-0x1p-1",
        "0x1p1024",
        "0x1p-1080",
        "0x1p3f",
        "0x1p+3D",
    ),
    *("0x1.fffffffffffff8p0", "0x1.00000000000008p0", "0x1.000000000000081p0", "0x1p99999999999", "0x0p99999999999", "0x1p-99999999999"),
    *("1e99999999999", "0e99999999999", "1e-99999999999", "1e+5", "1E5", "123456789012345678901234567890", "1,5", "1 f", "f", "d"),
    *("4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623159e308", "1.7976931348623158e308"),
)
ALPHABET = "0123456789" * 3 + "+-.eExXpPfFdDaN,, \t\n\x00\x1f\u00a0\u0661\uff11"


class Key(NamedTuple):
    """A setting for tests."""

    name: str
    type: ConfigType
    check: str = ""


def texts() -> list[str]:
    chance = random.Random(1)
    drawn = ["".join(chance.choice(ALPHABET) for _ in range(chance.randint(1, 6))) for _ in range(3000)]
    return [*WORDS, *drawn]


def shown(value: Value) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} {java_text(value)}"
    if isinstance(value, float):
        # Kafka's bits of what is no number may have a sign.
        return f"{java_text(value)} {int.from_bytes(pack('>d', abs(value) if value != value else value)):x}"
    return java_text(value)


def ours(type: ConfigType, text: str) -> str:
    try:
        value = parse_value(Key("key", type), text)
    except ConfigValueError as error:
        return f"no {error}"
    return "ok [hidden]" if type == "PASSWORD" else f"ok {shown(value)}"


@pytest.mark.slow
def test_every_text_is_read_as_by_the_real_kafka() -> None:
    asked = [(type, text) for type in TYPES for text in texts()]
    lines = "".join(f"{type} {b64encode(text.encode()).decode()}\n" for type, text in asked)

    answers = run_program(Path(__file__).parent / "java" / "ConfigDefParse.java", stdin=lines.encode()).split()

    differing = [
        (type, text, expected, ours(type, text))
        for (type, text), expected in zip(asked, (b64decode(answer).decode() for answer in answers), strict=True)
        if ours(type, text) != expected
    ]
    assert not differing, differing[:20]


@pytest.mark.parametrize(
    ("text", "items"),
    [("a,b,,", 4), ("a,", 2), (",", 2), (" , a ,", 3), (",a", 2), ("", 0), (" ", 0)],
)
def test_an_item_of_a_list_may_be_empty_at_any_place(text: str, items: int) -> None:
    value = parse_value(Key("key", "LIST"), text)

    assert isinstance(value, tuple)
    assert len(value) == items


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,x", None),
        ("a,a", None),
        ("", None),
        ("a,,", "Configuration 'key' values must not be empty."),
        (",", "Configuration 'key' values must not be empty."),
        ("y,", "Invalid value y for configuration key: String must be one of: a, x"),
    ],
)
def test_a_list_is_checked_item_by_item(text: str, why: str | None) -> None:
    key = Key("key", "LIST", "ValidList ValidString validStrings=a,x isEmptyAllowed=true isNullAllowed=false")
    value = parse_value(key, text)

    if why is None:
        check_value(key, value)
        return
    with pytest.raises(ConfigValueError) as raised:
        check_value(key, value)
    assert str(raised.value) == why
