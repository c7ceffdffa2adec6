"""health - show what is broken in the cluster, and what is unusual

SYNOPSIS
    health [--limit N] [--min-isr N] [--allow KIND[=N]]... [--stuck-after TIME] [--lag-after TIME] [KIND...]

DESCRIPTION
    Counts what is wrong with partitions, replicas, brokers, voters, features and the metadata itself, and names the first of each,
    with the time since which it is so where the log says it. The status is 1 if anything is bad, 0 if things are at most unusual.
    With KIND it shows only those.

    min.insync.replicas is that of the topic, else of the broker that leads, else of all brokers, else --min-isr (1): what
    server.properties says is not in the metadata. No partition needs more replicas in sync than it has.

    With --stuck-after reassignments that were going on for so long when the newest record was written are bad; without it only
    those to a broker that is not there. Of a live quorum it also shows brokers and voters that have lagged for --lag-after (10s).

EXAMPLES
    >> health
    bad      unclean      2  partitions whose leader was elected uncleanly and has not recovered
             /image/topics/byName/grp-streams-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog/0 (since 2026-11-21T00:24:11.348Z)
             /image/topics/byName/grp-streams-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog/5 (since 2026-11-21T00:24:11.348Z)
    unusual  reassigning  1  partitions that are being reassigned
             /image/topics/byName/reassigned-1/0 (since 2026-11-21T00:23:06.299Z)
    as of offset 521, epoch 2, 2026-11-21T00:25:57.050Z, certain to 329
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from metashell.amounts import duration_text
from metashell.errors import MetashellError, UsageError
from metashell.forms import JSON_FORMS, text_width
from metashell.health import BAD, BITS, KINDS, Finding, Health
from metashell.nodes.places import paths_of
from metashell.options import Argument, Option
from metashell.options.values import did_you_mean
from metashell.shell.command import make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.health_changes import nothing_wrong
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import SimpleNamespace

    from metashell.shell.context import Context

_NAMES: Final = tuple(kind.name for kind in KINDS)
_BROKER_KINDS: Final = ("fenced", "shutting_down")
_SEVERITY_WIDTH: Final = len("unusual")
_LIMIT: Final = 5
_LAG_MS: Final = 10_000
_WIDTH: Final = 120
_LAGGING: Final = "lagging"
_NOT_FOLLOWED: Final = "not_followed"
_RACKS: Final = "racks"
_RACKS_SHOWN: Final = 5
_ROOM_MIN: Final = 20
_UNREGISTERED_VOTER: Final = "unregistered_voter"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A finding with the first of its names, their paths where they have one, since when they are so where that is known, and of
    partitions on few racks those on which they have no replica."""

    finding: Finding
    names: Sequence[str]
    paths: Sequence[str]
    since: dict[str, str]
    lacks: dict[str, list[str]]

    def words(self) -> Iterator[tuple[str, str]]:
        """What the text names, each with what is known of it."""
        for name, word in zip(self.names, self.paths or self.names, strict=True):
            if name in self.since:
                yield word, f"(since {self.since[name]})"
            elif name in self.lacks:
                racks = self.lacks[name]
                more = f" and {len(racks) - _RACKS_SHOWN} more" if len(racks) > _RACKS_SHOWN else ""
                yield word, f"(none on {', '.join(racks[:_RACKS_SHOWN])}{more})"
            else:
                yield word, ""


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the findings, worst first."""
    allowed = _allowed(args.allow)
    wanted = list(dict.fromkeys(args.kind))
    health = _health(ctx, args)
    unknown = _report_unknown(ctx, health, wanted)
    if (lagging := _lagging(ctx, _LAG_MS if args.lag_after is None else args.lag_after)) is None:
        unknown.add(_LAGGING)
    health = health.with_told({_LAGGING: lagging or (), _NOT_FOLLOWED: _trouble(ctx)})
    findings = [finding for finding in health.findings() if not wanted or finding.kind.name in wanted]
    limit = _LIMIT if args.limit is None else args.limit
    shown = _shown(ctx, health, findings, limit)
    rows = (row for each in shown for row in ([_row(ctx, each)] if ctx.output in JSON_FORMS else _rows_of_names(ctx, each)))
    lines = _lines(ctx, health, shown, wanted, unknown)
    write_answer(ctx, rows, lines, columns=("severity", "kind", "count", "name", "since"))
    if any(finding.kind.severity == BAD and finding.count > allowed.get(finding.kind.name, 0) for finding in findings):
        ctx.status = max(ctx.status, STATUS_FAILED)


# ---- what is asked


def _allowed(words: list[str]) -> dict[str, float]:
    """How many of each kind are no reason for a status of 1. Errors: UsageError."""
    allowed: dict[str, float] = {}
    for word in words:
        kind, has_count, count = word.partition("=")
        if kind not in _NAMES:
            raise UsageError(f"--allow: {kind!r} is no kind of trouble{did_you_mean(kind, _NAMES)}", word)
        if has_count and not (count.isascii() and count.isdigit()):
            raise UsageError(f"--allow: {count!r} is not a number of {kind}", word)
        allowed[kind] = int(count[:18]) if has_count else float("inf")
    return allowed


def _health(ctx: Context, args: SimpleNamespace) -> Health:
    """The health of the image under the thresholds that were given. Errors: UsageError for one that Kafka does not take."""
    if args.min_isr is not None and not 1 <= args.min_isr < 1 << 31:
        raise UsageError(f"--min-isr: {args.min_isr} is no min.insync.replicas: a number from 1 to 2147483647", str(args.min_isr))
    health = ctx.health if args.min_isr is None else Health(ctx.image, static_min_isr=args.min_isr, voter_ids=ctx.voter_ids)
    return health if args.stuck_after is None else _with_slow(ctx, health, args.stuck_after)


def _trouble(ctx: Context) -> Sequence[str]:
    """Why a quorum is not followed."""
    trouble = "" if ctx.feed is None or ctx.at is not None else ctx.feed.view().trouble
    return [trouble] if trouble else []


def _lagging(ctx: Context, limit_ms: int) -> Sequence[str] | None:
    """The replicas of the metadata that lag, none where no quorum is live; None where its leader cannot be asked, which is reported."""
    if ctx.lagging is None or ctx.at is not None:
        return ()
    try:
        return ctx.lagging(limit_ms)
    except MetashellError as error:
        ctx.complain(f"{ctx.command}: what lags is not known: {error}", STATUS_FAILED)
        return None


def _with_slow(ctx: Context, health: Health, limit_ms: int) -> Health:
    """Times are compared with that of the newest record: a directory that was copied yesterday is judged as of then."""
    from metashell.shell.lifespan import partitions_since

    keys = [(topic.id, partition_id) for topic, partition_id in health.partitions_of("reassigning")]
    since = partitions_since(ctx, [("reassigning", key) for key in keys])
    latest_ms = ctx.image.provenance.timestamp_ms - limit_ms
    began = {key: since.latest_ms(("reassigning", key)) for key in keys}
    return health.with_slow(key for key, began_ms in began.items() if began_ms is not None and began_ms <= latest_ms)


def _report_unknown(ctx: Context, health: Health, wanted: Sequence[str]) -> set[str]:
    """What was asked for by name and cannot be known here, which is reported: that nothing was found would be no answer."""
    unknown = {}
    if _LAGGING in wanted and (ctx.lagging is None or ctx.at is not None):
        unknown[_LAGGING] = "only the leader of a live quorum knows; attach with -C"
    if _UNREGISTERED_VOTER in wanted and not health.voters():
        unknown[_UNREGISTERED_VOTER] = "neither a record nor quorum-state says who votes"
    for kind, why in unknown.items():
        ctx.complain(f"{ctx.command}: {kind}: {why}", STATUS_FAILED)
    return set(unknown)


# ---- what is shown


def _shown(ctx: Context, health: Health, findings: Sequence[Finding], limit: int) -> list[_Shown]:
    names = {finding.kind.name: list(islice(health.names(finding.kind.name), limit)) for finding in findings}
    since = _since(ctx, health, names, limit)
    return [
        _Shown(finding, shown, _paths(health, kind, limit), since.get(kind, {}), _lacks(health, limit) if kind == _RACKS else {})
        for finding in findings
        for kind, shown in [(finding.kind.name, names[finding.kind.name])]
    ]


def _paths(health: Health, kind: str, limit: int) -> list[str]:
    if kind in BITS:
        found = islice(health.partitions_of(kind), limit)
        return ["/" + "/".join(paths_of(("partition", topic.id, partition_id), health.image)[0]) for topic, partition_id in found]
    if kind in _BROKER_KINDS:
        return [f"/image/cluster/brokers/{id}" for id in islice(health.names(kind), limit)]
    return []


def _lacks(health: Health, limit: int) -> dict[str, list[str]]:
    """The racks on which the first partitions have no replica, by name."""
    found = islice(health.partitions_of(_RACKS), limit)
    return {health.partition_name(topic, partition_id): health.racks_without(topic, partition_id) for topic, partition_id in found}


def _since(ctx: Context, health: Health, names: dict[str, list[str]], limit: int) -> dict[str, dict[str, str]]:
    """Since when what is named is so, by kind and name, as far as it is known."""
    from metashell.shell.lifespan import NOTHING_KNOWN, SINCE_KINDS, fenced_times, partitions_since

    found: dict[str, dict[str, str]] = {}
    if "fenced" in names:
        found["fenced"] = {str(id): words for id, words in fenced_times(ctx).items()}
    # Partitions change all the time, and of a live quorum all would have to be fetched for each look.
    if ctx.past is not None and not (ctx.feed is not None and ctx.feed.is_live):
        keys = {
            (kind, (topic.id, partition_id)): health.partition_name(topic, partition_id)
            for kind in names
            if kind in SINCE_KINDS
            for topic, partition_id in islice(health.partitions_of(kind), limit)
        }
        try:
            since = partitions_since(ctx, keys)
        except MetashellError:
            since = NOTHING_KNOWN
        for (kind, key), name in keys.items():
            if (words := since.words((kind, key))) is not None:
                found.setdefault(kind, {})[name] = words
    return {kind: {name: times[name] for name in names[kind] if name in times} for kind, times in found.items()}


def _row(ctx: Context, shown: _Shown) -> dict[str, Any]:
    kind = shown.finding.kind
    return {
        "path": "/",
        "type": "health",
        "severity": kind.severity,
        "kind": kind.name,
        "count": shown.finding.count,
        "description": kind.words,
        "names": shown.names,
        **({"paths": shown.paths} if shown.paths else {}),
        **({"since": shown.since} if shown.since else {}),
        **({"racks_without": shown.lacks} if shown.lacks else {}),
        "timestamp": ctx.image.provenance.timestamp_ms,
        **ctx.certainty(),
    }


def _rows_of_names(ctx: Context, shown: _Shown) -> Iterator[dict[str, Any]]:
    """A row for each name, as tables are read: the count is that of all there are, also of those that are not named."""
    kind = shown.finding.kind
    named = zip(shown.names, shown.paths or shown.names, strict=True) if shown.names else [("", None)]
    for name, word in named:
        yield {
            "path": "/",
            "type": "health",
            "severity": kind.severity,
            "kind": kind.name,
            "count": shown.finding.count,
            "name": word,
            "since": shown.since.get(name),
            "description": kind.words,
            "racks_without": ",".join(shown.lacks.get(name, ())) or None,
            "timestamp": ctx.image.provenance.timestamp_ms,
            **ctx.certainty(),
        }


def _lines(ctx: Context, health: Health, found: Sequence[_Shown], wanted: Sequence[str], unknown: set[str]) -> Iterator[str]:
    """The lines of an answer; all kinds are `wanted` where none is named."""
    known = [kind for kind in wanted if kind not in unknown]
    if not found and not wanted:
        yield nothing_wrong(health, what="nothing else" if unknown else "nothing")
    elif not found and known:
        yield f"none: {', '.join(known)}"
    kind_width = max((len(each.finding.kind.name) for each in found), default=0)
    count_width = max((len(str(each.finding.count)) for each in found), default=0)
    indent = _SEVERITY_WIDTH + kind_width + count_width + 6
    width = ctx.display.width
    is_narrow = width is not None and width - indent < _ROOM_MIN
    room = None if width is None else width - (_SEVERITY_WIDTH + 2 if is_narrow else indent)
    for each in found:
        kind, count = each.finding.kind, each.finding.count
        severity = f"{kind.severity:<{_SEVERITY_WIDTH}}"
        words = _filled(kind.words.split(), room, " ")
        if is_narrow:
            words.insert(0, "")
        # The words for severities are those for colours.
        painted = ctx.display.paint(kind.severity, severity)
        yield ctx.display.joined((painted, f"  {kind.name:<{kind_width}}  {count:>{count_width}}  {words[0]}"))
        yield from (f"{'':{_SEVERITY_WIDTH + 2 if is_narrow else indent}}{line}" for line in words[1:])
        yield from _name_lines(each, width)
    yield from _filled(_as_of(ctx).split(), width, " ")


def _as_of(ctx: Context) -> str:
    """How old all this is: a copy of a disk that stopped last week looks as healthy as it did then."""
    from metashell.shell.looking_back import now_ms, place_words

    provenance = ctx.image.provenance
    age_ms = now_ms() - provenance.timestamp_ms
    # Only for people: what a program reads or a page shows must not change by itself.
    ago = f" ({duration_text(age_ms)} ago)" if ctx.display.is_terminal and provenance.timestamp_ms >= 0 and age_ms >= 0 else ""
    certain_to = provenance.certain_to
    certainty = "none of it certain" if certain_to is None else f"certain to {certain_to}"
    certainty = "all of it certain" if certain_to is not None and certain_to >= provenance.end_offset else certainty
    return f"as of {place_words(ctx.image)}{ago}, {certainty}"


def _name_lines(shown: _Shown, width: int | None) -> Iterator[str]:
    """The names, as many as fit on each line; what is known of one may stand below it."""
    indent = _SEVERITY_WIDTH + 2
    room = (width or _WIDTH) - indent
    words = []
    for name, known in shown.words():
        text = f"{name} {known}" if known else name
        if width is None or text_width(text) <= room:
            words.append(text)
        else:
            words += [name, *([f"  {known}"] if known else [])]
    more = shown.finding.count - len(shown.names)
    lines = _filled([*words, *([f"and {more} more"] if more and words else [])], room, "  ")
    return (f"{'':{indent}}{line}" for line in lines)


def _filled(words: Iterable[str], room: int | None, between: str) -> list[str]:
    """Lines of words, as many as there is room for in each; a longer word is a line by itself."""
    lines: list[str] = []
    for word in words:
        if lines and (room is None or text_width(lines[-1]) + len(between) + text_width(word) <= room):
            lines[-1] += between + word
        else:
            lines.append(word)
    return lines


COMMAND = make_command(
    run,
    __doc__,
    options=(
        Option(names=("--limit", "-n"), metavar="N", type="int", help=f"name the first N of each kind, by default {_LIMIT}"),
        Option(names=("--min-isr",), metavar="N", type="int", help="min.insync.replicas in server.properties, by default 1"),
        Option(
            names=("--allow",), metavar="KIND[=N]", multiple=True, kind="health", help="up to N of a kind (or any number) leave status 0"
        ),
        Option(names=("--stuck-after",), metavar="TIME", type="duration", help="reassignments that last longer, such as 6h, are bad"),
        Option(names=("--lag-after",), metavar="TIME", type="duration", help="how long a broker or voter may lag, by default 10s"),
    ),
    arguments=(Argument(name="kind", nargs="*", type="choice", choices=_NAMES, kind="health", help="only these kinds of trouble"),),
)
