"""Text as Java reads and shows it: what counts as blank, numbers, and values in a sentence."""

from __future__ import annotations

import re
from typing import Final

JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that String.trim removes."""
_DIGITS = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_LONGEST: Final = 30
_LAST_UNIT: Final = "\uffff"


def java_int(text: str, bits: int = 32) -> int | None:
    """The number of `bits` bits that Integer.parseInt and its like read, None where they throw.

    Any decimal digits of Unicode count, if each is one UTF-16 unit.
    """
    if not _DIGITS.fullmatch(text) or max(text) > _LAST_UNIT:
        return None
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    if len(digits) > _LONGEST:
        # Zeros in front, as many as there may be, do not make a number too large.
        digits = "".join(str(int(digit)) for digit in digits).lstrip("0") or "0"
        if len(digits) > _LONGEST:
            return None
    number = int(sign + digits)
    limit = 1 << bits - 1
    return number if -limit <= number < limit else None


def java_float(text: str) -> float | None:
    """The number that Double.parseDouble reads of a text without blanks around it, None where it throws."""
    found = _DOUBLE.fullmatch(text)
    if found is None:
        return None
    if found["decimal"] is not None:
        value = float(found["decimal"])
    elif found["hex"] is not None:
        try:
            value = float.fromhex(found["hex"])
        except OverflowError:
            value = float("inf")
    else:
        value = float(found["word"])
    return -value if found["sign"] == "-" else value


def is_same_in_any_case(text: str, word: str) -> bool:
    """The same as String.equalsIgnoreCase: each letter is equal in upper or in lower case."""
    return len(text) == len(word) and all(
        one.upper() == other.upper() or one.lower() == other.lower() for one, other in zip(text, word, strict=True)
    )


def java_text(value: object) -> str:
    """A value as Java's string concatenation shows it."""
    if isinstance(value, float):
        from metashell.codec.json_forms import java_double

        return java_double(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def host_address(raw: bytes) -> str:
    """The text of an address of 4 or 16 bytes as InetAddress.getHostAddress gives it, by which access control entries name hosts."""
    if len(raw) == 16 and raw[:12] == _MAPPED:
        raw = raw[12:]
    if len(raw) == 4:
        return ".".join(map(str, raw))
    return ":".join(f"{int.from_bytes(raw[at : at + 2], 'big'):x}" for at in range(0, 16, 2))


_MAPPED: Final = bytes(10) + b"\xff\xff"
