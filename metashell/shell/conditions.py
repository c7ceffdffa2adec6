"""Tests joined by `and`, `or` and `not`, parsed to a tree from the words of `find` and from `--where`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from metashell.common.errors import UsageError
from metashell.common.options import Option, convert_value, did_you_mean, flag
from metashell.metadata.checks import BITS
from metashell.shell.context import STATUS_FAILED
from metashell.shell.expressions import parse_where
from metashell.shell.node_fields import ROW_FIELDS
from metashell.shell.predicates import Names, Predicate, where_predicate
from metashell.shell.words import CaretError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metashell.shell.context import Context
    from metashell.shell.expressions import Where


Item = TypeVar("Item")

FIELDS: Final = {
    "path": "the path of the node",
    "name": "its last component",
    "type": "topic, partition, broker ...",
    "topic": "the name of a topic, or of a partition's",
    "partitions": "how many a topic has",
    "partition": "the number of a partition",
    "racks": "the racks of its replicas",
    "brokers": "the brokers of a topic's replicas",
    "leaders": "the brokers that lead a topic's partitions",
    "configs": "the settings that a topic or a broker has of its own",
    "rack": "the rack of a broker",
    "state": "active, fenced, shutting_down; leaderless, under_replicated",
    "fenced": "whether a broker is fenced",
    "value": "the value of a leaf",
    "entries": "how many names a directory has",
    **dict.fromkeys(ROW_FIELDS, "a field of partitions"),
    **dict.fromkeys(BITS, "whether a partition is, and how many of a topic are"),
}
"""The most common fields, each with a description. Nodes also have all other fields that `cat` shows."""


class Conditions:
    """The expressions of one command line. After all nodes, `finish` reports the names that none of them had."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._names = Names()
        self._wheres: list[Where] = []
        self._has_found = False

    def tree(self, text: str) -> Tree[Predicate]:
        """Return an expression as tests that must all hold. Errors: CaretError."""
        where = parse_where(text)
        self._wheres += where.parts
        return And(tuple(where_predicate(self._ctx, part, self._names) for part in where.parts))

    def counted(self, found: Iterable[Item]) -> Iterator[Item]:
        """Pass on the nodes found, and note for `finish` whether there are any."""
        for item in found:
            self._has_found = True
            yield item

    def finish(self) -> None:
        """Report why an answer may mislead: a name that no node had, and a comparison that met only values of another kind.

        A usual name is reported only if nothing was found.
        """
        for name in self._names.asked:
            if name not in self._names.seen and not (self._has_found and name in FIELDS):
                near = "" if name in FIELDS else did_you_mean(name, [*FIELDS])
                self._ctx.complain(f"{self._ctx.command}: --where: no node here has {name!r}{near}", STATUS_FAILED)
        for where in self._wheres:
            for comparison in where.comparisons:
                if complaint := comparison.complaint:
                    self._ctx.complain_of(CaretError(f"--where: {complaint}", where.text, comparison.index), STATUS_FAILED)


Leaf = TypeVar("Leaf")
Other = TypeVar("Other")


class Test(NamedTuple):
    """One test: its option, its value (None for a flag), and its index among all words."""

    option: Option
    value: object
    word: int


@dataclass(frozen=True, slots=True)
class Not(Generic[Leaf]):
    """A negation: true if its part is false."""

    part: Tree[Leaf]


@dataclass(frozen=True, slots=True)
class And(Generic[Leaf]):
    """A conjunction: true if all parts are true, and without parts."""

    parts: tuple[Tree[Leaf], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[Leaf]):
    """A disjunction: true if any part is true."""

    parts: tuple[Tree[Leaf], ...]


Tree: TypeAlias = Leaf | Not[Leaf] | And[Leaf] | Or[Leaf]

EVERYTHING: Final[And[Test]] = And(())
NOT: Final = ("!", "-not")
AND: Final = ("-and",)
OR: Final = ("-or",)
OPERATOR_OPTIONS: Final = (
    flag("-not", "--not", help="the next test must not hold; also !"),
    flag("-and", "--and", help="both sides must hold, as without it"),
    flag("-or", "--or", help="one side must hold; ( ) keep together what belongs together"),
)
_NESTED_MAX: Final = 100
Words = list[str]


def holds(tree: Tree[Leaf], decide: Callable[[Leaf], bool | None]) -> bool | None:
    """Return the value of a tree, or None if it depends on leaves for which `decide` returns None."""
    if isinstance(tree, Not):
        found = holds(tree.part, decide)
        return None if found is None else not found
    if isinstance(tree, And | Or):
        stops_at = isinstance(tree, Or)
        is_open = False
        for part in tree.parts:
            found = holds(part, decide)
            if found is stops_at:
                return found
            is_open = is_open or found is None
        return None if is_open else not stops_at
    return decide(tree)


def leaves(tree: Tree[Leaf]) -> list[Leaf]:
    """Return all leaves in order."""
    if isinstance(tree, Not):
        return leaves(tree.part)
    if isinstance(tree, And | Or):
        return [leaf for part in tree.parts for leaf in leaves(part)]
    return [tree]


