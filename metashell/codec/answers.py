"""What an answer says as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.codec.compiler import Entity
from metashell.codec.error_codes import NONE

_LISTS: dict[type[Entity], tuple[str, ...]] = {}
"""By the class of an answer, or of a part of one, its lists."""


def first_error(answer: Entity | None) -> int:
    """The error code of an answer: its own, else the first one in its parts; NONE where there is none."""
    if answer is None:
        return NONE
    code: int = getattr(answer, "error_code", NONE)
    if code != NONE:
        return code
    for name in _lists_of(answer):
        for part in getattr(answer, name) or ():
            if not isinstance(part, Entity):
                break
            if (code := first_error(part)) != NONE:
                return code
    return NONE


def all_errors(answer: Entity) -> Iterator[int]:
    """The error code of every item of an answer, NONE for those that went well; the answer's own alone where that is an error."""
    code: int | None = getattr(answer, "error_code", None)
    if code:
        yield code
        return
    is_whole = True
    for name in _lists_of(answer):
        for part in getattr(answer, name) or ():
            if not isinstance(part, Entity):
                break
            for found in all_errors(part):
                is_whole = False
                yield found
    if is_whole and code is not None:
        yield code


def _lists_of(answer: Entity) -> tuple[str, ...]:
    kind = type(answer)
    names = _LISTS.get(kind)
    if names is None:
        plain = kind()
        fields: tuple[str, ...] = kind.__slots__
        names = _LISTS[kind] = tuple(name for name in fields if name != "unknown_tags" and getattr(plain, name) == ())
    return names
