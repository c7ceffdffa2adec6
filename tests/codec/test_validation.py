"""Values of settings as a real ConfigDef reads them."""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from struct import pack
from typing import NamedTuple

import pytest

from metashell.codec.codes import ConfigType
from metashell.codec.java import java_text
from metashell.codec.validation import ConfigValueError, Value, check_value, host_matches, is_range, parse_host_range, parse_value
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


# ---- hosts of access control entries: what is a range, what it holds, and Kafka's words for what is none


RANGES = Path(__file__).parent / "java" / "HostRanges.java"
V4 = ("0", "10", "255", "256", "01", "1", "300", "128")
V6 = (
    *("::", "::1", "2001:db8::", "fe80::1", "::ffff:10.0.0.1", "::10.1.2.3", "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:8", "::ffff:1:2", "[::1]"),
    *("fe80::1%3", "fe80::1%", "00001::", "::010.1.2.3", "1::2:3:4:5:6:7:8", "::1.2.3", "[::1", "::1]", ":1::", "1:", ":::", "12345::"),
    *("g::", "::G", "1:2:3:4:5:6:1.2.3.4", "::1.2.3.256", "[]", "[fe80::1%2]", "10.0.0.1:9"),
)
PREFIXES = ("0", "8", "32", "33", "64", "128", "129", "", "08", "+8", "-1", "99999999999", " 8", "100", "8.0")


@pytest.mark.parametrize(
    ("host", "error"),
    [
        ("10.1.2.3/33", "Value [33] not in range [0,32]"),
        ("256.0.0.0/8", "Value [256] not in range [0,255]"),
        ("not-a-host/8", "Could not parse [not-a-host/8]"),
        ("10.0.0.0/+8", "Could not parse [10.0.0.0/+8]"),
        ("10.0.0.0/8/8", "Could not parse [10.0.0.0/8/8]"),
        ("10.0.0.0/255.0.0.0", "Could not parse [10.0.0.0/255.0.0.0]"),
        ("10.0.0.\u0660/8", "Could not parse [10.0.0.\u0660/8]"),
        ("::ffff:10.0.0.1/96", "Could not parse [::ffff:10.0.0.1] - not an IPv6 address"),
        ("2001:db8::/129", "Could not parse [2001:db8::/129] - prefix length must be between 0 and 128"),
        ("::1/", "Could not parse [::1/] - invalid prefix length"),
        ("g::/8", "Could not parse [g::]"),
    ],
)
def test_what_is_no_range_is_refused_in_kafkas_words(host: str, error: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_host_range(host)

    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("host", "address", "is_in"),
    [
        ("10.1.2.3/16", "10.1.0.0", True),
        ("10.1.2.3/16", "10.1.255.255", True),
        ("10.1.2.3/16", "10.2.0.0", False),
        ("10.1.2.3/16", "10.0.255.255", False),
        ("010.0.0.0/08", "10.9.9.9", True),
        ("0.0.0.0/0", "0.0.0.0", False),
        ("0.0.0.0/0", "0.0.0.1", True),
        ("::/0", "0:0:0:0:0:0:0:0", True),
        ("::1/128", "0:0:0:0:0:0:0:1", True),
        ("::1", "0:0:0:0:0:0:0:1", False),
        ("[2001:db8::]/32", "2001:db8:ffff:0:0:0:0:1", True),
        ("fe80::1%eth0/64", "fe80:0:0:0:0:0:0:2%eth1", True),
        ("::/0", "10.0.0.1", False),
        ("0.0.0.0/0", "0:0:0:0:0:0:0:1", False),
        ("10.0.0.0/33", "10.0.0.0", False),
        ("10.0.0.0/33", "10.0.0.0/33", True),
        ("*", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.10", False),
    ],
)
def test_an_entry_is_about_the_addresses_that_its_host_holds(host: str, address: str, is_in: bool) -> None:
    assert host_matches(host, address) is is_in


@pytest.mark.slow
def test_ranges_are_read_and_hold_what_kafka_says() -> None:
    chance = random.Random(1276)
    rows = [_row(chance) for _ in range(6000)]

    told = run_program(RANGES, stdin="".join(f"{host}\t{address}\n" for host, address in rows).encode()).decode().splitlines()

    assert [f"{host} {address} {_answer(host, address)}" for host, address in rows] == [
        f"{host} {address} {answer}" for (host, address), answer in zip(rows, told, strict=True)
    ]
    assert sum(answer == "\ttrue" for answer in told) > 1000


def _answer(host: str, address: str) -> str:
    try:
        found = parse_host_range(host)
    except ValueError as error:
        return f"{error}\tfalse"
    assert is_range(host)
    return f"\t{str(found.holds(address)).lower()}"


def _row(chance: random.Random) -> tuple[str, str]:
    """A host and an address: half of them ranges with addresses near their ends, half of them spoilt texts."""
    if chance.random() < 0.5:
        return f"{_text(chance)}/{chance.choice(PREFIXES)}", _text(chance)
    if chance.random() < 0.5:
        number = chance.choice([0, 1, chance.getrandbits(32), (1 << 32) - 1])
        return f"{IPv4Address(number)}/{chance.randint(0, 33)}", str(IPv4Address(number ^ 1 << chance.randint(0, 31)))
    number = chance.choice(
        [0, 1, chance.getrandbits(128), (1 << 128) - 1, chance.getrandbits(40), 0xFFFF_0000_0000 + chance.getrandbits(32)]
    )
    text = str(IPv6Address(number))
    host = f"{chance.choice([text, text.upper(), f'[{text}]', IPv6Address(number).exploded])}/{chance.randint(0, 129)}"
    return host, IPv6Address(number ^ 1 << chance.randint(0, 127)).exploded


def _text(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return ".".join(chance.choice(V4) for _ in range(chance.choice([4] * 12 + [3, 5])))
    return chance.choice(V6)
