"""Walks down the tree one node at a time, for `find`, `tree` and `ls -R`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.nodes import Directory
from metashell.shell.globs import BrokenChildError
from metashell.shell.paths import ROOT, child_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.nodes import Node
    from metashell.shell.context import Context


def children(path: str, directory: Directory) -> Iterator[Node]:
    """The children that a walk enters: at the root not the second view, which shows the same things again."""
    if path == ROOT:
        return (child for child in directory.iter_children() if not child.is_view)
    return directory.iter_children()


def descend(path: str, node: Node, depth_max: int | None = None) -> Iterator[tuple[str, Node, int]]:
    """The node and all below it, parents first, each with its path and depth."""
    yield path, node, 0
    if not isinstance(node, Directory) or depth_max == 0:
        return
    pending: list[tuple[str, Iterator[Node]]] = [(path, children(path, node))]
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
            pending.append((here, child.iter_children()))


def listed_children(ctx: Context, directory: Directory) -> Iterator[tuple[str, Node | None]]:
    """Names with their nodes; in Kafka's tree a name may be listed more than once and have no node."""
    if ctx.speaks_kafka:
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
