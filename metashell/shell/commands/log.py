"""The commands log (records that changed a node or anything below it) and stat (the records that created and last changed it)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from metashell.common.forms import JsonWriter, aligned
from metashell.common.options import Argument, Option, flag
from metashell.common.terminal import DIM, HEADING
from metashell.common.values import moment_text, time_text
from metashell.metadata.history import Target, Timeline, parse_moment
from metashell.metadata.history.touched import target_of
from metashell.metadata.image.differences import Origin, Step
from metashell.shell.commands import MOMENT, NODE_PATH, make_command
from metashell.shell.context import MISSING
from metashell.shell.differences import Change, ChangeWatch, change_fields, change_lines, change_text, patch_lines
from metashell.shell.output import node_object, summarize, summary_text, write_answer, write_objects
from metashell.shell.past import history_of, life_of, newest_image, now_ms, usual_path
from metashell.shell.paths import absolute_components, compile_component, expand_path, refuse_deep
from metashell.shell.words import nearest_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.history import Past, Touch
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.past import Life


LOG_HELP: Final = """log - print the records that changed a node or anything below it

SYNOPSIS
    log [-n N] [--since MOMENT] [-p] [PATH]

DESCRIPTION
    Prints each record of the log that touched PATH or anything below it, the newest last: its offset, its time, the epoch of the leader
    that wrote it, its type, and what it changed. A topic may be named by name or id; a name includes earlier topics of that name.
    Without PATH it prints the whole history. `same` marks a record that wrote the values that were there already.

    Records before the oldest checkpoint may be gone: then the first line shows the state where the log begins.
    Kafka records no principal, so the log does not say who made a change.

    -p prints values in full that a line cuts short. With -o jsonl each change is one object: path, type, kind (created, changed,
    removed, same, and known for that first line), offset, epoch, timestamp, record, before and after.

EXAMPLES
    >> log -n 2 /image/cluster/brokers/4
    19   2026-11-21T00:21:25.038Z  epoch 1  BROKER_REGISTRATION_CHANGE_RECORD  changed /image/cluster/brokers/4  fenced: true -> false
    198  2026-11-21T00:23:02.550Z  epoch 1  BROKER_REGISTRATION_CHANGE_RECORD  changed /image/cluster/brokers/4  cordonedLogDirs: null -> -
