"""The names of certificates' owners, against Java's own X500Principal."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from metashell.net.principal import distinguished_name, subject_of
from tests.java import run_program
from tests.net.certificates import Authority

PROGRAM = Path(__file__).parent / "java" / "Names.java"
KEYS = (
    NameOID.COMMON_NAME,
    NameOID.LOCALITY_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.STATE_OR_PROVINCE_NAME,
    NameOID.STREET_ADDRESS,
    NameOID.DOMAIN_COMPONENT,
    NameOID.USER_ID,
    NameOID.EMAIL_ADDRESS,
    NameOID.SERIAL_NUMBER,
    NameOID.TITLE,
    x509.ObjectIdentifier("2.999.1.70000"),
)
PIECES = ("a", "Duke", "é", "Ж", "\r", "\n", "😀", "\t", "  ", "\0", *' ,+=#;"\\<>.@')
ASCII_TYPES = (_ASN1Type.IA5String, _ASN1Type.PrintableString, _ASN1Type.T61String)
TYPES = (_ASN1Type.UTF8String, _ASN1Type.UTF8String, _ASN1Type.BMPString, *ASCII_TYPES)


def random_name(chance: random.Random) -> x509.Name:
    parts = []
    for _ in range(chance.randint(1, 4)):
        pairs = {}
        for key in chance.sample(KEYS, chance.choice((1, 1, 1, 2))):
            value = "".join(chance.choices(PIECES, k=chance.randint(1, 5)))
            kind = chance.choice(TYPES)
            if kind in ASCII_TYPES:
                value = "".join(char for char in value if char.isascii()) or "x"
            elif kind == _ASN1Type.BMPString:
                value = value.replace("😀", "x")
            pairs[key] = x509.NameAttribute(key, value, kind)
        parts.append(x509.RelativeDistinguishedName(pairs.values()))
    return x509.Name(parts)


def test_the_subject_of_a_certificate_is_found_in_its_bytes() -> None:
    from cryptography.hazmat.primitives.serialization import Encoding

    signed = Authority().sign("alice, of #1", [])
    assert subject_of(signed.certificate.public_bytes(Encoding.DER)) == r"CN=alice\, of \#1,O=Tests"


@pytest.mark.parametrize(
    "data", [b"", b"0", b"0\0", b"0\x05", b"0\x80\0\0", b"0\x84\xff\xff\xff\xff", b"0\x02\x30\x00", b"0\x04\x30\x02\x02\x00"]
)
def test_what_is_no_certificate_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        subject_of(data)


@pytest.mark.slow
def test_javas_own_class_writes_the_same_names() -> None:
    chance = random.Random(3)
    names = [random_name(chance).public_bytes() for _ in range(3000)]
    given = struct.pack(">i", len(names)) + b"".join(struct.pack(">i", len(name)) + name for name in names)
    lines = run_program(PROGRAM, stdin=given).decode("utf-8").split("\n")
    for name, expected in zip(names, lines, strict=False):
        assert distinguished_name(name).replace("\n", "<n>").replace("\r", "<r>") == expected
    assert len(lines) == len(names) + 1
