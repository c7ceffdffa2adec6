"""JSON that people and tools hand us: what does not parse is shown with line and caret, what is wrong is named by its place."""

from __future__ import annotations

import json
from typing import Any, Final

from metashell.errors import UsageError

_SHOWN_MAX: Final = 100


class JsonTextError(UsageError):
    """A text that is no JSON: the message begins with file, line and column; `excerpt` is the line, and below it a caret.

    `first_line` is that of the text in its file.
    """

    def __init__(self, source: str, text: str, index: int, message: str, first_line: int = 1) -> None:
        # Where only blanks are left, the last line that has something shows what is missing.
        index = min(index, len(text.rstrip()))
        begin = text.rfind("\n", 0, index) + 1
        column = index - begin
        super().__init__(f"{source}:{text.count(chr(10), 0, begin) + first_line}:{column + 1}: {message}", source)
        shift = max(0, column - _SHOWN_MAX // 2)
        shown = text[begin:].split("\n", 1)[0].rstrip("\r")[shift : shift + _SHOWN_MAX]
        self.excerpt = (shown.replace("\t", " "), " " * (column - shift) + "^")


class _TwiceError(Exception):
    """A key that an object has twice."""


def parse_json(text: str, source: str, first_line: int = 1) -> Any:
    """The value of a JSON text, which begins at a line of its source.

    Errors: JsonTextError; UsageError for no text, and for a key that an object has twice.
    """
    if not text.strip():
        raise UsageError(f"{source}: empty", source)
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise JsonTextError(source, text, error.pos, _lowered(error.msg), first_line) from None
    except _TwiceError as error:
        key = str(error)
        raise UsageError(f"{source}: an object has the key {json.dumps(key, ensure_ascii=False)} twice", source) from None
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", source) from None
    except ValueError as error:
        # An integer with more digits than Python converts.
        raise UsageError(f"{source}: {error}", source) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise _TwiceError(key)
            seen.add(key)
    return found


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def member(value: Any, key: str, kind: type, place: str, *, source: str) -> Any:
    """A field of an object. Errors: UsageError that names its place, for one that is missing or of another kind."""
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {place or 'the text'} is not an object", source)
    path = f"{place}.{key}" if place else key
    if key not in value:
        raise UsageError(f"{source}: {path} is missing", source)
    found = value[key]
    if not isinstance(found, kind) or isinstance(found, bool):
        words = {int: "a number", str: "a text", list: "an array"}[kind]
        raise UsageError(f"{source}: {path} is {_shown(found)}, not {words}", source)
    return found


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
