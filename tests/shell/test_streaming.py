"""Answers are written while the tree is walked: nothing waits for the end, nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

import pytest

from metashell.metadata.nodes.node import Directory, Leaf, Node
from metashell.shell import run_line
from tests.shell.fake_nodes import fake_context

COUNT = 20_000


class Enough(Exception):
    """The reader has what it wanted."""


class ShortReader(StringIO):
    """Takes a number of lines, then no more."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._left = lines

    def write(self, text: str) -> int:
        self._left -= text.count("\n")
        if self._left < 0:
            raise Enough
        return super().write(text)


class Number(Leaf):
    """A leaf whose value is its name."""

    alive = 0

    def __init__(self, name: str) -> None:
        super().__init__(name)
        Number.alive += 1

    def __del__(self) -> None:
        Number.alive -= 1

    def value(self, redact: bool = True) -> str:
        return self.name

    def kafka_text(self, redact: bool = False) -> str:
        return self.name


class Numbers(Directory):
    """Many leaves, made one by one; counts how many were made and how many lived at once."""

    def __init__(self) -> None:
        super().__init__("")
        self.made = 0
        self.alive_max = 0

    def child_names(self) -> Sequence[str]:
        return [f"{index:06}" for index in range(COUNT)]

    def child(self, name: str) -> Node | None:
        self.made += 1
        node = Number(name)
        self.alive_max = max(self.alive_max, Number.alive)
        return node

    def iter_children(self) -> Iterator[Node]:
        for name in self.child_names():
            node = self.child(name)
            assert node is not None
            yield node


LINES = [
    "ls -l /",
    "find /",
    "tree /",
    "ls -o jsonl /",
    "ls -l -o json /",
    "find / -o json",
    "find / -name *99",
    "tree / -o jsonl",
    "cat -o jsonl /*",
]


@pytest.mark.parametrize("line", LINES)
def test_the_first_lines_come_after_a_few_nodes(line):
    root = Numbers()
    ctx = fake_context(out=ShortReader(3))
    ctx.root = root
    with pytest.raises(Enough):
        run_line(ctx, line)
    assert root.made < 500


@pytest.mark.parametrize("line", [*LINES, "find / -o csv", "ls -l -o table /"])
def test_no_more_nodes_live_at_once_than_a_table_looks_at(line):
    root = Numbers()
    ctx = fake_context(out=open("/dev/null", "w"))  # noqa: SIM115 - closed below
    ctx.root = root
    assert run_line(ctx, line) == 0
    ctx.out.close()
    assert root.made == COUNT
    assert root.alive_max < 300
