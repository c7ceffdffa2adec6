"""The command `stat`: show what a node is, and which records made and last changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.amounts import moment_text
from metashell.forms import aligned
from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.lifespan import life_of
from metashell.shell.looking_back import usual_path
from metashell.shell.output import node_object, write_answer
from metashell.shell.paths import absolute_components

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.image.steps import Origin
    from metashell.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.lifespan import Life


STAT_HELP: Final = """stat - show what a node is, and which records made and last changed it

SYNOPSIS
    stat PATH...

DESCRIPTION
    Shows the type of each node, the record that made it and the last one that touched it or anything below it, with offset, epoch
    and time, and how many there were since it was made. Records before the checkpoint may be gone: then it prints the offset at
    which the log begins. A leaf of a topic or resource (such as `name`) has no records of its own. `log PATH` shows them all.

EXAMPLES
    >> stat /image/cluster/brokers/4
    path     /image/cluster/brokers/4
    type     broker
    created  offset 17, epoch 1, 2026-11-21T00:21:23.192Z, REGISTER_BROKER_RECORD
    changed  offset 198, epoch 1, 2026-11-21T00:23:02.550Z, BROKER_REGISTRATION_CHANGE_RECORD
    records  3
"""


def run_stat(ctx: Context, args: SimpleNamespace) -> None:
    """Print one block of lines, or one object, for each node."""
    found: list[tuple[str, Node, Life]] = []
    for match in ctx.resolve(args.path):
        path = usual_path(absolute_components(match.path, ctx.cwd)) or ["image"]
        if path[:1] != ["image"] or path[1:2] in (["provenance"], ["faults"]):
            ctx.fail(match.path, "no records: `stat` works below /image")
            continue
        found.append((match.path, match.node, life_of(ctx, path)))
    objects = (_object(ctx, path, node, life) for path, node, life in found)
    write_answer(ctx, objects, _lines(found), single=ctx.is_single(args.path))
    for fault in dict.fromkeys(fault for _, _, life in found for fault in life.faults):
        ctx.complain(f"{ctx.command}: {fault}", 1)


def _object(ctx: Context, path: str, node: Node, life: Life) -> dict[str, Any]:
    known = life.start if life.was_there else None
    return node_object(
        ctx, path, node, created=_origin(life.created), changed=_origin(life.changed), records=life.records, known_from=known
    )


def _origin(origin: Origin | None) -> dict[str, Any] | None:
    if origin is None:
        return None
    return {"offset": origin.offset, "epoch": origin.epoch, "timestamp": origin.timestamp_ms, "record": origin.record}


def _lines(found: Sequence[tuple[str, Node, Life]]) -> Iterator[str]:
    for index, (path, node, life) in enumerate(found):
        if index:
            yield ""
        lines = [("path", path), ("type", node.type)]
        if life.created is not None:
            lines.append(("created", _words(life.created)))
        elif life.was_there and life.start:
            lines.append(("created", f"before offset {life.start}, from which on the log is there"))
        if life.changed is not None:
            lines.append(("changed", _words(life.changed)))
        lines.append(("records", str(life.records)))
        yield from aligned(lines)


def _words(origin: Origin) -> str:
    return f"offset {origin.offset}, epoch {origin.epoch}, {moment_text(origin.timestamp_ms)}, {origin.record}"


STAT_COMMAND = make_command(run_stat, STAT_HELP, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="what to look at"),))
