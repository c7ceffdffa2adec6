"""The command `cat`: print the contents of metadata leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.forms import OBJECT_FORMS
from metashell.nodes import Leaf
from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.context import IS_DIRECTORY
from metashell.shell.output import leaf_object, write_leaf, write_objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.shell.context import Context


CAT_HELP: Final = """cat - print the contents of metadata leaves

SYNOPSIS
    cat PATH...

DESCRIPTION
    Prints a number or text as it is, and a record as indented JSON with Kafka's own field names. Secrets are hidden unless the
    shell was started with --show-secrets. A directory, or a path that names nothing, is an error; the paths after it are still
    printed.

    With -o json the answer is one object for one path, and an array for several paths or a pattern. With -o kafka it is the
    text that Kafka's own shell prints.

EXAMPLES
    >> cat /image/topics/byName/orders/name
    orders
    >> cat -o kafka /image/topics/byName/orders/{id,name}
    G7AsmegkQqqHvcqFqSTRgA
    orders
"""


def run_cat(ctx: Context, args: SimpleNamespace) -> None:
    """Print the leaves that the paths name."""
    leaves = _leaves(ctx, args)
    if ctx.output in OBJECT_FORMS:
        objects = (leaf_object(ctx, path, leaf) for path, leaf in leaves)
        columns = ("path", "type", "value")
        write_objects(ctx, objects, columns=columns, single=ctx.is_single(args.path))
    else:
        for _, leaf in leaves:
            write_leaf(ctx, leaf)


def _leaves(ctx: Context, args: SimpleNamespace) -> Iterator[tuple[str, Leaf]]:
    for target in args.path:
        for path, _, node in ctx.resolve([target]):
            if isinstance(node, Leaf):
                yield path, node
            else:
                ctx.fail(target if ctx.speaks_kafka else path, IS_DIRECTORY)


CAT_COMMAND = make_command(run_cat, CAT_HELP, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="the leaves to print"),))
