"""Walks down the tree one node at a time, for `find`, `tree` and `ls -R`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.nodes import Directory
from metashell.shell.paths import ROOT, child_path
from metashell.shell.search.globs import BrokenChildError

TOPICS: Final = "/image/topics"

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.nodes import Node

    Enter = Callable[[Directory], Iterator[Node] | None]


def children(path: str, directory: Directory, *, each_once: bool = False) -> Iterator[Node]:
    """The children that a walk enters: at the root not the second view, which shows the same things again.

    With `each_once` topics are entered by name only: by id those that have no name, because a later topic took it.
    """
    if path == ROOT:
        return (child for child in directory.iter_children() if not child.is_view)
    if each_once and path == TOPICS:
        by_name, by_id = directory.child("byName"), directory.child("byId")
        if isinstance(by_name, Directory) and isinstance(by_id, Directory):
            return iter((by_name,) if by_id.child_count() == by_name.child_count() else (by_name, _Unnamed(by_id, by_name)))
    return directory.iter_children()


def descend(
    path: str,
    node: Node,
    depth_max: int | None = None,
    *,
    each_once: bool = False,
    enter: Enter | None = None,
) -> Iterator[tuple[str, Node, int]]:
    """The node and all below it, parents first, each with its path and depth; `enter` may give other children of a directory."""
    yield path, node, 0
    if not isinstance(node, Directory) or depth_max == 0:
        return

    def below(path: str, directory: Directory) -> Iterator[Node]:
        chosen = None if enter is None else enter(directory)
        return children(path, directory, each_once=each_once) if chosen is None else chosen

    pending: list[tuple[str, Iterator[Node]]] = [(path, below(path, node))]
    while pending:
        above, siblings = pending[-1]
        child = next(siblings, None)
        if child is None:
            pending.pop()
            continue
        here = child_path(above, child.name)
        depth = len(pending)
        yield here, child, depth
        if isinstance(child, Directory) and (depth_max is None or depth < depth_max):
            pending.append((here, below(here, child)))


def entering(wanted: Callable[[Directory], bool]) -> Enter:
    """For `descend`: looks into these directories only."""
    return lambda directory: None if wanted(directory) else iter(())


def directories(path: str, node: Directory) -> Iterator[tuple[str, Directory]]:
    """The directory and all below it, parents first, each with its path; every topic once."""
    yield path, node
    if node.has_directories:
        for child in children(path, node, each_once=True):
            if isinstance(child, Directory):
                yield from directories(child_path(path, child.name), child)


class _Unnamed(Directory):
    """`byId` with the topics only that cannot be reached by name."""

    __slots__ = ("_by_id", "_by_name")

    def __init__(self, by_id: Directory, by_name: Directory) -> None:
        super().__init__(by_id.name, by_id.type)
        self._by_id = by_id
        self._by_name = by_name

    def child_names(self) -> Sequence[str]:
        named = {topic.envelope_info["topic_id"] for topic in self._by_name.iter_children()}
        return [id for id in self._by_id.child_names() if id not in named]

    def child(self, name: str) -> Node | None:
        return self._by_id.child(name)


def listed_children(directory: Directory, *, speaks_kafka: bool) -> Iterator[tuple[str, Node | None]]:
    """Names with their nodes; in Kafka's tree a name may be listed more than once and have no node."""
    if speaks_kafka:
        for name in directory.child_names():
            yield name, directory.child(name)
        return
    for child in directory.iter_children():
        if not child.is_view:
            yield child.name, child


def kafka_find(path: str, node: Node) -> Iterator[str]:
    """The lines of Kafka's `find` below a typed path.

    Errors: BrokenChildError at a listed name without a node, after what precedes it.
    Source: org.apache.kafka.shell.command.FindCommandHandler.
    """
    yield path
    if not isinstance(node, Directory):
        return
    for name in node.child_names():
        child = node.child(name)
        if child is None:
            raise BrokenChildError(f"Expected {name} to be a valid child of {path}, but it was not.")
        yield from kafka_find(child_path(path, name), child)
