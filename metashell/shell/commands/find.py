"""find - search for nodes below directories

SYNOPSIS
    find [PATH...] [-name GLOB] [-path GLOB] [-regex REGEX] [-type TYPE] [-maxdepth N]

DESCRIPTION
    Prints the path of every node at or below each PATH (by default the working directory) that passes all given tests: -name
    compares the last component with a pattern, -path and -regex the whole path, -type the kind of the node. In -path a * also
    matches slashes; -regex is a Python expression for the whole path.

    A search from / leaves out the names of Kafka 2.8 to 3.2, which show the same nodes again.

EXAMPLES
    >> find /image/topics/byName/orders -name {id,name}
    /image/topics/byName/orders/id
    /image/topics/byName/orders/name
    >> find /image/cluster -type broker -maxdepth 2
    /image/cluster/brokers/4
    /image/cluster/brokers/5
    /image/cluster/brokers/6
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.options import Argument, Option
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.globs import compile_component
from metashell.shell.output import node_object, write_answer
from metashell.shell.paths import HERE
from metashell.shell.walk import descend, kafka_find

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from types import SimpleNamespace

    from metashell.nodes import Node
    from metashell.shell.context import Context

    Test = Callable[[str, Node], bool]

TYPES = ("d", "f", "topic", "partition", "broker", "controller", "config", "acl", "quota", "scram", "token", "group", "member", "offset")


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the paths below each start for which all tests hold."""
    targets = args.path or (HERE,)
    # Kafka's find has no tests and prints the argument as it was typed; with tests the answer is paths.
    if ctx.output == "kafka" and not _tests(args) and args.maxdepth is None:
        for target in targets:
            for match in ctx.resolve([target]):
                for line in kafka_find(target, match.node):
                    ctx.line(line)
        return
    found = _search(ctx, targets, args)
    objects = (node_object(ctx, path, node) for path, node in found)
    write_answer(ctx, objects, (path for path, _ in found), columns=("path", "type"))


def _search(ctx: Context, targets: tuple[str, ...], args: SimpleNamespace) -> Iterator[tuple[str, Node]]:
    tests = _tests(args)
    for match in ctx.resolve(targets):
        for path, node, _ in descend(match.path, match.node, args.maxdepth):
            if not tests or all(test(path, node) for test in tests):
                yield path, node


def _tests(args: SimpleNamespace) -> list[Test]:
    tests: list[Test] = [_type_test(type_name) for type_name in args.type]
    tests += [_name_test(pattern) for pattern in args.name]
    tests += [_path_test(pattern) for pattern in args.path_glob]
    tests += [_regex_test(pattern) for pattern in args.regex]
    return tests


def _type_test(type_name: str) -> Test:
    if type_name in ("d", "f"):
        wanted = type_name == "d"
        return lambda path, node: node.is_directory is wanted
    return lambda path, node: node.type == type_name


def _name_test(glob: str) -> Test:
    pattern = compile_component(glob)
    if pattern is None:
        return lambda path, node: node.name == glob
    return lambda path, node: pattern.fullmatch(node.name) is not None


def _path_test(glob: str) -> Test:
    pattern = compile_component(glob)
    if pattern is None:
        return lambda path, node: path == glob
    return lambda path, node: pattern.fullmatch(path) is not None


def _regex_test(pattern: re.Pattern[str]) -> Test:
    return lambda path, node: pattern.fullmatch(path) is not None


COMMAND = make_command(
    run,
    __doc__,
    options=(
        Option(names=("-name", "--name"), metavar="GLOB", multiple=True, help="the last component fits the pattern"),
        Option(names=("-path", "--path-glob"), metavar="GLOB", multiple=True, help="the whole path fits the pattern"),
        Option(names=("-regex", "--regex"), metavar="REGEX", type="regex", multiple=True, help="the whole path fits the expression"),
        Option(names=("-type", "--type"), metavar="TYPE", type="choice", choices=TYPES, multiple=True, help="the node is one of these"),
        Option(names=("-maxdepth", "--maxdepth"), metavar="N", type="int", help="go no deeper than N levels below PATH"),
    ),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="where to start, by default here"),),
)
