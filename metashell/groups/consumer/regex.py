"""Regular expressions of RE2/J, by which members subscribe to topics: full matches, in a time that is bounded for each character.

The pattern is a client's, so it never reaches Python's `re`, where some would not end, and its size is bounded before it is read.
Source: the syntax page of RE2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metashell.groups.consumer.regex_parser import (
    ASSERT,
    CHAR,
    EMPTY,
    TOO_LARGE,
    Node,
    RegexSyntaxError,
    parse,
)

RegexError = RegexSyntaxError
LONGEST: Final = 2_000
"""Characters of a pattern. RE2/J has no such bound, nor the next one: there, each group has its own thread's time to lose."""
LARGEST: Final = 2_000
"""Steps that a pattern may come to: each character of a topic's name costs as many at most."""
_MEMO: Final = 200_000
"""States in all sets that are remembered."""


class Regex:
    """A pattern that was read once. Errors: RegexError with RE2/J's words for what is no pattern.

    Shape: a step is a node that takes a character or looks around, with the steps that follow it; a split has no node.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise RegexSyntaxError(TOO_LARGE)
        self._nodes: list[Node | None] = []
        self._next: list[tuple[int, ...]] = []
        self._end = self._add(None, ())
        self._begin = self._compile(parse(pattern), self._end, 1)
        self._memo: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._remembered = 0

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        states = self._closure((self._begin,), "", text[:1])
        for at, char in enumerate(text, 1):
            if not states:
                return False
            states = self._step(states, char, text[at : at + 1])
        return self._end in states

    def _step(self, states: frozenset[int], char: str, after: str) -> frozenset[int]:
        key = (states, char, _kind(after))
        found = self._memo.get(key)
        if found is None:
            taken = [
                follow for state in states if (node := self._nodes[state]) is not None and node.takes(char) for follow in self._next[state]
            ]
            if self._remembered >= _MEMO:
                self._memo.clear()
                self._remembered = 0
            found = self._memo[key] = self._closure(taken, char, after)
            self._remembered += len(states) + len(found) + 1
        return found

    def _closure(self, states: Iterable[int], before: str, after: str) -> frozenset[int]:
        """Where one gets without taking a character: steps that take one, and the end."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            node = self._nodes[state]
            if state == self._end or (node is not None and node.kind == CHAR):
                found.add(state)
            elif node is None or node.holds(before, after):
                waiting += self._next[state]
        return frozenset(found)

    def _add(self, node: Node | None, follow: tuple[int, ...]) -> int:
        if len(self._nodes) >= LARGEST:
            raise RegexSyntaxError(TOO_LARGE)
        self._nodes.append(node)
        self._next.append(follow)
        return len(self._nodes) - 1

    def _compile(self, node: Node, follow: int, copies: int) -> int:
        """The first step of a node after which comes `follow`; counted repetitions around it make so many copies of it."""
        if node.kind in (CHAR, ASSERT):
            return self._add(node, (follow,))
        if node.kind == EMPTY:
            return follow
        if node.kind == "sequence":
            for part in reversed(node.parts):
                follow = self._compile(part, follow, copies)
            return follow
        if node.kind == "choice":
            return self._add(None, tuple(self._compile(part, follow, copies) for part in node.parts))
        return self._repeat(node, follow, copies)

    def _repeat(self, node: Node, follow: int, copies: int) -> int:
        part, least, most = node.parts[0], node.least, node.most
        copies *= max(1, least if most is None else most)
        if copies > LARGEST:
            # Counts inside of counts multiply, also where they repeat nothing.
            raise RegexSyntaxError(TOO_LARGE)
        if most is None:
            loop = self._add(None, ())
            self._next[loop] = (self._compile(part, loop, copies), follow)
            follow = loop
        else:
            for _ in range(most - least):
                follow = self._add(None, (self._compile(part, follow, copies), follow))
        for _ in range(least):
            follow = self._compile(part, follow, copies)
        return follow


def _kind(char: str) -> str:
    """All that a look around can tell of the next character."""
    if char in ("", "\n"):
        return char
    return "w" if char.isascii() and (char.isalnum() or char == "_") else "-"
