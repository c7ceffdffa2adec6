"""The command `count`: count partitions or other nodes below a path, by a field."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from metashell.checks import PARTITION_GROUPS, count_partitions
from metashell.forms import aligned
from metashell.nodes import Directory, Leaf
from metashell.options import Argument, Option
from metashell.shell.command import NODE_PATH, WHERES, make_command
from metashell.shell.output import write_answer
from metashell.shell.paths import HERE, ROOT, child_path
from metashell.shell.search.walk import children, descend
from metashell.shell.summary import summarize, unknown_field, value_text
from metashell.values import uuid_from_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.image import TopicImage
    from metashell.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.search.choosing import Choice
    from metashell.shell.search.globs import Match


COUNT_HELP: Final = """count - count partitions or other nodes below a path, by a field

SYNOPSIS
    count [--by FIELD] [-n N] [--where EXPRESSION] [PATH...]

DESCRIPTION
    Without --by, counts the nodes at and below each PATH (by default the working directory) by type. With --by, counts by a field:
    partitions where PATH has topics at or below it, otherwise the leaves that have the field.

    Partitions are counted by leader, by broker and rack (these count every replica), by state (the worst fault of each, as `health`
    names it), by topic, or by a field that `cat` shows. Brokers have a state too. The heading says what was counted; a node below
    two of the paths counts once.

    --where counts only nodes for which the expression holds; `help find` describes expressions.

EXAMPLES
    >> count --by leader
    leader  partitions
    4                8
    5               14
    6               14
    >> count --by rack /image/cluster/brokers
    rack    leaves
    -            1
    rack-a       1
    rack-b       1
    >> count --by leader --where 'len(replicas) > 2'
    leader  partitions
    4                1
    5                2
    6                2
