"""Where in a JSON text something stands: a line and a caret for what does not parse, a path for what does and is wrong."""

from __future__ import annotations

import json
from typing import Any

from metashell.errors import UsageError

_AROUND = 60


def parse_json(text: str, source: str) -> Any:
    """The value of a JSON text. Errors: UsageError in one line, with line, column and the place marked."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise UsageError(f"{source}:{error.lineno}:{error.colno}: {error.msg}: {_marked(text, error.pos)}", source) from None
    except _TwiceError as error:
        raise UsageError(f"{source}: key {json.dumps(str(error), ensure_ascii=False)} occurs twice in one object", source) from None
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply", source) from None


class _TwiceError(Exception):
    """A key that an object has twice."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _marked(text: str, place: int) -> str:
    """The text around a place, on one line, with `>>>` before it."""
    start = max(text.rfind("\n", 0, place) + 1, place - _AROUND)
    end = text.find("\n", place)
    end = min(len(text) if end < 0 else end, place + _AROUND)
    return f"{text[start:place].lstrip()}>>>{text[place:end].rstrip() or 'end'}"
