"""Fields of a JSON value that somebody hands us, each checked, and named by its place where it is wrong."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from metashell.errors import UsageError
from metashell.forms import compact_json

_SHOWN_MAX: Final = 40


class Field(NamedTuple):
    """A value and where it lies: in a source as `group.json: line 2`, at a path as `input.members[2].topics`.

    Errors of all methods: UsageError, which names both.
    """

    value: Any
    source: str = ""
    path: str = ""

    @property
    def place(self) -> str:
        return ": ".join(filter(None, (self.source, self.path)))

    def wrong(self, what: str) -> UsageError:
        text = compact_json(self.value)
        shown = text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
        return UsageError(f"{self.place}: {shown} is not {what}")

    def has(self, key: str) -> bool:
        """Whether an object has a key, and not null there."""
        return self.object().get(key) is not None

    def at(self, key: str) -> Field:
        fields = self.object()
        found = Field(fields.get(key), self.source, f"{self.path}.{key}" if self.path else key)
        if key not in fields:
            raise UsageError(f"{found.place} is missing")
        return found

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return self.value

    def items(self) -> list[tuple[str, Field]]:
        return [(key, self.at(key)) for key in self.object()]

    def elements(self) -> list[Field]:
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        return [Field(value, self.source, f"{self.path}[{number}]") for number, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("a text")
        return self.value

    def hex(self) -> bytes:
        try:
            return bytes.fromhex(self.text())
        except ValueError:
            raise self.wrong("bytes in hex") from None

    def optional_text(self, key: str) -> str | None:
        """A text or null, or nothing at all."""
        return self.at(key).text() if self.has(key) else None

    def integer(self, low: int = 0, high: int = 2**31 - 1) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.wrong(f"an integer from {low} to {high}")
        return self.value

    def distinct(self, values: list[Any], what: str) -> None:
        """Errors: UsageError where two of the values that this field holds are equal."""
        seen = set()
        for value in values:
            if value in seen:
                raise UsageError(f"{self.place}: {what} {value} is there twice")
            seen.add(value)
