"""The commands diff (between two moments or two sources) and at (show everything as of a moment)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import JsonWriter, counted
from metashell.common.options import Argument, Option, file_option, flag
from metashell.common.terminal import HEADING
from metashell.metadata.history import common_offset, parse_moment
from metashell.metadata.image.differences import Origin, Step, differences
from metashell.metadata.image.image import lacks_some, trouble_lines
from metashell.shell.commands import MOMENT, make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.differences import CHANGED, CREATED, REMOVED, Change, ChangeWatch, change_lines, change_text
from metashell.shell.output import node_object, write_answer, write_objects
from metashell.shell.past import history_of, image_at, is_certain, newest_image, now_ms, position_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.metadata.image import MetadataImage
    from metashell.shell.context import Context


DIFF_HELP: Final = """diff - print what differs between two moments or two sources

SYNOPSIS
    diff [--stat] MOMENT [MOMENT]
    diff [--stat] (-s PATH | -C HOST:PORT[,...]) [MOMENT [MOMENT]]

DESCRIPTION
    Prints every path whose value differs, with both values, grouped and counted. A moment is an offset, a time such as
    2026-11-20T03:00, a time ago such as -2h, or `end`; the second is by default the state that is shown.

    With -s or -C the other source is compared with this one, at the highest committed offset that both have: a copy that is merely
    behind does not differ. A single moment applies to both sources; of two, the second applies to the other source.

    The status is 0 if nothing differs and 1 if something does. Offsets, times and the leader of the quorum are ignored. `may not be
    committed` marks an offset after the newest checkpoint: another leader may replace the records there.

    With -o jsonl each difference is one object: path, type, kind (created, changed, removed), before and after, and for both images
    the offset where it ends and the offset up to which it is committed.

EXAMPLES
    >> diff --stat 300 310
    offset 300 -> offset 310
    4 partitions changed
"""


_ORIGIN = Origin(-1, -1, -1, "")
_INDENT = 4


class _Side(NamedTuple):
    """One image of the comparison; `name` is that of its source if there are two sources."""

    image: MetadataImage
    name: str = ""

    @property
    def text(self) -> str:
        """Return the end offset of the image, with a note if it may not be committed."""
        position = self.image.provenance
        of = f" of {self.name}" if self.name else ""
        return f"offset {position.end_offset}{of}{'' if is_certain(self.image) else ' (may not be committed)'}"


class _Sides(NamedTuple):
    """Both images, and a note on their choice."""

    old: _Side
    new: _Side
    note: str = ""

    @property
    def heading(self) -> str:
        old, new = self.old, self.new
        if new.name and old.image.provenance.end_offset == new.image.provenance.end_offset:
            doubt = "" if is_certain(old.image) or is_certain(new.image) else " (may not be committed)"
            text = f"offset {old.image.provenance.end_offset} of {old.name} and of {new.name}{doubt}"
        else:
            text = f"{old.text} -> {new.text}"
        return f"{text} ({self.note})" if self.note else text

    @property
    def ends(self) -> dict[str, int | None]:
        old, new = self.old.image.provenance, self.new.image.provenance
        return {
            "from_offset": old.end_offset,
            "to_offset": new.end_offset,
            "from_certain_to": old.certain_to,
            "to_certain_to": new.certain_to,
        }


def run_diff(ctx: Context, args: SimpleNamespace) -> None:
    """Compare both images and print the differences."""
    sides = _sides(ctx, args)
    old, new = sides.old.image, sides.new.image
    changes = sorted(_changes(ctx, old, new), key=lambda change: (change.type, change.path))
    if ctx.output == "text":
        for line in _lines(ctx, changes, sides.heading, only_counts=args.stat):
            ctx.line(line)
    else:
        if sides.note:
            ctx.complain(f"{ctx.command}: {sides.heading}", 0)
        objects = _counts(changes) if args.stat else map(_object, changes)
        shown = ({**item, **sides.ends} for item in objects)
        if ctx.output == "table" and not args.stat:
            write_objects(ctx, (_row(ctx, change) for change in changes))
        elif ctx.output in ("json", "jsonl"):
            writer = JsonWriter(ctx.display, ctx.output)
            for item in shown:
                writer.add(item)
            writer.close()
        else:
            write_objects(ctx, shown)
    for image in (old, new):
        for line in trouble_lines(image):
            ctx.complain(f"{ctx.command}: {line}", int(lacks_some(image)))
    if changes:
        ctx.status = max(ctx.status, 1)


def _sides(ctx: Context, args: SimpleNamespace) -> _Sides:
    moments = args.moment
    if len(moments) > 2:
        raise UsageError(f"{moments[2]}: two moments are enough", moments[2])
    if args.snapshot or args.bootstrap_controller:
        if args.snapshot and args.bootstrap_controller:
            raise UsageError("-s and -C exclude each other", "-s")
        return _of_two_sources(ctx, args)
    if not moments:
        raise UsageError("nothing to compare with: name a moment, or another source with -s or -C", "")
    old = _Side(image_at(ctx, moments[0]))
    if len(moments) > 1:
        return _Sides(old, _Side(image_at(ctx, moments[1])))
    return _Sides(old, _Side(ctx.image if ctx.at is not None else image_at(ctx, "end")))


def _of_two_sources(ctx: Context, args: SimpleNamespace) -> _Sides:
    if ctx.other_past is None:
        raise MetashellError(f"{ctx.source_label}: no other source can be opened here")
    mine, other = history_of(ctx), ctx.other_past(args.snapshot, args.bootstrap_controller)
    if mine.cluster_id and other.cluster_id and mine.cluster_id != other.cluster_id:
        raise UsageError(f"these are two clusters: {mine.cluster_id} and {other.cluster_id}", args.snapshot)
    names = (ctx.source_label, args.snapshot or other.path)
    if args.moment:
        moments = [parse_moment(text, now_ms()) for text in args.moment]
        return _Sides(_Side(mine.image_of(moments[0]), names[0]), _Side(other.image_of(moments[-1]), names[1]))
    if ctx.at is not None:
        return _Sides(_Side(ctx.image, names[0]), _Side(other.image(ctx.at), names[1]))
    reaches = (mine.reach(), other.reach())
    common = common_offset(reaches)
    if common is None:
        ctx.complain(f"{ctx.command}: no offset is in both: their ends are compared", 0)
        return _Sides(_Side(mine.newest(), names[0]), _Side(other.newest(), names[1]))
    longer = [f"{name} goes on to {reach.end}" for name, reach in zip(names, reaches, strict=True) if reach.end > common.offset]
    note = f"{', '.join(longer)}; with `end` the ends are compared" if longer else ""
    return _Sides(_Side(mine.image(common.offset), names[0]), _Side(other.image(common.offset), names[1]), note)


def _changes(ctx: Context, old: MetadataImage, new: MetadataImage) -> Iterator[Change]:
    assert ctx.make_root is not None
    before, after = ctx.make_root(old, ctx.root), ctx.make_root(new, ctx.root)
    places = ((place, _ORIGIN) for place in differences(old, new))
    return ChangeWatch([]).changes_at(places, Step(old, new, None), before, after, ctx.redact)


def _lines(ctx: Context, changes: list[Change], heading: str, *, only_counts: bool) -> Iterator[str]:
    yield heading
    if not changes:
        yield "no difference"
    shown = ""
    for change in changes:
        if change.type != shown:
            shown = change.type
            yield ctx.display.paint(HEADING, _count_text([other for other in changes if other.type == shown], shown))
        if not only_counts:
            yield from change_lines(ctx, "", change, _INDENT)


def _count_text(changes: list[Change], type: str) -> str:
    kinds = Counter(change.kind for change in changes)
    first, *rest = [(kind, kinds[kind]) for kind in (CREATED, CHANGED, REMOVED) if kinds[kind]]
    return ", ".join([f"{counted(first[1], type)} {first[0]}", *(f"{count} {kind}" for kind, count in rest)])


def _counts(changes: list[Change]) -> Iterator[dict[str, Any]]:
    for (type, kind), count in sorted(Counter((change.type, change.kind) for change in changes).items()):
        yield {"type": type, "kind": kind, "count": count}


def _row(ctx: Context, change: Change) -> dict[str, Any]:
    """Return a change as a row of a table, with the contents of its line of text."""
    return {"type": change.type, "kind": change.kind, "path": change.path, "change": change_text(ctx, change) or None}


def _object(change: Change) -> dict[str, Any]:
    return {"path": change.path, "type": change.type, "kind": change.kind, "before": change.before, "after": change.after}


DIFF_COMMAND = make_command(
    run_diff,
    DIFF_HELP,
    options=(
        flag("--stat", help="only how many of each kind"),
        file_option("--snapshot", "-s", metavar="PATH", help="another file or directory to compare with, or @NAME of the settings"),
        Option(names=("--bootstrap-controller", "-C"), metavar="ADDRESSES", help="a live quorum to compare with"),
    ),
    arguments=(Argument(name="moment", nargs="*", kind=MOMENT, help="an offset, a time, a time ago (-2h), or `end`"),),
)


AT_HELP: Final = """at - show everything as it was at an offset or a time

