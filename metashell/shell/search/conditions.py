"""--where as commands take it: what was typed, as tests, and what is said of it in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from metashell.checks import BITS
from metashell.options.values import did_you_mean
from metashell.shell.carets import CaretError
from metashell.shell.context import STATUS_FAILED
from metashell.shell.search.expressions import parse_where
from metashell.shell.search.logic import And
from metashell.shell.search.predicates import Names, Predicate, where_predicate
from metashell.shell.search.subjects import ROW_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metashell.shell.context import Context
    from metashell.shell.search.expressions import Where
    from metashell.shell.search.logic import Tree

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
"""The fields that most questions are about, with a word on each; nodes have all others that `cat` shows too."""


class Conditions:
    """The expressions of one command line. After all nodes `finish` says which names none of them had."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._names = Names()
        self._wheres: list[Where] = []
        self._has_found = False

    def tree(self, text: str) -> Tree[Predicate]:
        """An expression as tests that all must hold. Errors: CaretError."""
        where = parse_where(text)
        self._wheres += where.parts
        return And(tuple(where_predicate(self._ctx, part, self._names) for part in where.parts))

    def counted(self, found: Iterable[Item]) -> Iterator[Item]:
        """Pass on the nodes found; `finish` needs to know whether there were any."""
        for item in found:
            self._has_found = True
            yield item

    def finish(self) -> None:
        """Say what an answer hides: a name that no node had, where nothing was found also a usual one that had no node here, and a
        comparison that met only values of another kind."""
        for name in self._names.asked:
            if name not in self._names.seen and not (self._has_found and name in FIELDS):
                near = "" if name in FIELDS else did_you_mean(name, [*FIELDS])
                self._ctx.complain(f"{self._ctx.command}: --where: no node here has {name!r}{near}", STATUS_FAILED)
        for where in self._wheres:
            for comparison in where.comparisons:
                if complaint := comparison.complaint:
                    self._ctx.complain_of(CaretError(f"--where: {complaint}", where.text, comparison.index), STATUS_FAILED)
