"""Hosts of access control entries: what is a range, what it holds, and Kafka's words for what is none."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest

from metashell.codec.validation import host_matches, is_range, parse_host_range
from tests.java import run_program

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
