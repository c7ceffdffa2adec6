"""Regular expressions of RE2/J, by which members subscribe to topics: full matches, in a time that grows with the text and no faster.

The pattern is a client's, so it never reaches Python's `re`, where some would not end. Source: the syntax page of RE2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metashell.groups.consumer.regex_parser import ASSERT, CHAR, EMPTY, Node, RegexSyntaxError, parse

RegexError = RegexSyntaxError
LARGEST: Final = 20_000
"""Steps that a pattern may come to; RE2/J has no such bound, but takes as long."""
_MEMO: Final = 10_000


class Regex:
    """A pattern that was read once. Errors: RegexError with RE2/J's words for what is no pattern.

    Shape: a step is a node that takes a character or looks around, with the steps that follow it; a split has no node.
    """

    def __init__(self, pattern: str) -> None:
        self._nodes: list[Node | None] = []
        self._next: list[tuple[int, ...]] = []
        self._end = self._add(None, ())
        self._begin = self._compile(parse(pattern), self._end)
        self._memo: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}

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
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            found = self._memo[key] = self._closure(taken, char, after)
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
            raise RegexSyntaxError("invalid repeat count")
        self._nodes.append(node)
        self._next.append(follow)
        return len(self._nodes) - 1

    def _compile(self, node: Node, follow: int) -> int:
        """The first step of a node after which comes `follow`."""
        if node.kind in (CHAR, ASSERT):
            return self._add(node, (follow,))
        if node.kind == EMPTY:
            return follow
        if node.kind == "sequence":
            for part in reversed(node.parts):
                follow = self._compile(part, follow)
            return follow
        if node.kind == "choice":
            return self._add(None, tuple(self._compile(part, follow) for part in node.parts))
        return self._repeat(node, follow)

    def _repeat(self, node: Node, follow: int) -> int:
        part, least, most = node.parts[0], node.least, node.most
        if most is None:
            loop = self._add(None, ())
            self._next[loop] = (self._compile(part, loop), follow)
            follow = loop
        else:
            for _ in range(most - least):
                follow = self._add(None, (self._compile(part, follow), follow))
        for _ in range(least):
            follow = self._compile(part, follow)
        return follow


def _kind(char: str) -> str:
    """All that a look around can tell of the next character."""
    if char in ("", "\n"):
        return char
    return "w" if char.isascii() and (char.isalnum() or char == "_") else "-"
