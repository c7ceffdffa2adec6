"""The command `health`: shows faults and unusual states of the cluster."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import JSON_FORMS
from metashell.common.options import Argument, Option, did_you_mean
from metashell.common.values import duration_text
from metashell.metadata.checks import Health, all_checks, judge
from metashell.metadata.checks.facts import BROKERS
from metashell.metadata.nodes.places import paths_of
from metashell.shell.commands import make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.health_text import (
    COLUMNS,
    Shown,
    cluster_size,
    filled,
    finding_row,
    in_order,
    rows_of_names,
    summary_line,
    verdict_lines,
    verdict_row,
)
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.checks import Facts, Found, Verdict
    from metashell.shell.context import Context


HEALTH_HELP: Final = """health - show what is broken in the cluster, and what is unusual

SYNOPSIS
    health [--limit N] [--min-isr N] [--allow KIND[=N]]... [--stuck-after TIME] [--lag-after TIME] [KIND...]

DESCRIPTION
    Counts faults of partitions, replicas, brokers, voters, features and the metadata itself, and names the first of each kind, with
    the time of its beginning if the log has it. The status is 1 if anything is bad, 0 if things are at most unusual.
    With KIND it shows only these kinds.

    min.insync.replicas is that of the topic, else of the leading broker, else of all brokers, else --min-isr (1): settings in
    server.properties are not in the metadata. No partition needs more replicas in sync than it has.

    With --stuck-after a reassignment is bad that had been running for this time when the newest record was written; without it only
    one to an unregistered broker. For a live quorum it also shows brokers and voters that have lagged for --lag-after (10s).

EXAMPLES
    >> health one_replica no_rack reassigning
    unusual  one_replica  2  topics with one replica, though there are brokers for more
             grp-streams-KSTREAM-AGGREGATE-STATE-STORE-0000000001-changelog  last-topic
             endangers: when its broker is down nobody can read or write, and its disk is the only copy
             next: more replicas: metashell reassign apply with a plan that names them
    unusual  no_rack      1  brokers without a rack, though others have one: replicas are then not spread over racks
             /image/cluster/brokers/6
             endangers: a rack that fails takes all replicas of some partitions with it
             next: set broker.rack of these brokers, and restart them
    unusual  reassigning  1  partitions that are being reassigned
             /image/topics/byName/reassigned-1/0 (since 2026-11-21T00:23:06.299Z)
    as of offset 521, epoch 2, 2026-11-21T00:25:57.050Z, committed to 329
"""


_LIMIT: Final = 5
_LAG_MS: Final = 10_000
_WIDTH: Final = 120


def run_health(ctx: Context, args: SimpleNamespace) -> None:
    """Print the findings, causes first."""
    allowed = _allowed(args.allow)
    for kind in args.kind:
        if kind not in _names():
            raise UsageError(f"{kind!r} is not a kind of trouble{did_you_mean(kind, _names())}", kind)
    facts = _facts(ctx, args)
    verdict = judge(facts, set(args.kind) or None)
    show_health(ctx, facts, verdict, _LIMIT if args.limit is None else args.limit, wanted=args.kind)
    for one in verdict.not_run if args.kind else ():
        ctx.complain(f"{ctx.command}: {one.check.id}: {one.because}", STATUS_FAILED)
    # A node that never ran its server has no metadata to read.
    has_none = any(finding.check.id == "never_started" for finding in verdict.findings)
    is_blind = not verdict.ran or (facts.health is None and not has_none)
    if is_blind or facts.holes or any(finding.count > allowed.get(finding.check.id, 0) for finding in verdict.bad):
        ctx.status = max(ctx.status, STATUS_FAILED)


def show_health(ctx: Context, facts: Facts, verdict: Verdict, limit: int, *, wanted: Sequence[str] = ()) -> None:
    """Print a verdict in the requested form. `wanted` are the kinds that the user named, empty for all."""
    shown = list(_shown(ctx, facts, verdict, limit))
    if ctx.output in JSON_FORMS:
        marks = {"timestamp": ctx.image.provenance.timestamp_ms, **ctx.certainty()}
        rows = [*({**finding_row(each), **marks} for each in shown), {**verdict_row(verdict, facts.holes), **marks}]
    else:
        rows = [row for each in shown for row in rows_of_names(each)]
    write_answer(ctx, rows, _lines(ctx, facts, verdict, shown, wanted), columns=COLUMNS)


# ---- what is asked


def _allowed(words: list[str]) -> dict[str, float]:
    """Return the number of findings of each kind that still gives status 0. Errors: UsageError."""
    allowed: dict[str, float] = {}
    for word in words:
        kind, has_count, count = word.partition("=")
        if kind not in _names():
            raise UsageError(f"--allow: {kind!r} is not a kind of trouble{did_you_mean(kind, _names())}", word)
        if has_count and not (count.isascii() and count.isdigit()):
            raise UsageError(f"--allow: {count!r} is not a number of {kind}", word)
        allowed[kind] = int(count[:18]) if has_count else float("inf")
    return allowed


def _facts(ctx: Context, args: SimpleNamespace) -> Facts:
    """Return the facts for the given thresholds. Errors: UsageError for a value that Kafka does not accept."""
    if args.min_isr is not None and not 1 <= args.min_isr < 1 << 31:
        raise UsageError(f"--min-isr: {args.min_isr} is not a min.insync.replicas: give a number from 1 to 2147483647", str(args.min_isr))
    health = ctx.health if args.min_isr is None else Health(ctx.image, static_min_isr=args.min_isr, voter_ids=ctx.voter_ids)
    health = health if args.stuck_after is None else _with_slow(ctx, health, args.stuck_after)
    return ctx.facts(health, _LAG_MS if args.lag_after is None else args.lag_after)


def _with_slow(ctx: Context, health: Health, limit_ms: int) -> Health:
    """Return the health with reassignments that have run longer than `limit_ms`.

    Times are compared with the newest record, so that a directory copied yesterday is judged as of then.
    """
    from metashell.shell.past import partitions_since

    keys = [(topic.id, partition_id) for topic, partition_id in health.partitions_of("reassigning")]
    since = partitions_since(ctx, [("reassigning", key) for key in keys])
    latest_ms = ctx.image.provenance.timestamp_ms - limit_ms
    began = {key: since.latest_ms(("reassigning", key)) for key in keys}
    return health.with_slow(key for key, began_ms in began.items() if began_ms is not None and began_ms <= latest_ms)


# ---- what is shown


def _shown(ctx: Context, facts: Facts, verdict: Verdict, limit: int) -> Iterator[Shown]:
    found = {finding.check.id: finding.first(limit) for finding in verdict.findings}
    since = {} if facts.health is None else _since(ctx, facts.health, found, limit)
    for finding, cause in in_order(verdict):
        id = finding.check.id
        yield Shown(finding, found[id], _paths(facts, found[id]), since.get(id, {}), cause)


def _paths(facts: Facts, found: Sequence[Found]) -> dict[str, str]:
    """Return the paths in the tree of the findings' subjects, by name."""
    paths = {}
    for one in found:
        match one.key:
            case ("partition", _, _) if facts.health is not None:
                paths[one.name] = "/" + "/".join(paths_of(one.key, facts.image)[0])
            case ("broker", id) if facts.health is not None and id in facts.image.cluster.brokers and one.name == str(id):
                paths[one.name] = f"/image/cluster/brokers/{id}"
    return paths


