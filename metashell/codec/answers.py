"""What an answer says as a whole."""

from __future__ import annotations

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
    kind = type(answer)
    names = _LISTS.get(kind)
    if names is None:
        plain = kind()
        fields: tuple[str, ...] = kind.__slots__
        names = _LISTS[kind] = tuple(name for name in fields if name != "unknown_tags" and getattr(plain, name) == ())
    for name in names:
        for part in getattr(answer, name) or ():
            if not isinstance(part, Entity):
                break
            if (code := first_error(part)) != NONE:
                return code
    return NONE