"""


_TYPE = "type"
_BY_NAME, _BY_ID = "/image/topics/byName", "/image/topics/byId"
_ABOVE_TOPICS = (ROOT, "/image", "/image/topics", _BY_NAME, _BY_ID, "/topics", "/topicIds")
_LEAVES_OF_TOPIC = ("id", "name")


def run_count(ctx: Context, args: SimpleNamespace) -> None:
    """Print each value with its count, ordered by value."""
    matches = _outermost(list(ctx.resolve(args.path or (HERE,))))
    if not matches:
        return
    by = args.by or _TYPE
    where = _where(ctx, args.where) if args.where else None
    counts, what = _count(ctx, matches, by, where)
    rows = sorted(counts.items(), key=_order)
    if args.number is not None:
        rows = sorted(rows, key=lambda row: -row[1])[: args.number]
    objects = (
        {"path": "/", "type": "count", "by": by, "of": what, "value": value, "count": count, **ctx.certainty()} for value, count in rows
    )
    write_answer(ctx, objects, _lines(by, what, rows), columns=("value", "count"))
    if where is not None:
        where.finish()


def _where(ctx: Context, texts: Sequence[str]) -> Choice:
    from metashell.shell.search.choosing import Choice

    return Choice(ctx, texts)


def _count(ctx: Context, matches: Sequence[Match], by: str, where: Choice | None) -> tuple[dict[Any, int], str]:
    """The counts, and what was counted. Errors: UsageError for a field that nothing below the paths has."""
    if by == _TYPE:
        return _by_type(ctx, matches) if where is None else Counter(node.type for _, node in where.below(matches)), "nodes"
    if by in PARTITION_GROUPS:
        topics, only = _topics(ctx, matches)
        if topics:
            if where is not None:
                topics, only = where.partitions(matches)
            return count_partitions(ctx.health, topics.values(), by, only), "replicas" if by in ("broker", "rack") else "partitions"
    counts: Counter[Any] = Counter()
    for match in matches:
        for path, node, _ in descend(match.path, match.node, each_once=True):
            if isinstance(node, Leaf) and (where is None or where.holds(path, node)):
                counts.update(_values(ctx, node, by))
    if not counts and where is None:
        leaves = (node for match in matches for _, node, _ in descend(match.path, match.node, each_once=True) if isinstance(node, Leaf))
        raise unknown_field(ctx, "--by", by, leaves, PARTITION_GROUPS)
    return counts, "leaves"


def _by_type(ctx: Context, matches: Sequence[Match]) -> dict[str, int]:
    """How many nodes there are of each type; topics have a second name below `byId` and count once."""
    counts: Counter[str] = Counter()
    for match in matches:
        pending: list[tuple[str, Node]] = [(match.path, match.node)]
        while pending:
            path, node = pending.pop()
            counts[node.type] += 1
            if path == _BY_NAME:
                # The image knows how many there are without a node for each.
                topics = ctx.image.topics.by_name
                counts["topic"] += len(topics)
                counts["leaf"] += len(topics) * len(_LEAVES_OF_TOPIC)
                counts["partition"] += sum(topic.partition_count for topic in topics.values())
            elif isinstance(node, Directory):
                below = ((child_path(path, child.name), child) for child in children(path, node))
                pending += (pair for pair in below if pair[0] != _BY_ID)
    return {type: count for type, count in counts.items() if count}


def _outermost(matches: Sequence[Match]) -> list[Match]:
    """The matches that lie below no other, each once: what two paths name counts once."""
    paths = {match.path for match in matches}
    by_path = {match.path: match for match in matches if not any(above in paths for above in _above(match.path))}
    return list(by_path.values())


def _above(path: str) -> Iterator[str]:
    while path != ROOT:
        path = path.rpartition("/")[0] or ROOT
        yield path


def _topics(ctx: Context, matches: Sequence[Match]) -> tuple[dict[bytes, TopicImage], dict[bytes, set[int]]]:
    """The topics at, below and above the paths, each once; of those of which paths name partitions, the numbers of these."""
    found: dict[bytes, TopicImage] = {}
    only: dict[bytes, set[int]] = {}
    for match in matches:
        if match.path in _ABOVE_TOPICS:
            return dict(ctx.image.topics.by_id), {}
        node = match.node
        if node.type == "topic" and (topic := ctx.image.topics.by_id.get(uuid_from_text(node.envelope_info["topic_id"]))) is not None:
            found[topic.id] = topic
            only.pop(topic.id, None)
        elif isinstance(node, Leaf) and node.type == "partition":
            value = node.value()
            assert isinstance(value, dict)
            topic = ctx.image.topics.by_id[uuid_from_text(str(value["topicId"]))]
            if topic.id not in found or topic.id in only:
                found[topic.id] = topic
                only.setdefault(topic.id, set()).add(int(node.name))
    return found, only


def _values(ctx: Context, leaf: Leaf, by: str) -> Iterator[Any]:
    """The values under which a leaf is counted: a field's value, each item of a list; none if it has no such field."""
    value = leaf.value(ctx.redact)
    if not isinstance(value, dict):
        return
    if by not in value:
        value = summarize(ctx, leaf)
    if by in value:
        found = value[by]
        yield value_text(found) if isinstance(found, dict | list | tuple) else found


def _order(row: tuple[Any, int]) -> tuple[int, float, str]:
    """Numbers first, in their order, then text."""
    value = row[0]
    is_number = isinstance(value, int | float)
    return (0 if is_number or value is None else 1, value if is_number else float("-inf"), "" if is_number else value_text(value))


def _lines(by: str, what: str, rows: Sequence[tuple[Any, int]]) -> Iterator[str]:
    words = [(by, what), *(("-" if value is None else value_text(value), str(count)) for value, count in rows)]
    return aligned(words, right=(1,))


COUNT_COMMAND = make_command(
    run_count,
    COUNT_HELP,
    options=(
        Option(
            names=("--by",),
            metavar="FIELD",
            kind="count-field",
            help="leader, broker, rack, state, topic or a field that cat shows; type without it",
        ),
        Option(names=("-n", "--number"), metavar="N", type="int", help="only the N largest counts, the largest first"),
        WHERES,
    ),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to count, by default here"),),
)
