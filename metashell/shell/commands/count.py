"""The commands count (partitions and other nodes, by a field) and du (bytes of records in log and snapshot)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import UsageError
from metashell.common.forms import aligned
from metashell.common.options import Argument, Option
from metashell.common.values import uuid_from_text, uuid_text
from metashell.metadata.checks import PARTITION_GROUPS, count_partitions
from metashell.metadata.image.provenance import Sizes
from metashell.metadata.nodes import Directory, Leaf
from metashell.shell.commands import NODE_PATH, WHERES, make_command
from metashell.shell.output import summarize, unknown_field, value_text, write_answer
from metashell.shell.past import history_of, usual_path
from metashell.shell.paths import HERE, ROOT, absolute_components, child_path, children, descend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.image import TopicImage
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.paths import Match
    from metashell.shell.tree_walk import Choice


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
    from metashell.shell.tree_walk import Choice

    return Choice(ctx, texts)


def _count(ctx: Context, matches: Sequence[Match], by: str, where: Choice | None) -> tuple[dict[Any, int], str]:
    """Return the counts and the noun for what was counted. Errors: UsageError for a field that no leaf below the paths has."""
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
    """Return the number of nodes of each type. Topics also have a name below `byId`, and count once."""
    counts: Counter[str] = Counter()
    for match in matches:
        pending: list[tuple[str, Node]] = [(match.path, match.node)]
        while pending:
            path, node = pending.pop()
            counts[node.type] += 1
            if path == _BY_NAME:
                # The image knows these numbers, so no nodes are made.
                topics = ctx.image.topics.by_name
                counts["topic"] += len(topics)
                counts["leaf"] += len(topics) * len(_LEAVES_OF_TOPIC)
                counts["partition"] += sum(topic.partition_count for topic in topics.values())
            elif isinstance(node, Directory):
                below = ((child_path(path, child.name), child) for child in children(path, node))
                pending += (pair for pair in below if pair[0] != _BY_ID)
    return {type: count for type, count in counts.items() if count}


def _outermost(matches: Sequence[Match]) -> list[Match]:
    """Return the matches that lie below no other match, each once, so that nothing counts twice."""
    paths = {match.path for match in matches}
    by_path = {match.path: match for match in matches if not any(above in paths for above in _above(match.path))}
    return list(by_path.values())


def _above(path: str) -> Iterator[str]:
    while path != ROOT:
        path = path.rpartition("/")[0] or ROOT
        yield path


def _topics(ctx: Context, matches: Sequence[Match]) -> tuple[dict[bytes, TopicImage], dict[bytes, set[int]]]:
    """Return the topics at, below and above the paths, each once, and for topics of which the paths name partitions their numbers."""
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
    """Yield the value of the field in a leaf; nothing if the leaf does not have it."""
    value = leaf.value(ctx.redact)
    if not isinstance(value, dict):
        return
    if by not in value:
        value = summarize(ctx, leaf)
    if by in value:
        found = value[by]
        yield value_text(found) if isinstance(found, dict | list | tuple) else found


def _order(row: tuple[Any, int]) -> tuple[int, float, str]:
    """Return a sort key: numbers in their order, then text."""
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


DU_HELP: Final = """du - show how many bytes records take in the log and in the snapshot

SYNOPSIS
    du [--by kind|topic] [-n N] [PATH...]

DESCRIPTION
    Counts the bytes of all records in the present segments and in the newest checkpoint, by kind of record or by topic, the largest
    first. It counts the values of records; the framing of batches is a row of its own. A topic's bytes are those of its own record,
    its partitions and their changes; a deleted topic is shown by its id.
    With PATHs, which are topics or directories of them, it counts only these, by topic.

EXAMPLES
    >> du -n 3
      log  snapshot  records  kind
    21049      1105        0  (framing of batches and records)
     8101         0      179  PARTITION_CHANGE_RECORD
     3262      3023       72  PARTITION_RECORD
