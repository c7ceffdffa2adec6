"""How values look in the JSON text of Kafka's message converters.

Compact, int64 as plain numbers, bytes as padded base64, uuids as base64url text, non-ASCII letters as they are.
Source: Kafka's generated `*JsonConverter` classes over Jackson; java.lang.Double.toString.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from math import copysign, isinf, isnan
from typing import Any

from metashell.codec.primitives import kafka_text

try:
    from _json import encode_basestring as _encode_string
except ImportError:  # pragma: no cover - an interpreter without the C accelerator
    from json.encoder import py_encode_basestring as _encode_string

_HEX_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u00([01][0-9a-f])")
STRING_MEMO_LIMIT = 1 << 14
STRING_MEMO_LENGTH_MAX = 256


def string_text(text: str) -> str:
    """A JSON string: Jackson's escapes, so control characters have upper-case hex and `/` and U+007F stay."""
    quoted: str = _encode_string(text)
    if "\\u00" in quoted:
        quoted = _HEX_ESCAPE.sub(lambda match: f"{match[1]}\\u00{match[2].upper()}", quoted)
    return quoted


class StringTexts(dict[bytes, str]):
    """A bounded memo from a string's bytes to its JSON text: names recur all over a log."""

    def __missing__(self, raw: bytes) -> str:
        text = string_text(kafka_text(raw))
        if len(raw) <= STRING_MEMO_LENGTH_MAX:
            if len(self) >= STRING_MEMO_LIMIT:
                self.clear()
            self[raw] = text
        return text


STRING_TEXTS = StringTexts()


def base64_text(raw: bytes) -> str:
    """Bytes as standard base64 with padding."""
    return b2a_base64(raw, newline=False).decode("ascii")


def bytes_text(raw: bytes) -> str:
    """The same as a JSON string."""
    return f'"{base64_text(raw)}"'


def bool_text(value: bool) -> str:
    return "true" if value else "false"


_SMALLEST = 1e-322


def java_double(value: float) -> str:
    """The text of Double.toString: always a fraction, exponent form from 1e7 up and below 1e-3.

    Of all digits that read back as the value the shortest are taken, but two rather than one; JDK 17 prints more of them for some
    values from 1e17 up (JDK-4511638).
    """
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    # Next to 0 a second digit makes a difference: 4.9E-324 and 5E-324 are the same number.
    shortest = f"{abs(value)!r}" if abs(value) > _SMALLEST else f"{abs(value):.1e}"
    mantissa, _, exponent_text = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    exponent = len(whole) - leading_zeros - 1 + int(exponent_text or 0)
    digits = digits.rstrip("0") or "0"
    if -3 <= exponent < 7:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        digits = digits.ljust(exponent + 2, "0")
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def double_json(value: float) -> str:
    """A double in JSON: as Double.toString, with NaN and the infinities as strings."""
    text = java_double(value)
    return text if text[-1].isdigit() else f'"{text}"'


def json_text(value: Any) -> str:
    """JSON values as Kafka's text: compact, with its escapes."""
    match value:
        case None:
            return "null"
        case str():
            return string_text(value)
        case bool():
            return bool_text(value)
        case dict():
            return f"{{{','.join(f'{string_text(name)}:{json_text(item)}' for name, item in value.items())}}}"
        case list():
            return f"[{','.join(map(json_text, value))}]"
        case _:
            return str(value)
