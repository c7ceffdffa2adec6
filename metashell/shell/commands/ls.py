"""The command `ls`: lists directories."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter, mod
from typing import TYPE_CHECKING, Final

from metashell.common.errors import UsageError
from metashell.common.forms import JSON_FORMS, OBJECT_FORMS, padded, text_width
from metashell.common.options import Argument, Option
from metashell.common.terminal import DIRECTORY
from metashell.metadata.nodes import Directory
from metashell.shell.commands import LISTED_FIELD, NODE_PATH, WHERES, make_command
from metashell.shell.listing import PartitionTexts, column_lines, column_widths, joined, json_texts, painted_fields, roles_of
from metashell.shell.output import listed_field, node_object, summarize, summary_text, unknown_field, value_text, write_objects
from metashell.shell.paths import HERE, ROOT, child_path, descend, entering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.nodes import Node
    from metashell.metadata.nodes.topics import TopicNode
    from metashell.shell.context import Context
    from metashell.shell.output import Object
    from metashell.shell.paths import Match

    Row = tuple[str, bool, str]
    """The content of a line of -l: a name's type, whether it is a directory, its details."""


LS_HELP: Final = """ls - list directories

SYNOPSIS
    ls [-l] [-R] [-1] [-d] [--sort FIELD] [--reverse] [--where EXPRESSION] [PATH...]

DESCRIPTION
    Lists the names in each PATH (by default the working directory), or the PATH itself if it is a leaf. Several directories
    have a heading each; an empty one is only a heading. On a terminal the names are in columns.

    With -l each name has a line with its type and its most important fields: partitions without a leader or without all their
    replicas in sync, fenced brokers, values of leaves.

    --sort orders each directory by a field that -l shows, or by type: numbers from the largest down, then text, then nodes without
    the field; equal ones stay ordered by name. --reverse reverses the order.

    --where lists only nodes for which the expression holds; `help find` describes expressions.

EXAMPLES
    >> ls /image/cluster
    brokers
    controllers
    >> ls -l -d /image/topics/byName/reassigned-*
    topic       /image/topics/byName/reassigned-1  partitions=2 reassigning=1 id=_yR8QlgCSu6ZRADAW7ijPw
    topic       /image/topics/byName/reassigned-2  partitions=1 id=aadsLtv0QICKoY4m9-H8tg
    >> ls --sort epoch /image/cluster/brokers
    6
    5
    4
"""


_TYPE_WIDTH = len("controller")
_LACKS = 2


def run_ls(ctx: Context, args: SimpleNamespace) -> None:
    """List the nodes of the paths."""
    targets = [target for target in args.path if target] or [HERE]
    where = getattr(args, "where", ())
    if ctx.output == "kafka" and (args.long or args.recursive or args.sort or where):
        option = "-l" if args.long else "-R" if args.recursive else "--sort" if args.sort else "--where"
        raise UsageError(f"{option} does not go with -o kafka: Kafka's ls has no such form")
    args.choice = None
    if where:
        # Imported late: few lists have a condition, and an import slows the start.
        from metashell.shell.tree_walk import Choice

        args.choice = Choice(ctx, where)
    _write(ctx, targets, args)
    if args.choice is not None:
        args.choice.finish()


def _write(ctx: Context, targets: Sequence[str], args: SimpleNamespace) -> None:
    if ctx.output in OBJECT_FORMS:
        write_objects(ctx, _objects(ctx, targets, args))
        return
    files: list[Match] = []
    directories: list[Match] = []
    for match in ctx.resolve(targets, as_starts=args.recursive):
        is_heading = match.node.is_directory and not args.directory
        if args.choice is not None and not is_heading and not args.choice.holds(match.path, match.node):
            continue
        (directories if is_heading else files).append(match)
    if ctx.output == "kafka":
        _write_kafka(ctx, files, directories, None if args.one else ctx.display.width)
    else:
        _write_text(ctx, files, directories, args)


def _write_kafka(ctx: Context, files: Sequence[Match], directories: Sequence[Match], width: int | None) -> None:
    """Write Kafka's layout: an empty directory prints nothing, and no blank line precedes the first heading."""
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
    shown = _ordered(ctx, args, [(match.path if args.directory else match.name, match.node) for match in files])
    _write_names(ctx, [name for name, _ in shown], (node for _, node in shown), args)
    has_headings = bool(files) or len(directories) > 1 or args.recursive
    separator = "\n" if files else ""
    texts = None
    if args.long and not (args.sort or args.reverse or args.choice):
        # Imported late: most lists have no partitions, and an import slows the start.

        texts = PartitionTexts(ctx, lambda path, leaf: _details(ctx, leaf))
    for match in directories:
        for path, directory in _listed_directories(match, args):
            chosen = None
            if args.choice is not None:
                chosen = [(child.name, child) for child in args.choice.listed(path, directory)]
                if not chosen and args.recursive:
                    continue
            if has_headings:
                ctx.write(separator)
                ctx.line(f"{path}:")
                separator = "\n"
            if chosen is not None or args.sort or args.reverse:
                entries = _ordered(ctx, args, [(child.name, child) for child in directory.iter_children()] if chosen is None else chosen)
                _write_names(ctx, [name for name, _ in entries], (node for _, node in entries), args)
            elif texts is not None and (topic := texts.topic(directory)) is not None:
                _write_partitions(ctx, *texts.of(path, topic), topic)
            else:
                _write_names(ctx, directory.child_names(), directory.iter_children(), args)


