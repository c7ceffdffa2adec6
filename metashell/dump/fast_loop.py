"""The tight loop over the records of a batch (see `codec/usual_records.py`), one per form of line.

Whatever is not framed as metadata logs are makes it give up, and the caller reads the same records again with every check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from metashell.codec import usual_records
from metashell.codec.usual_records import GAVE_UP

__all__ = ["GAVE_UP", "SEGMENT_RECORDS", "FastLoop", "Made", "ValueText", "ValueTexts", "make_loop"]

SEGMENT_RECORDS = 1 << 14
"""Records that are formatted between two looks at how much text is waiting."""

ValueText = Callable[[bytes, int, int], str]
ValueTexts = dict[bytes, tuple[ValueText | None, str]]
"""The first three bytes of a value (frame version, type, version) -> what writes its body, and the text before it.

None for the writer leaves the record out.
"""
Item = TypeVar("Item")


class Made(dict[bytes, Item]):
    """A dictionary whose items are made when they are first asked for; `make` raises for a key that has none."""

    def __init__(self, make: Callable[[bytes], Item]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: bytes) -> Item:
        made = self[key] = self.make(key)
        return made


FastLoop = Callable[[bytes, int, int, int, int, str, ValueTexts, Callable[[str], None]], int]
"""`(buf, at, first, count, base_offset, middle, texts, append)` -> the index after the last record, or GAVE_UP.

Writes records `first` to `first + count` of a batch; `middle` is the text that is the same for all its records.
"""

_SKIP = "if body is None: continue\n"


def make_loop(line: str, may_skip: bool = False, head: str = "") -> FastLoop:
    """The loop that appends `line`, an expression over its local names, for each record.

    The value's text is `body(buf, start + 3, end)`, what goes before it `before`; `value_size` is twice the size; `head`
    is a text that is the same for the whole file.
    """
    body = f"body, before = texts[buf[start : start + 3]]\n{_SKIP if may_skip else ''}append({line})"
    loop: FastLoop = usual_records.make_loop(
        body,
        parameters="base_offset middle texts append",
        each={"offset": "range(base_offset + first, base_offset + first + count)"},
        names={"head": head},
    )
    return loop