def mapped(tree: Tree[Leaf], change: Callable[[Leaf], Tree[Other]]) -> Tree[Other]:
    """Return the tree with each leaf replaced by another tree."""
    if isinstance(tree, Not):
        return Not(mapped(tree.part, change))
    if isinstance(tree, And):
        return And(tuple(mapped(part, change) for part in tree.parts))
    if isinstance(tree, Or):
        return Or(tuple(mapped(part, change) for part in tree.parts))
    return change(tree)


def read_words(words: Sequence[str], tests: dict[str, Option], others: Sequence[Option]) -> tuple[Words, Tree[Test]]:
    """Return the words outside the tree, and the tree of tests. The former are paths, which come first, and other options with values.

    Errors: CaretError at the faulty word.
    """
    reader = _Reader(words, tests, {name: option for option in others for name in option.names})
    return reader.rest, reader.tree


class _Reader:
    """A single pass through the words; `rest` and `tree` are its results."""

    def __init__(self, words: Sequence[str], tests: dict[str, Option], others: dict[str, Option]) -> None:
        self._words = words
        self._tests = tests
        self._others = others
        self._at = 0
        self._depth = 0
        self.rest: Words = []
        self._pieces = self._separate()
        self._next = 0
        self.tree: Tree[Test] = self._alternatives() if self._pieces else EVERYTHING
        if self._next < len(self._pieces):
            raise self._error("`)` without a `(` before it", self._pieces[self._next])

    def _separate(self) -> list[Test | int]:
        """Return the tests, and the indices of the words that join them."""
        pieces: list[Test | int] = []
        while self._at < len(self._words):
            index = self._at
            word = self._words[index]
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            self._at += 1
            if word == "--" and not pieces:
                self.rest += self._words[index:]
                break
            if word in ("(", ")", *NOT, *AND, *OR) or word in ("--not", "--and", "--or"):
                pieces.append(index)
            elif name in self._tests:
                pieces.append(self._test(self._tests[name], index, value if equals else None))
            elif name in self._others:
                self._other(self._others[name], index, bool(equals))
            elif word[:1] in ("(", "!"):
                raise self._error(f"{word!r} is no test; a path that begins so is written ./{word}", index)
            elif word.startswith("-") or not pieces:
                self.rest.append(word)
            else:
                raise self._error(f"{word!r} stands after a test: paths come first", index)
        return pieces

    def _test(self, option: Option, index: int, value: str | None) -> Test:
        if option.is_flag:
            if value is not None:
                raise self._error(f"{option.names[0]} takes no value", index)
            return Test(option, None, index)
        word = self._value(option, index) if value is None else value
        try:
            return Test(option, convert_value(option.type, word, option.choices), index)
        except CaretError:
            raise
        except UsageError as error:
            raise self._error(f"option {option.names[0]}: {error}", self._at - 1) from None

    def _other(self, option: Option, index: int, has_value: bool) -> None:
        self.rest.append(self._words[index])
        if option.is_flag or has_value:
            return
        word = self._value(option, index)
        if option.dest == "output" and word.startswith("-"):
            raise self._error(f"-o takes a form ({', '.join(option.choices)}); alternatives are joined by -or", index)
        self.rest.append(word)

    def _value(self, option: Option, index: int) -> str:
        if self._at == len(self._words):
            raise self._error(f"option {option.names[0]} needs a value", index)
        self._at += 1
        return self._words[self._at - 1]

    def _alternatives(self) -> Tree[Test]:
        parts = [self._all()]
        while self._is_at(OR):
            self._next += 1
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self) -> Tree[Test]:
        parts = [self._one()]
        while self._next < len(self._pieces) and not self._is_at((*OR, ")")):
            self._next += self._is_at(AND)
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self) -> Tree[Test]:
        is_not = False
        while self._is_at(NOT):
            is_not = not is_not
            self._next += 1
        if self._next == len(self._pieces):
            raise self._error("a test is missing at the end", len(self._words))
        piece = self._pieces[self._next]
        self._next += 1
        part = piece if isinstance(piece, Test) else self._bracket(piece)
        return Not(part) if is_not else part

    def _bracket(self, index: int) -> Tree[Test]:
        if self._words[index] != "(":
            raise self._error(f"a test is missing before {self._words[index]}", index)
        self._depth += 1
        if self._depth > _NESTED_MAX:
            raise self._error(f"more than {_NESTED_MAX} brackets", index)
        tree = self._alternatives()
        self._depth -= 1
        if not self._is_at((")",)):
            raise self._error("`(` is not closed", index)
        self._next += 1
        return tree

    def _is_at(self, words: Sequence[str]) -> bool:
        piece = self._pieces[self._next] if self._next < len(self._pieces) else None
        return isinstance(piece, int) and self._words[piece].replace("--", "-") in words

    def _error(self, message: str, at: int | Test) -> CaretError:
        """Return an error at a word, shown within the whole line."""
        from shlex import quote

        shown = [word if word in ("(", ")", "!") else quote(word) for word in self._words]
        index = at.word if isinstance(at, Test) else at
        return CaretError(message, " ".join(shown), sum(len(word) + 1 for word in shown[:index]))
