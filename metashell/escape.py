"""Making text from data safe for a terminal: what could move the cursor, recolour, reorder or hide is shown as an escape."""

from __future__ import annotations

import re

# C0 without tab and line feed, DEL, C1, line separators, marks that reorder text, and lone surrogates (which cannot be written).
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def _hex_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def terminal_text(text: str) -> str:
    """The text with every character that a terminal might obey shown as `\\x1b` or `\\u202e`; tabs and line ends stay."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_hex_escape, text)


def terminal_line(text: str) -> str:
    """The same for text that must stay on one line: tabs and line ends are escaped too."""
    return terminal_text(text).replace("\n", "\\n").replace("\t", "\\t")


def terminal_json(text: str) -> str:
    """JSON text with the same characters as JSON escapes, so that it is still the same JSON."""
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_json_escape, text)


def writable(text: str) -> str:
    """The text without what UTF-8 cannot carry (a lone surrogate, from an argument that is not UTF-8)."""
    return text if text.isascii() else _SURROGATES.sub(_hex_escape, text)
