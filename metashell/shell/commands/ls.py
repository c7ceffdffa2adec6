"""ls - list directories

SYNOPSIS
    ls [-l] [-R] [-1] [-d] [PATH...]

DESCRIPTION
    Lists the names in each PATH (by default the working directory), or the PATH itself if it is a leaf. Several directories
    have a heading each; an empty one is only a heading. On a terminal the names are in columns.

    With -l each name has a line with its type and what matters most about it: partitions without a leader or without all
    their replicas in sync, fenced brokers, values of leaves.

EXAMPLES
    >> ls /image/cluster
    brokers
    controllers
    >> ls -l -d /image/topics/byName/reassigned-*
    topic       /image/topics/byName/reassigned-1  partitions=2 reassigning=1 id=_yR8QlgCSu6ZRADAW7ijPw
    topic       /image/topics/byName/reassigned-2  partitions=1 id=aadsLtv0QICKoY4m9-H8tg
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.errors import UsageError
from metashell.forms import OBJECT_FORMS, padded, text_width
from metashell.nodes import Directory
from metashell.options import Argument, Option
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.layout import column_lines, column_widths
from metashell.shell.output import node_object, write_objects
from metashell.shell.paths import HERE, ROOT, child_path
from metashell.shell.summary import summarize, summary_text
from metashell.shell.walk import descend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.globs import Match
    from metashell.shell.output import Object

_DIRECTORY, _PLAIN = "\x1b[1;34m", "\x1b[0m"
_TYPE_WIDTH = len("controller")


def run(ctx: Context, args: SimpleNamespace) -> None:
    """List the nodes that the paths name."""
    targets = [target for target in args.path if target] or [HERE]
    if ctx.output == "kafka" and (args.long or args.recursive):
        raise UsageError(f"{'-l' if args.long else '-R'} does not go with -o kafka: Kafka's ls has no such form")
    if ctx.output in OBJECT_FORMS:
        write_objects(ctx, _objects(ctx, targets, args))
        return
    files: list[Match] = []
    directories: list[Match] = []
    for match in ctx.resolve(targets):
        is_heading = match.node.is_directory and not args.directory
        (directories if is_heading else files).append(match)
    if ctx.output == "kafka":
        _write_kafka(ctx, files, directories, None if args.one else ctx.display.width)
    else:
        _write_text(ctx, files, directories, args)


def _write_kafka(ctx: Context, files: Sequence[Match], directories: Sequence[Match], width: int | None) -> None:
    """Kafka's layout: an empty directory prints nothing, and no blank line precedes the first heading."""
    for line in column_lines([match.name for match in files], width):
        ctx.line(line)
    has_headings = bool(files) or len(directories) > 1
    printed = bool(files)
    for match in directories:
        assert isinstance(match.node, Directory)
        names = match.node.child_names()
        if has_headings:
            if names:
                ctx.line(f"\n{match.name}:" if printed else f"{match.name}:")
            printed = True
        for line in column_lines(names, width):
            ctx.line(line)


def _write_text(ctx: Context, files: Sequence[Match], directories: Sequence[Match], args: SimpleNamespace) -> None:
    names = [match.path if args.directory else match.name for match in files]
    _write_names(ctx, names, (match.node for match in files), args)
    has_headings = bool(files) or len(directories) > 1 or args.recursive
    separator = "\n" if files else ""
    for match in directories:
        for path, directory in _listed_directories(match, args):
            if has_headings:
                ctx.write(separator)
                ctx.line(f"{path}:")
                separator = "\n"
            nodes = (child for child in directory.iter_children())
            _write_names(ctx, directory.child_names(), nodes, args)


def _listed_directories(match: Match, args: SimpleNamespace) -> Iterator[tuple[str, Directory]]:
    assert isinstance(match.node, Directory)
    if not args.recursive:
        yield match.path, match.node
        return
    for path, node, _ in descend(match.path, match.node):
        if isinstance(node, Directory):
            yield path, node


def _write_names(ctx: Context, names: Sequence[str], nodes: Iterable[Node], args: SimpleNamespace) -> None:
    if args.long:
        width = max(map(text_width, names), default=0)
        if ctx.display.width is not None:
            # One long name must not push the details of all others over the edge.
            width = min(width, ctx.display.width // 3)
        color = ctx.display.color
        for name, node in zip(names, nodes, strict=True):
            details = summary_text(summarize(ctx, node))
            if color and node.is_directory:
                ctx.out.write(f"{node.type:<{_TYPE_WIDTH}}  {padded(colored_name(ctx, name, True), width, own=text_width(name))}  ")
                ctx.line(details)
            else:
                ctx.line(f"{node.type:<{_TYPE_WIDTH}}  {padded(name, width)}  {details}")
    elif ctx.display.color and not args.one and len(names) <= _COLORED_LIMIT:
        _write_colored(ctx, names, nodes)
    else:
        for line in column_lines(names, None if args.one else ctx.display.width, text_width):
            ctx.line(line)


_COLORED_LIMIT = 10_000
"""The most names that are coloured: colours need every node, plain names do not."""


def _write_colored(ctx: Context, names: Sequence[str], nodes: Iterable[Node]) -> None:
    shown = [colored_name(ctx, name, node.is_directory) for name, node in zip(names, nodes, strict=True)]
    widths = column_widths(names, ctx.display.width, text_width)
    rows = -(-len(names) // len(widths))
    for row in range(rows):
        line = ""
        for column, index in enumerate(range(row, len(names), rows)):
            is_last = index + rows >= len(names)
            line += shown[index] if is_last else padded(shown[index], widths[column], own=text_width(names[index]))
        ctx.out.write(line + "\n")


def colored_name(ctx: Context, name: str, is_directory: bool) -> str:
    """A name as a listing shows it: safe for a terminal, directories in blue."""
    shown = ctx.display.shown(name)
    return f"{_DIRECTORY}{shown}{_PLAIN}" if ctx.display.color and is_directory else shown


def _objects(ctx: Context, targets: Sequence[str], args: SimpleNamespace) -> Iterator[Object]:
    for match in ctx.resolve(targets):
        if args.directory or not isinstance(match.node, Directory):
            yield _entry(ctx, match.path, match.node, args)
            continue
        for path, directory in _listed_directories(match, args):
            for child in directory.iter_children():
                # A recursive listing of the root shows only what it enters.
                if not (args.recursive and child.is_view and path == ROOT):
                    yield _entry(ctx, child_path(path, child.name), child, args)


def _entry(ctx: Context, path: str, node: Node, args: SimpleNamespace) -> Object:
    details = summarize(ctx, node) if args.long else {}
    return node_object(ctx, path, node, name=node.name, **details)


COMMAND = make_command(
    run,
    __doc__,
    options=(
        Option(names=("-l", "--long"), type="flag", help="one line for each name, with its type and what matters about it"),
        Option(names=("-R", "--recursive"), type="flag", help="the directories below too"),
        Option(names=("-1", "--one"), type="flag", help="one name a line, also on a terminal"),
        Option(names=("-d", "--directory"), type="flag", help="directories themselves, not what they hold"),
    ),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to list, by default here"),),
)