def _since(ctx: Context, health: Health, names: dict[str, list[Found]], limit: int) -> dict[str, dict[str, str]]:
    """Return since when each named state holds, by kind and name, as far as it is known."""
    from metashell.shell.past import NOTHING_KNOWN, SINCE_KINDS, fenced_times, partitions_since

    found: dict[str, dict[str, str]] = {}
    if "fenced" in names:
        found["fenced"] = {str(id): words for id, words in fenced_times(ctx).items()}
    # Partitions change all the time, and for a live quorum each call would have to fetch the whole log.
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
    return {kind: {one.name: times[one.name] for one in names[kind] if one.name in times} for kind, times in found.items()}


def _lines(ctx: Context, facts: Facts, verdict: Verdict, shown: Sequence[Shown], wanted: Sequence[str]) -> Iterator[str]:
    if not shown and wanted and verdict.ran:
        not_run = {one.check.id for one in verdict.not_run}
        yield f"none: {', '.join(kind for kind in dict.fromkeys(wanted) if kind not in not_run)}"
    yield from verdict_lines(ctx.display, shown)
    width = ctx.display.width
    if not wanted:
        yield from filled(summary_line(verdict, holes=facts.holes, what=cluster_size(facts)).split(), width, " ")
    if facts.health is not None and facts.told is None:
        yield from filled(_as_of(ctx).split(), width, " ")


def _as_of(ctx: Context) -> str:
    """Return the position and age of the image: a copy of a disk that stopped last week still looks healthy."""
    from metashell.shell.past import now_ms, position_text

    provenance = ctx.image.provenance
    if provenance.source_kind == BROKERS:
        return "as brokers tell it now"
    age_ms = now_ms() - provenance.timestamp_ms
    # Only people see the age: output for programs and pages must not change by itself.
    ago = f" ({duration_text(age_ms)} ago)" if ctx.display.is_terminal and provenance.timestamp_ms >= 0 and age_ms >= 0 else ""
    certain_to = provenance.certain_to
    certainty = "may not be committed" if certain_to is None else f"committed to {certain_to}"
    certainty = "all of it committed" if certain_to is not None and certain_to >= provenance.end_offset else certainty
    return f"as of {position_text(ctx.image)}{ago}, {certainty}"


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(one.id for one in all_checks()))


HEALTH_COMMAND = make_command(
    run_health,
    HEALTH_HELP,
    options=(
        Option(names=("--limit", "-n"), metavar="N", type="int", help=f"name the first N of each kind, by default {_LIMIT}"),
        Option(names=("--min-isr",), metavar="N", type="int", help="min.insync.replicas in server.properties, by default 1"),
        Option(
            names=("--allow",), metavar="KIND[=N]", multiple=True, kind="health", help="up to N of a kind (or any number) leave status 0"
        ),
        Option(names=("--stuck-after",), metavar="TIME", type="duration", help="reassignments that last longer, such as 6h, are bad"),
        Option(names=("--lag-after",), metavar="TIME", type="duration", help="how long a broker or voter may lag, by default 10s"),
    ),
    arguments=(Argument(name="kind", nargs="*", type="choice", choices=_names(), kind="health", help="only these kinds of trouble"),),
)