"""


KIND, TOPIC = "kind", "topic"
_TOPICS = (["image", "topics"], ["image", "topics", "byName"], ["image", "topics", "byId"])


def run_du(ctx: Context, args: SimpleNamespace) -> None:
    """Print one row per kind or topic."""
    ids = _named_topics(ctx, args.path)
    if ids == set():
        return
    if ids is not None and args.by == KIND:
        raise UsageError("--by kind counts everything: it takes no path", KIND)
    by = args.by or (KIND if ids is None else TOPIC)
    log, snapshot = _measure(ctx, by == TOPIC)
    rows = _by_topic(ctx, log, snapshot, ids) if by == TOPIC else _by_kind(log, snapshot)
    rows.sort(key=lambda row: (-row[0] - row[1], row[3]))
    if args.number is not None:
        del rows[args.number :]
    objects = (
        {"path": "/", "type": "du", "by": by, "name": name, "log_bytes": in_log, "snapshot_bytes": in_snapshot, "records": records}
        for in_log, in_snapshot, records, name in rows
    )
    columns = ("name", "log_bytes", "snapshot_bytes", "records")
    write_answer(ctx, ({**item, **ctx.certainty()} for item in objects), _size_lines(rows, by), columns=columns)


def _named_topics(ctx: Context, targets: Sequence[str]) -> set[str] | None:
    """Return the ids of the topics that the paths name, or None without a path. Errors: UsageError for a path of anything else."""
    if not targets:
        return None
    ids: set[str] = set()
    for match in ctx.resolve(targets):
        if usual_path(absolute_components(match.path, ctx.cwd)) in _TOPICS:
            ids.update(map(uuid_text, ctx.image.topics.by_id))
        elif match.node.type == TOPIC:
            ids.add(match.node.envelope_info["topic_id"])
        else:
            raise UsageError(f"{match.path}: not a topic; without a path everything is counted by kind", match.path)
    return ids


def _measure(ctx: Context, by_topic: bool) -> tuple[Sizes, Sizes]:
    """Return the sizes of the log and of the newest snapshot."""
    past = history_of(ctx)
    log, snapshot = Sizes(by_topic=by_topic), Sizes(by_topic=by_topic)
    starts = past.starts()
    oldest = past.open_oldest()
    try:
        if len(starts) == 1:
            snapshot.add(oldest.snapshot_batches(), MAX_DECOMPRESSED)
        log.add(oldest.log_batches(0), MAX_DECOMPRESSED)
    finally:
        oldest.close()
    if len(starts) > 1:
        newest = past.open(starts[-1])
        try:
            snapshot.add(newest.snapshot_batches(), MAX_DECOMPRESSED)
        finally:
            newest.close()
    return log, snapshot


Row = tuple[int, int, int, str]


def _by_kind(log: Sizes, snapshot: Sizes) -> list[Row]:
    in_log, in_snapshot = log.bytes_of, snapshot.bytes_of
    counts, more = log.count_of, snapshot.count_of
    names = {*in_log, *in_snapshot}
    return [(in_log.get(name, 0), in_snapshot.get(name, 0), counts.get(name, 0) + more.get(name, 0), name) for name in names]


def _by_topic(ctx: Context, log: Sizes, snapshot: Sizes, ids: set[str] | None) -> list[Row]:
    rows = []
    for id in {*log.topic_bytes, *snapshot.topic_bytes}:
        if ids is not None and uuid_text(id) not in ids:
            continue
        topic = ctx.image.topics.by_id.get(id)
        name = uuid_text(id) if topic is None else topic.name
        records = log.topic_counts[id] + snapshot.topic_counts[id]
        rows.append((log.topic_bytes[id], snapshot.topic_bytes[id], records, name))
    return rows


def _size_lines(rows: list[Row], by: str) -> Iterator[str]:
    cells: list[tuple[Any, ...]] = [("log", "snapshot", "records", by), *rows]
    widths = [max(len(str(row[index])) for row in cells) for index in range(3)]
    for row in cells:
        yield "  ".join([*(f"{row[index]:>{widths[index]}}" for index in range(3)), row[3]])


DU_COMMAND = make_command(
    run_du,
    DU_HELP,
    options=(
        Option(
            names=("--by",), metavar="WHAT", type="choice", choices=(KIND, TOPIC), help="a row for each kind of record, or for each topic"
        ),
        Option(names=("-n", "--number"), metavar="N", type="int", help="only the N largest"),
    ),
    arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="only these topics"),),
)