SYNOPSIS
    at [MOMENT]

DESCRIPTION
    From now on all commands answer as of MOMENT: an offset, a time such as 2026-11-20T03:00 (UTC where no zone is given), a time ago
    such as -2h, or `end`, which goes back to the newest state. An offset is the state before the record of that offset, as the name of a
    checkpoint gives it; a time is the state before the first batch that was written later. Without MOMENT it prints the present moment.

    Older checkpoints in the directory are used as far back as they reach. If the clocks of controllers differ, times in the log may
    run backwards: then a time means the first later batch after the newest checkpoint that is not later. Groups are not shown: their
    logs have other offsets.

EXAMPLES
    >> at 300
    at offset 300, epoch 1, 2026-11-21T00:23:36.718Z
    >> at
    at offset 300, epoch 1, 2026-11-21T00:23:36.718Z
    >> at end
    at the end: offset 521, epoch 2, 2026-11-21T00:25:57.050Z
"""


def run_at(ctx: Context, args: SimpleNamespace) -> None:
    """Go to the moment and print its position."""
    if args.moment:
        moment = parse_moment(args.moment, now_ms())
        image = image_at(ctx, args.moment)
        if moment.is_end:
            ctx.at = None
            ctx.show(image)
            ctx.present = None
            ctx.refresh()
        else:
            ctx.present = newest_image(ctx)
            ctx.at = image.provenance.end_offset
            ctx.show(image)
        for line in trouble_lines(image):
            ctx.complain(f"{ctx.command}: {line}", STATUS_FAILED if lacks_some(image) else 0)
    is_past = ctx.at is not None
    words = f"at {position_text(ctx.image)}" if is_past else f"at the end: {position_text(ctx.image)}"
    position = ctx.image.provenance
    fields = {"offset": position.offset, "epoch": position.epoch, "timestamp": position.timestamp_ms, "is_newest": not is_past}
    write_answer(ctx, [node_object(ctx, "/", ctx.root, **fields)], [words], single=True)


AT_COMMAND = make_command(
    run_at,
    AT_HELP,
    arguments=(Argument(name="moment", nargs="?", kind=MOMENT, help="an offset, a time, a time ago (-2h), or `end`"),),
)
