"""The name that Kafka gives to the owner of a client certificate: its subject as RFC 2253 writes it, the last part first.

It is read from the certificate's bytes, because Java writes the parts that RFC 2253 does not name (such as an e-mail address) by number and
as hex of their bytes.

Source: javax.security.auth.x500.X500Principal.getName, sun.security.x509.AVA.toRFC2253String; X.690.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

_SHORT: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF-8, printable, teletex, IA5, general and BMP texts; Java reads the bytes of them all as UTF-8."""
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_VERSION: Final = 0xA0
_ESCAPED: Final = frozenset(',=+<>#;"\\')


class _Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The distinguished name of the subject of a certificate in DER. Errors: ValueError."""
    try:
        (outer,) = _elements(certificate)
        fields = list(_elements(next(_elements(outer.content)).content))
        # The version may be missing; then come serial number, algorithm, issuer, validity, subject.
        return distinguished_name(fields[5 if fields[0].tag == _VERSION else 4].whole)
    except (IndexError, StopIteration):
        raise ValueError("an element of the certificate is missing") from None


def distinguished_name(name: bytes) -> str:
    """A name in DER as RFC 2253 writes it. Errors: ValueError."""
    (sequence,) = _elements(name)
    parts = [each for each in _elements(sequence.content) if each.tag == _SET]
    if sequence.tag != _SEQUENCE:
        raise ValueError("the name is no sequence")
    return ",".join("+".join(map(_assertion, _elements(part.content))) for part in reversed(parts))


def _elements(data: bytes) -> Iterator[_Element]:
    """What stands one after the other. Errors: ValueError."""
    at = 0
    while at < len(data):
        start = at
        if at + 2 > len(data):
            raise ValueError("an element of the certificate ends early")
        tag, size = data[at], data[at + 1]
        at += 2
        if size == 0x80:
            raise ValueError("an element of the certificate has no length")
        if size > 0x80:
            count = size - 0x80
            size, at = int.from_bytes(data[at : at + count], "big"), at + count
        if at + size > len(data):
            raise ValueError("an element of the certificate ends early")
        at += size
        yield _Element(tag, data[at - size : at], data[start:at])


def _assertion(element: _Element) -> str:
    key, value = _elements(element.content)
    number = _number(key.content)
    short = _SHORT.get(number)
    if short is None or value.tag not in _TEXTS:
        return f"{short or number}=#{value.whole.hex()}"
    return f"{short}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _number(content: bytes) -> str:
    """An object identifier with its dots."""
    numbers, value = [], 0
    for byte in content:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2) if numbers else 0
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]] if numbers else []))


def _escaped(value: str) -> str:
    text = "".join("\\00" if char == "\0" else f"\\{char}" if char in _ESCAPED else char for char in value)
    inner = text.strip(" \r")
    if not inner:
        return "".join(f"\\{char}" for char in text)
    begin = text.index(inner)
    end = begin + len(inner)
    return "".join(f"\\{char}" for char in text[:begin]) + inner + "".join(f"\\{char}" for char in text[end:])
