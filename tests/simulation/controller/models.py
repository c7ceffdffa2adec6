"""What each kind of key does with requests, one after the other: the specification that answers are held against.

A model gives the states that an operation may leave; none where its answer is wrong. Operations named `read` are what was found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from metashell.codec.error_codes import INVALID_PARTITIONS, NONE, RESOURCE_NOT_FOUND, TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION
from tests.simulation.controller.linear import Operation, Step

ANY_ID = b""
"""The id of a topic whose creation had no answer: whatever is found later."""


class Topic(NamedTuple):
    """A topic that exists."""

    id: bytes
    count: int


def topic(state: Topic | None, operation: Operation) -> Iterable[Topic | None]:
    """A topic by name: `create(count)` and `delete()` answer (code, id), `grow(count)` (code, ""); `read()` found a Topic, () for none."""
    name = operation.name
    if name == "read":
        found: Any = operation.answer
        found = None if found == () else Topic(*found)
        return [found] if _same(state, found) else []
    code, id = operation.answer if operation.answer is not None else (NONE, ANY_ID)  # type: ignore[misc]
    if name == "create":
        if code == NONE:
            return [Topic(id, *operation.arguments)] if state is None else []
        return [state] if (state is not None) == (code == TOPIC_ALREADY_EXISTS) else []
    if code == UNKNOWN_TOPIC_OR_PARTITION:
        return [state] if state is None else []
    if state is None:
        return []
    if name == "delete":
        return [None] if (code == NONE and ANY_ID in (id, state.id)) or id == state.id else []
    (count,) = operation.arguments
    if code == NONE:
        return [state._replace(count=count)] if count > state.count else []
    return [state] if code == INVALID_PARTITIONS and count <= state.count else []


def _same(one: Topic | None, other: Topic | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.count == other.count and (one.id == other.id or ANY_ID in (one.id, other.id))


def value(state: str | None, operation: Operation) -> Iterable[str | None]:
    """One key of one resource: `set(value)`, `clear()`, of lists `append(word)`, `subtract(word)`; `read()` found a text, "" for none."""
    match operation.name:
        case "read":
            return [state] if (state or "") == operation.answer else []
        case "set":
            return list(operation.arguments)
        case "clear":
            return [None]
    (word,) = operation.arguments
    words = state.split(",") if state else []
    if operation.name == "append":
        return [",".join(words if word in words else [*words, word])]
    return [",".join([kept for kept in words if kept != word])]


def credential(state: bool, operation: Operation) -> Iterable[bool]:
    """A SCRAM credential: `put()` and `delete()` answer a code; `read()` found it or not."""
    match operation.name:
        case "read":
            return [state] if operation.answer == state else []
        case "put":
            return [True]
    if operation.answer == RESOURCE_NOT_FOUND:
        return [] if state else [state]
    return [False] if state else []


def producer_ids(state: int, operation: Operation) -> Iterable[int]:
    """Blocks of producer ids: `take()` answers (first, count), each block once; `read()` found the next first id."""
    if operation.name == "read":
        return [state] if operation.answer == state else []
    if operation.answer is None:
        return [state + BLOCK]
    first, count = operation.answer  # type: ignore[misc]
    return [state + count] if first == state else []


BLOCK = 1_000
"""How many ids a broker gets at once."""

MODELS: dict[str, tuple[Hashable, Step]] = {
    "topic": (None, topic),
    "config": (None, value),
    "credential": (False, credential),
    "producer ids": (0, producer_ids),
}
"""The first state of each kind of key, and its model."""
