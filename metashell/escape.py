"""Making text from data safe for a terminal: what could move the cursor, recolour, reorder or hide is shown as an escape."""

from __future__ import annotations

import re
from functools import cache

# C0 without tab and line feed, DEL, C1, separators of lines, marks that reorder text or cannot be seen, and lone surrogates.
_UNSEEN = "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
_SURROGATES = "[\ud800-\udfff]"
UNSAFE_CHARACTERS = f"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_UNSEEN}"
"""Characters that must not reach a terminal, as the inside of a character class; without tab and line feed."""
_UNSAFE = f"[{UNSAFE_CHARACTERS}]"
_ESCAPED = r"\\(?:n|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
_ENDS = {"\\n": "\n", "\\t": "\t"}
_BYTE_FIRST, _BYTE_LAST = 0xDC80, 0xDCFF
"""The surrogates by which Python carries a byte of a name that is not UTF-8."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # At its first use: most commands start and end without any.
    return re.compile(pattern)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if _BYTE_FIRST <= code <= _BYTE_LAST:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code < 0xE000:
        # As a JSON escape a half of a pair is refused by many readers; as text all read it.
        return "\\" + _escape(match)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def terminal_text(text: str) -> str:
    """The text with every character that a terminal might obey or hide shown as `\\x1b` or `\\u202e`; tabs and line ends stay."""
    return text if text.isascii() and text.isprintable() else _compiled(_UNSAFE).sub(_escape, text)


def terminal_line(text: str) -> str:
    """The same for text that must stay on one line: tabs and line ends are escaped too."""
    return terminal_text(text).replace("\n", "\\n").replace("\t", "\\t")


def unescaped(text: str) -> str:
    """The text that `terminal_line` shows as this one. The text may also have been meant as it stands."""
    return text if "\\" not in text else _compiled(_ESCAPED).sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    if match[0] in _ENDS:
        return _ENDS[match[0]]
    code = int(match[0][2:], 16)
    return chr(code) if code < 0x110000 else match[0]


def terminal_json(text: str) -> str:
    """JSON text with the same characters as JSON escapes: it is still the same JSON."""
    return text if text.isascii() and text.isprintable() else _compiled(_UNSAFE).sub(_json_escape, text)


def writable(text: str) -> str:
    """The text without what UTF-8 cannot hold: the byte E9 of a name that is not UTF-8 becomes `\\xe9`."""
    return text if text.isascii() else _compiled(_SURROGATES).sub(_escape, text)


def writable_json(text: str) -> str:
    """The same for JSON text, which stays JSON."""
    return text if text.isascii() else _compiled(_SURROGATES).sub(_json_escape, text)
