"""The command `du`: show how many bytes records take in the log and in the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.errors import UsageError
from metashell.image.sizes import Sizes
from metashell.options import Argument, Option
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.looking_back import past_of, usual_path
from metashell.shell.output import write_answer
from metashell.shell.paths import absolute_components
from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.shell.context import Context


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
    """Print a row for each kind or topic."""
    ids = _topics(ctx, args.path)
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
    write_answer(ctx, ({**item, **ctx.certainty()} for item in objects), _lines(rows, by), columns=columns)


def _topics(ctx: Context, targets: Sequence[str]) -> set[str] | None:
    """The ids of the topics that paths name, None without a path. Errors: UsageError for what is no topic."""
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
    """The sizes of the log and of the newest snapshot."""
    past = past_of(ctx)
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


def _lines(rows: list[Row], by: str) -> Iterator[str]:
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
