"""The colours of a terminal, by what they mean: what is bad is red everywhere, and what is unusual yellow.

`Display.paint(role, text)` is the only way to colour, and `Display.joined` puts coloured and plain parts into one line. A painted text
is safe for its terminal already; a plain one beside it is made safe when they are joined, so that no name can bring colours of its own.
"""

from __future__ import annotations

import os
import re
from typing import Final

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Palette = Mapping[str, str]
    """Parameters of SGR (`1;31`) by role; the empty one leaves the text as it is."""

BAD: Final = "bad"
UNUSUAL: Final = "unusual"
GOOD: Final = "good"
DIRECTORY: Final = "directory"
HEADING: Final = "heading"
KEY: Final = "key"
DIM: Final = "dim"
ROLES: Final[dict[str, str]] = {BAD: "31", UNUSUAL: "33", GOOD: "32", DIRECTORY: "1;34", HEADING: "1", KEY: "34", DIM: "2"}
"""Every role, and its colour where the settings have no other."""
PLAIN: Final = "\x1b[0m"


class Painted(str):
    """Text with colours, safe for its terminal; `plain` is the same without them, which is what takes room."""

    __slots__ = ("plain", "sgr")

    plain: str
    sgr: str

    def __new__(cls, text: str, plain: str, sgr: str = "") -> Painted:
        self = super().__new__(cls, text)
        self.plain = plain
        self.sgr = sgr
        return self


def painted(text: str, sgr: str) -> Painted:
    """The text in a colour."""
    return Painted(f"\x1b[{sgr}m{text}{PLAIN}" if sgr and text else text, text, sgr)


def may_color() -> bool:
    """Whether the environment lets us colour: no NO_COLOR, and a terminal that can."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


_LIMIT = 200_000
_TOKEN = r'("(?:[^"\\]|\\.)*")(\s*:)?|null'


def colored_json(text: str, palette: Palette = ROLES) -> str:
    """JSON text, safe for its terminal, with colours; a large text stays plain, since colouring it takes long."""
    if len(text) > _LIMIT:
        return text
    key, string, null = (palette.get(role, "") for role in (KEY, GOOD, DIM))

    def colored(match: re.Match[str]) -> str:
        if match[1] is None:
            return painted(match[0], null)
        return f"{painted(match[1], key)}{match[2]}" if match[2] else painted(match[1], string)

    return re.sub(_TOKEN, colored, text)
