"""Addresses as people write them."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.net.addresses import Address, AddressMap, host_text, parse_address, parse_addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9092", Address("localhost", 9092)),
        (" 127.0.0.1:1 ", Address("127.0.0.1", 1)),
        ("[::1]:9092", Address("::1", 9092)),
        ("[fe80::1%eth0]:65535", Address("fe80::1%eth0", 65535)),
        ("SASL_SSL://broker-1.example.org:9093", Address("broker-1.example.org", 9093)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":9092", "a:0", "a:65536", "a:999999", "::1:9092", "a b:1", "a:1x", "a:-1", "[]:1"]
)
def test_anything_else_is_a_usage_error_that_repeats_it(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_address(text)
    assert repr(text) in str(caught.value)


def test_a_list_keeps_its_order_and_names_each_once() -> None:
    assert parse_addresses("b:1, a:2,,b:1,[::1]:3") == [Address("b", 1), Address("a", 2), Address("::1", 3)]
    with pytest.raises(UsageError, match="no address"):
        parse_addresses(" , ")


def test_a_map_replaces_what_it_names() -> None:
    mapped = AddressMap.parse("a:1=b:2, [::1]:3=localhost:4")
    assert mapped.resolve(Address("a", 1)) == Address("b", 2)
    assert mapped.resolve(Address("::1", 3)) == Address("localhost", 4)
    assert mapped.resolve(Address("a", 2)) == Address("a", 2)
    with pytest.raises(UsageError, match="HOST:PORT=HOST:PORT"):
        AddressMap.parse("a:1")


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::a%eth0", "fe80:0:0:0:0:0:0:a%eth0"),
        ("", ""),
        ("node-1", "node-1"),
    ],
)
def test_addresses_of_peers_are_written_as_java_does(address: str, text: str) -> None:
    assert host_text(address) == text