"""


KNOWN: Final = "known"
_FIRST_REACH: Final = 1 << 12
"""The number of offsets before the end that are read first for the last records of the whole tree."""


def run_log(ctx: Context, args: SimpleNamespace) -> None:
    """Print the changes of the path."""
    refuse_deep(args.path or "")
    path = usual_path(absolute_components(args.path, ctx.cwd)) if args.path else []
    if path and (path[0] != "image" or path[1:2] in (["provenance"], ["faults"])):
        is_there = any(True for _ in expand_path(ctx.root, path[:1]))
        ctx.fail(args.path, "no records: `log` works below /image" if is_there else MISSING)
        return
    past = history_of(ctx)
    moment = parse_moment(args.since, now_ms()) if args.since else None
    since = past.offset_of(moment) if moment is not None else 0
    account = _Account(ctx, path)
    changes = account.last(past, since, args.number) if args.number is not None else account.changes(past, since)
    if ctx.output == "text":
        width = len(str(max((past.end_offset() if ctx.at is None else ctx.at) - 1, 0)))
        for change in changes:
            for line in _lines(ctx, change, width):
                ctx.line(line)
            if args.patch and change.kind != KNOWN:
                for line in patch_lines(ctx, change):
                    ctx.out.write("    ")
                    ctx.line(line)
    elif ctx.output in ("json", "jsonl"):
        writer = JsonWriter(ctx.display, ctx.output)
        for change in changes:
            writer.add(change_fields(change))
        writer.close()
    elif ctx.output == "table":
        write_objects(ctx, (_row(ctx, change) for change in changes))
    else:
        write_objects(ctx, map(change_fields, changes))
    for fault in account.faults:
        ctx.complain(f"{ctx.command}: {fault}", 1)
    if not account.found:
        near = nearest_path(account.root(newest_image(ctx)), path)
        guess = "" if near is None else f" (did you mean {near}?)"
        ctx.fail(args.path, f"no record from offset {account.start} on touched it: it never existed in this source{guess}")
    elif not account.count and moment is not None:
        words = f"from offset {since} on" if moment.time_ms is None else f"since {moment_text(moment.time_ms)}"
        end = f"the newest of all is of {moment_text(newest_image(ctx).provenance.timestamp_ms)}"
        ctx.complain(f"{ctx.command}: {args.path or '/'}: no record {words} touched it; {end}", 0)


class _Account:
    """The changes of one path, and how complete they are, which is known once they have been read."""

    def __init__(self, ctx: Context, path: Sequence[str]) -> None:
        self._ctx = ctx
        self._path = list(path)
        self._watch = ChangeWatch([path] if len(path) > 1 else [])
        self.found = not path
        """Whether the path exists or existed."""
        self.count = 0
        self.start = 0
        self.faults: list[str] = []

    def changes(self, past: Past, since: int) -> Iterator[Change]:
        """Yield every change from offset `since` on. If the log begins later, yield the state at its beginning first."""
        story = Timeline(past, _target(self._path), since=since, until=self._ctx.at)
        is_first = True
        self.count = 0
        for touch in story:
            if is_first and since <= story.start:
                yield from self._known(story)
            is_first = False
            yield from self._of(touch)
        if is_first and since <= story.start:
            yield from self._known(story)
        self.start, self.faults = story.start, story.faults
        if since and not self.found:
            self.found = story.has_touches or any(True for _ in expand_path(self.root(story.last), self._path))

    def last(self, past: Past, since: int, count: int) -> Iterable[Change]:
        """Return the last changes. For the whole tree, replay only as much of the log as they need."""
        if _target(self._path).needles is None:
            end = past.end_offset() if self._ctx.at is None else self._ctx.at
            reach = _FIRST_REACH
            while end - reach > max(since, past.starts()[0]):
                found = deque(self.changes(past, end - reach), count)
                if len(found) == count:
                    return found
                reach *= 16
        return deque(self.changes(past, since), count)

    def _known(self, story: Timeline) -> Iterator[Change]:
        """Yield the state at the beginning of the log, unless the log begins at offset 0."""
        self.start = story.start
        if not story.start or len(self._path) < 3:
            return
        root = self.root(story.known)
        origin = Origin(story.start, -1, -1, "")
        for match in expand_path(root, self._path):
            self.found = True
            self.count += 1
            value = None if match.node.is_directory else match.node.value(self._ctx.redact)  # type: ignore[attr-defined]
            yield Change(KNOWN, match.path, match.node.type, origin, None, value, match.node)

    def _of(self, touch: Touch) -> Iterator[Change]:
        before, after = self.root(touch.before), self.root(touch.after)
        places = [(place, touch.origin) for place in touch.places]
        step = Step(touch.before, touch.after, None)
        # A ClearElrRecord touches all topics, even those it does not change.
        shows_same = touch.origin.record != "CLEAR_ELR_RECORD"
        for change in self._watch.changes_at(places, step, before, after, self._ctx.redact, all_touched=shows_same):
            self.found = True
            self.count += 1
            yield change

    def root(self, image: Any) -> Any:
        assert self._ctx.make_root is not None
        return self._ctx.make_root(image, self._ctx.root)


def _target(path: Sequence[str]) -> Target:
    """Return the target in the log: the part of the path before its first wildcard."""
    plain: list[str] = []
    for component in path:
        if compile_component(component) is not None:
            break
        plain.append(component)
    return target_of(plain)


def _lines(ctx: Context, change: Change, width: int) -> Iterator[str]:
    """Yield a change as one line, or as several on a narrow terminal. The offset is padded to `width`, so that lines align."""
    origin = change.origin
    if change.kind == KNOWN:
        words = summary_text(summarize(ctx, change.node))
        yield f"before {origin.offset} only the state is known: {change.path}  {words}".rstrip()
        return
    display = ctx.display
    when = display.paint(DIM, f"{_time(origin.timestamp_ms)}  epoch {origin.epoch}")
    start = display.joined((display.paint(HEADING, str(origin.offset).ljust(width)), when, origin.record), "  ")
    yield from change_lines(ctx, start, change, width + 2)


def _time(timestamp_ms: int) -> str:
    """Return a time with milliseconds, so that lines align."""
    return moment_text(-1) if timestamp_ms < 0 else time_text(timestamp_ms)


def _row(ctx: Context, change: Change) -> dict[str, Any]:
    """Return a change as a row of a table, with the contents of its line of text."""
    origin = change.origin
    is_known = change.kind == KNOWN
    return {
        "offset": origin.offset,
        "time": None if is_known else _time(origin.timestamp_ms),
        "epoch": None if is_known else origin.epoch,
        "record": origin.record or None,
        "kind": change.kind,
        "path": change.path,
        "change": summary_text(summarize(ctx, change.node)) if is_known else change_text(ctx, change) or None,
    }


LOG_COMMAND = make_command(
    run_log,
    LOG_HELP,
    options=(
        Option(names=("-n", "--number"), metavar="N", type="int", help="only the last N changes"),
        Option(
            names=("--since",),
            metavar="MOMENT",
            kind=MOMENT,
            help="only records from that moment on: an offset, a time, or a time ago such as 10m",
        ),
        flag("-p", "--patch", help="the values before and after, a line for each field"),
    ),
    arguments=(Argument(name="path", nargs="?", kind=NODE_PATH, help="what to look at, by default everything"),),
)


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
    write_answer(ctx, objects, _life_lines(found), single=ctx.is_single(args.path))
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


def _life_lines(found: Sequence[tuple[str, Node, Life]]) -> Iterator[str]:
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