def _ordered(ctx: Context, args: SimpleNamespace, entries: list[tuple[str, Node]]) -> list[tuple[str, Node]]:
    """Return the entries in the order of --sort and --reverse. Errors: UsageError for a field that no entry has."""
    if args.sort:
        keyed = [(_sort_key(ctx, node, args.sort), (name, node)) for name, node in entries]
        if keyed and not args.recursive and all(key[0] == _LACKS for key, _ in keyed):
            raise unknown_field(ctx, "--sort", args.sort, (node for _, node in entries), ("type",))
        keyed.sort(key=itemgetter(0))
        entries = [entry for _, entry in keyed]
    return entries[::-1] if args.reverse else entries


def _sort_key(ctx: Context, node: Node, field: str) -> tuple[int, float, str]:
    """Return a sort key: numbers in descending order, then text, then nodes without the field."""
    value = node.type if field == "type" else listed_field(summarize(ctx, node), field)
    if isinstance(value, int | float):
        return (0, -value, "")
    return (_LACKS, 0, "") if value is None else (1, 0, value_text(value))


def _listed_directories(match: Match, args: SimpleNamespace) -> Iterator[tuple[str, Directory]]:
    assert isinstance(match.node, Directory)
    if not args.recursive:
        yield match.path, match.node
        return
    for path, node, _ in descend(match.path, match.node, enter=entering(lambda directory: directory.has_directories)):
        if isinstance(node, Directory):
            yield path, node


def _write_names(ctx: Context, names: Sequence[str], nodes: Iterable[Node], args: SimpleNamespace) -> None:
    if args.long:
        _write_long(ctx, names, _rows(ctx, nodes))
    elif ctx.display.color and not args.one and len(names) <= _COLORED_LIMIT:
        _write_colored(ctx, names, nodes)
    else:
        for line in column_lines(names, None if args.one else ctx.display.width, text_width):
            ctx.line(line)


def _rows(ctx: Context, nodes: Iterable[Node]) -> Iterator[Row]:
    return ((node.type, node.is_directory, _details(ctx, node)) for node in nodes)


def _details(ctx: Context, node: Node) -> str:
    fields = summarize(ctx, node)
    if ctx.display.color:
        roles = roles_of(ctx, node)
        if roles:
            return painted_fields(ctx, {name: value_text(value) for name, value in fields.items()}, roles)
    return summary_text(fields)


def _write_long(ctx: Context, names: Sequence[str], rows: Iterable[Row]) -> None:
    width = max(map(text_width, names), default=0)
    if ctx.display.width is not None:
        # A single long name must not push all details off the screen.
        width = min(width, ctx.display.width // 3)
    display = ctx.display
    for name, (type, is_directory, details) in zip(names, rows, strict=True):
        if display.color:
            shown = padded(display.paint(DIRECTORY if is_directory else "", name), width)
            display.line(display.joined((f"{type:<{_TYPE_WIDTH}}", shown, details), "  "))
        else:
            ctx.line(f"{type:<{_TYPE_WIDTH}}  {padded(name, width)}  {details}")


def _write_partitions(ctx: Context, ids: Sequence[int], details: Iterator[str], topic: TopicNode) -> None:
    """Write the lines for all partitions of a topic when there are no colours and no terminal width."""
    width = max(map(len, (*map(str, ids), *topic.fact_values())))
    line = f"{'partition':<{_TYPE_WIDTH}}  %-{width}s  %s"
    for piece in joined(map(mod, repeat(line), zip(ids, details, strict=False)), "\n"):
        ctx.line(piece)
    for leaf in topic.facts():
        ctx.line(f"{leaf.type:<{_TYPE_WIDTH}}  {padded(leaf.name, width)}  {_details(ctx, leaf)}")


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
    """Return a name for a listing: safe for a terminal, and blue for a directory."""
    return ctx.display.paint(DIRECTORY, name) if is_directory else ctx.display.shown(name)


def _objects(ctx: Context, targets: Sequence[str], args: SimpleNamespace) -> Iterator[Object | str]:
    texts = None
    if ctx.output in JSON_FORMS and not (args.sort or args.reverse or args.choice):
        texts = json_texts(ctx, lambda path, leaf: _entry(ctx, path, leaf, args))
    for match in ctx.resolve(targets, as_starts=args.recursive):
        if args.directory or not isinstance(match.node, Directory):
            if args.choice is not None and not args.choice.holds(match.path, match.node):
                continue
            yield _entry(ctx, match.path, match.node, args)
            continue
        for path, directory in _listed_directories(match, args):
            children = directory.iter_children() if args.choice is None else args.choice.listed(path, directory)
            if texts is not None and (topic := texts.topic(directory)) is not None:
                yield from joined(texts.of(path, topic)[1], JSON_FORMS[ctx.output])
                children = topic.facts()
            if args.sort or args.reverse:
                children = (child for _, child in _ordered(ctx, args, [(child.name, child) for child in children]))
            for child in children:
                # A recursive listing of the root shows only the directories it enters.
                if not (args.recursive and child.is_view and path == ROOT):
                    yield _entry(ctx, child_path(path, child.name), child, args)


def _entry(ctx: Context, path: str, node: Node, args: SimpleNamespace) -> Object:
    details = summarize(ctx, node) if args.long else {}
    return node_object(ctx, path, node, name=node.name, **details)


LS_COMMAND = make_command(
    run_ls,
    LS_HELP,
    options=(
        Option(names=("-l", "--long"), type="flag", help="one line for each name, with its type and what matters about it"),
        Option(names=("-R", "--recursive"), type="flag", help="the directories below too"),
        Option(names=("-1", "--one"), type="flag", help="one name a line, also on a terminal"),
        Option(names=("-d", "--directory"), type="flag", help="directories themselves, not what they hold"),
        Option(names=("--sort",), metavar="FIELD", kind=LISTED_FIELD, help="order by type or by a field that -l shows, the largest first"),
        Option(names=("-r", "--reverse"), type="flag", help="the other way round"),
        WHERES,
    ),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to list, by default here"),),
)
