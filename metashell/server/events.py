"""What an operator wants to see: a line for people that also has a kind and fields for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class Event(str):
    """The line itself, wherever a text is wanted. Shape: `kind` and the keys of `fields` are stable, the text is not."""

    kind: str
    fields: Mapping[str, object]

    def __new__(cls, text: str, kind: str, **fields: object) -> Self:
        made = super().__new__(cls, text)
        made.kind, made.fields = kind, fields
        return made
