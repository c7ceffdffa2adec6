"""Comparisons of a field with what is written in an expression: whether the two could ever be compared.

`leader == "4"` is false for every partition, since 4 is no text; an empty answer would read as "there is none". A comparison remembers
what it met, and in the end one that met only what it cannot compare is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

Compare = Callable[[Any, Any], bool]

_TRUTH: Final = "true or false"
_NUMBER: Final = "a number"
_TEXT: Final = "text"
_LIST: Final = "a list"
_OBJECT: Final = "an object"
_ORDERED: Final = frozenset({_NUMBER, _TEXT})


class Comparison:
    """One comparison of the field `name`, written at `index` of the expression, with a constant; `is_left`: the field comes first."""

    def __init__(self, name: str, index: int, symbol: str, constant: object, *, is_left: bool) -> None:
        self.name = name
        self.index = index
        self._symbol = symbol
        self._constant = constant
        self._is_left = is_left
        self._has_met = False
        self._other: object = None

    def remembering(self, compare: Compare) -> Compare:
        """The same comparison, which looks at values until it met one that can be compared."""

        def look(left: object, right: object) -> bool:
            if not self._has_met:
                self._meet(left if self._is_left else right)
            return compare(left, right)

        return look

    @property
    def complaint(self) -> str:
        """Why it never held or always did; empty if it met a value that can be compared, or none at all."""
        if self._has_met or self._other is None:
            return ""
        found, written = self._other, self._constant
        if "in" in self._symbol and not self._is_left and kind_of(found) not in (_LIST, _TEXT, _OBJECT):
            return f"{self.name} is {kind_of(found)} and holds nothing"
        if "in" in self._symbol and self._is_left and kind_of(written) not in (_LIST, _TEXT):
            return f"{json.dumps(written)} is {kind_of(written)} and holds nothing"
        value = _item(found) if "in" in self._symbol and not self._is_left else found
        constant = _item(written) if "in" in self._symbol and self._is_left else written
        if kind_of(value) == kind_of(constant):
            return f"{self.name} is {kind_of(value)}, which has no order"
        verb = "is" if value is found else "holds"
        return f"{self.name} {verb} {kind_of(value)}, not {kind_of(constant)}{_hint(value, constant)}"

    def _meet(self, value: object) -> None:
        can = None if value is None else self._can_compare(value)
        if can:
            self._has_met = True
        elif can is False and (self._other is None or (_is_whole(value) and not _is_whole(self._other))):
            self._other = value

    def _can_compare(self, value: object) -> bool | None:
        """Whether the value and the constant have anything in common; None where that cannot be seen."""
        if self._constant is None:
            return True
        if "in" in self._symbol:
            item, whole = (value, self._constant) if self._is_left else (self._constant, value)
            return _can_hold(whole, item)
        kind, other = kind_of(value), kind_of(self._constant)
        return kind == other and (self._symbol in ("==", "!=") or kind in _ORDERED)


def kind_of(value: object) -> str:
    """The kind of a value, in words."""
    match value:
        case bool():
            return _TRUTH
        case int() | float():
            return _NUMBER
        case str():
            return _TEXT
        case list() | tuple():
            return _LIST
        case None:
            return "null"
    return _OBJECT


def _can_hold(whole: object, item: object) -> bool | None:
    if isinstance(whole, list | tuple):
        return any(each is None or item is None or kind_of(each) == kind_of(item) for each in whole) if whole else None
    return isinstance(item, str) and kind_of(whole) in (_TEXT, _OBJECT)


def _is_whole(value: object) -> bool:
    return isinstance(value, list | tuple)


def _item(value: object) -> object:
    """The first item of a list, to name its kind; any other value itself."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _hint(found: object, written: object) -> str:
    if isinstance(found, int | float) and isinstance(written, str) and written.lstrip("-").isdigit():
        return f": write {written} without quotes"
    if isinstance(found, str) and isinstance(written, int | float) and not isinstance(written, bool):
        return f': write "{written}"'
    return ""
