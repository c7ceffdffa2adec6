"""Text as Java reads it: what counts as blank, and as a whole number."""

from __future__ import annotations

import re
from typing import Final

JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
"""What String.trim takes away."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")


def java_int(text: str, bits: int = 32) -> int | None:
    """The number of `bits` bits that Integer.parseInt and its like read, None where they throw."""
    if not _INTEGER.fullmatch(text):
        return None
    limit = 1 << bits - 1
    return int(text) if -limit <= int(text) < limit else None
