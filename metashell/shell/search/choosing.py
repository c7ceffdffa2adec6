"""What `ls` and `count` take of --where: the nodes for which all expressions hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.shell.search.conditions import Conditions
from metashell.shell.search.finding import Search
from metashell.shell.search.logic import And
from metashell.shell.search.predicates import TESTS
from metashell.shell.search.subjects import PARTITION, Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metashell.image import TopicImage
    from metashell.nodes import Directory, Node
    from metashell.shell.context import Context
    from metashell.shell.search.finding import Found
    from metashell.shell.search.globs import Match


class Choice:
    """The nodes that pass. At the end `finish` says which names of the expressions no node had."""

    def __init__(self, ctx: Context, texts: Sequence[str]) -> None:
        self._ctx = ctx
        self._conditions = Conditions(ctx)
        self._tree = And(tuple(map(self._conditions.tree, texts)))
        self._search = Search(ctx, self._tree)
        self.finish = self._conditions.finish

    def holds(self, path: str, node: Node) -> bool:
        """Whether one node passes."""
        return any(self._conditions.counted([node] if self._search.holds(path, node) else []))

    def listed(self, path: str, directory: Directory) -> Iterator[Node]:
        """The children of a directory that pass."""
        return self._conditions.counted(self._search.listed(path, directory))

    def below(self, matches: Iterable[Match]) -> Iterator[Found]:
        """The matches, and all below them, that pass."""
        return self._conditions.counted(self._search.below(matches))

    def partitions(self, matches: Iterable[Match]) -> tuple[dict[bytes, TopicImage], dict[bytes, set[int]]]:
        """The topics at and below the matches of which partitions pass, and the numbers of these."""
        topics: dict[bytes, TopicImage] = {}
        only: dict[bytes, set[int]] = {}
        search = Search(self._ctx, And((TESTS["-type"].make(self._ctx, PARTITION), self._tree)))
        for path, node in self._conditions.counted(search.below(matches)):
            place = Subject(self._ctx, path, node).place
            assert place is not None
            topic, number = place
            topics[topic.id] = topic
            only.setdefault(topic.id, set()).add(number)
        return topics, only
