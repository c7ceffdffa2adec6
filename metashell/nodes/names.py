"""Names of nodes: how each voice turns a text from the data into a path component and back.

Kafka's voice uses texts unchanged. Our own percent-escapes what a path cannot hold or a terminal must not
get: `%`, `/`, control, bidirectional and invisible characters, and the names `.` and `..` (`%2E`, `%2E%2E`); the empty
name is a lone `%`. Every escaped name stands for exactly one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from metashell.escape import UNSAFE_CHARACTERS

DEFAULT_ENTITY = "<default>"
"""How the own voice names the default entity of quotas and configs."""

EMPTY_NAME = "%"

_UNSAFE = f"%/\t\n{UNSAFE_CHARACTERS}"
# Patterns as texts, which re compiles at their first use: most commands start and end without any of them.
_ESCAPED = f"[{_UNSAFE}]"
_ESCAPED_IN_ENTITY = f"[{_UNSAFE}()\\\\]"
_ESCAPE_RUN = "(?:%[0-9A-Fa-f]{2})+"
_BEYOND_SURROGATES = "[\ue000-\U0010ffff]"
_UUID_TEXT = "[A-Za-z0-9_-]{22}(?:==)?"


def name_escape(text: str) -> str:
    """The own voice's path component for a text; `name_unescape` gives the text back."""
    if text in (".", ".."):
        return "%2E" * len(text)
    if text.isascii() and text.isprintable() and "%" not in text and "/" not in text:
        return text or EMPTY_NAME
    return re.sub(_ESCAPED, _percent, text)


def name_unescape(name: str) -> str:
    """The text that a path component of the own voice stands for; escapes of any character are understood."""
    if name == EMPTY_NAME:
        return ""
    return re.sub(_ESCAPE_RUN, _unpercent, name) if "%" in name else name


def entity_escape(text: str | None) -> str:
    """The component for the name of an entity, `<default>` for the default one (None); a literal `<default>` is escaped."""
    if text is None:
        return DEFAULT_ENTITY
    return "%3Cdefault%3E" if text == DEFAULT_ENTITY else name_escape(text)


def entity_unescape(name: str) -> str | None:
    """The name of the entity that a component stands for, None for the default one."""
    return None if name == DEFAULT_ENTITY else name_unescape(name)


def part_escape(text: str | None) -> str:
    """A text as it stands between the parentheses of a quota entity's name: no parenthesis or backslash is left."""
    if text is None:
        return DEFAULT_ENTITY
    if text == DEFAULT_ENTITY:
        return "%3Cdefault%3E"
    return re.sub(_ESCAPED_IN_ENTITY, _percent, text)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _unpercent(match: re.Match[str]) -> str:
    raw = bytes.fromhex(match.group().replace("%", ""))
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return match.group()


class NameStyle(NamedTuple):
    """A voice's way with names: `show` makes a component of a text, `parse` the text of a component."""

    show: Callable[[str], str]
    parse: Callable[[str], str]


def _same(text: str) -> str:
    return text


KAFKA_NAMES = NameStyle(_same, _same)
OWN_NAMES = NameStyle(name_escape, name_unescape)


def utf16_key(text: str) -> bytes:
    """A key that orders texts by UTF-16 code units, as Java does."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_names(names: Iterable[str]) -> list[str]:
    """The names in Java's order of text.

    Code points and UTF-16 units differ in order only where a text has characters from U+E000 on, so that
    the usual names are sorted without a key.
    """
    result = list(names)
    joined = "".join(result)
    if joined.isascii() or not re.search(_BEYOND_SURROGATES, joined):
        result.sort()
    else:
        result.sort(key=utf16_key)
    return result


def is_uuid_text(name: str) -> bool:
    """Whether Java's Uuid.fromString reads the name as 16 bytes: 22 base64url characters, padded or not."""
    return re.fullmatch(_UUID_TEXT, name) is not None
