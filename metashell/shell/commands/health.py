"""The commands `health`, for faults and unusual states of the cluster, and `status`, for what was read and how far it is committed."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.releases import metadata_version_name
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import JSON_FORMS, aligned, counted, write_rows
from metashell.common.options import Argument, Option, did_you_mean
from metashell.common.terminal import BAD, UNUSUAL
from metashell.common.values import duration_text, moment_text
from metashell.metadata.checks import Health, all_checks, judge
from metashell.metadata.checks.facts import BROKERS
from metashell.metadata.image.image import lacks_some, newer_line, newer_parts, newer_values
from metashell.metadata.nodes.cluster import fault_value
from metashell.metadata.nodes.places import paths_of
from metashell.shell.commands import make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.health_text import (
    COLUMNS,
    NOTE,
    Shown,
    cluster_size,
    evidence_text,
    filled,
    finding_row,
    in_order,
    leader_of,
    rows_of_names,
    short_verdict,
    summary_line,
    verdict_lines,
    verdict_row,
    voters_of,
)
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.metadata.checks import Facts, Found, Verdict
    from metashell.metadata.image import MetadataImage
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


STATUS_HELP: Final = """status - show what was read, how far it is committed, and what is wrong

SYNOPSIS
    status

DESCRIPTION
    Shows the findings of `health` in a line, then the causes of the bad ones, the end of the metadata (`end_offset` is the next
    offset to be written), the leader and the voters (from quorum-state if it has a newer epoch than the log or the log was
    compacted, which is noted), the offset up to which the quorum has committed the metadata (in a directory: the newest complete
    checkpoint), counts of topics, brokers and other things, records that could not be applied, and anything newer than the newest
    release known here. For a live quorum it also shows the high watermark and the lag of this image. With -o json it is one object,
    in which `complete` is true if all records were read and applied.

EXAMPLES
    >> status
    health            unusual: min_isr_at_factor 8, one_replica 2, few_state_replicas 3, no_rack 1, reassigning 1
    source            demo (directory)
    offset            520, epoch 2, 2026-11-21T00:25:57.050Z
    end offset        521, committed to 329
    leader            2, epoch 2
    voters            1, 2, 3
    metadata.version  4.3-IV0
    brokers           3, 0 fenced
    controllers       3
    topics            15
    partitions        36, 0 leaderless, 0 under-replicated, 1 reassigning
    configs           16 resources
    acls              8
    quotas            9 entities
    scram             5 credentials
    tokens            2
    faults            0
"""


_FAULTS_SHOWN = 5
_FOUND_SHOWN = 3
_TOLD = frozenset({"throttles", "voters"})
"""Checks whose findings are printed in full although they are only unusual."""


def run_status(ctx: Context, args: SimpleNamespace) -> None:
    """Print the state of the image as a whole."""
    status = describe_status(ctx)
    if ctx.output == "table":
        # A table with this single row would be wider than any screen.
        write_rows(ctx.display, "table", ("name", "value"), _named_values(status))
        return
    write_answer(ctx, [status], aligned([*_health_lines(ctx), *_status_rows(ctx, status)]), single=True)


def _health_lines(ctx: Context) -> Iterator[tuple[str, str]]:
    """Yield the findings of `health` as one line, then the first of each bad cause. No other line of `status` shows faults."""
    facts = ctx.facts()
    verdict = judge(facts)
    is_bad = bool(verdict.bad or facts.holes)
    words = short_verdict(verdict, holes=facts.holes)
    yield "health", ctx.display.paint(BAD if is_bad else UNUSUAL if verdict.findings else "", words)
    told = [(root, found) for root, _ in verdict.causes() for found in root.first(_FOUND_SHOWN) if found.cause or found.evidence]
    for root, found in told:
        if root.check.severity == BAD or root.check.subject in _TOLD:
            parts = [part for part in (found.cause, *map(evidence_text, found.evidence)) if part]
            yield "", f"{root.check.id}: {found.name} ({'; '.join(parts)})"


def describe_status(ctx: Context) -> dict[str, Any]:
    """Return the status as one JSON object."""
    image, provenance = ctx.image, ctx.image.provenance
    faults = image.faults
    newer = newer_parts(image)
    # quorum-state holds the present election, not that of an earlier moment.
    noted = cache(ctx.noted_election if ctx.at is None else _nobody)
    leader, leader_source = leader_of(image, noted)
    voters, voters_source = voters_of(image, noted)
    return {
        "path": "/",
        "type": "status",
        "source": ctx.source_label,
        "source_kind": provenance.source_kind,
        "offset": provenance.offset,
        "epoch": provenance.epoch,
        "timestamp": provenance.timestamp_ms,
        "metadata_version": _metadata_version(image),
        "leader": None if leader is None or leader.id < 0 else {"id": leader.id, "epoch": leader.epoch},
        "leader_epoch": None if leader is None else leader.epoch,
        "last_leader": None if image.leader is None else {"id": image.leader.id, "epoch": image.leader.epoch},
        "leader_source": leader_source,
        "voters": voters,
        "voters_source": voters_source,
        "counts": _counts(ctx),
        "fault_count": len(faults),
        "faults": [fault_value(fault) for fault in faults[:_FAULTS_SHOWN]],
        "newer": newer_values(newer),
        "complete": not lacks_some(image),
        **({} if ctx.feed is None else ctx.feed.view().details),
        **ctx.certainty(),
    }


def _nobody() -> None:
    return None


def _metadata_version(image: MetadataImage) -> str | None:
    level = image.features.metadata_version
    return None if level is None else metadata_version_name(level)


def _counts(ctx: Context) -> dict[str, int]:
    image, counts = ctx.image, ctx.health.counts()
    brokers = image.cluster.brokers.values()
    fenced = sum(1 for broker in brokers if broker.fenced)
    return {
        "brokers": len(image.cluster.brokers),
        "brokers_fenced": fenced,
        "controllers": len(image.cluster.controllers),
        "topics": len(image.topics),
        **{name: counts[name] for name in ("partitions", "leaderless", "under_replicated", "reassigning")},
        "config_resources": len(image.configs),
        "acls": len(image.acls.by_id),
        "quota_entities": len(image.client_quotas),
        "scram_credentials": sum(len(users) for users in image.scram.values()),
        "delegation_tokens": len(image.delegation_tokens),
    }


def _named_values(status: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield one row per field, and one per count."""
    for name, value in status.items():
        if name not in ("path", "type"):
            yield from value.items() if name == "counts" else [(name, value)]


def _status_rows(ctx: Context, status: dict[str, Any]) -> list[tuple[str, str]]:
    counts = status["counts"]
    display = ctx.display

    def some(role: str, count: int, words: str) -> str:
        """Return a count, coloured if it is not zero."""
        return display.paint(role if count else "", f"{count} {words}".rstrip())

    lines = [
        ("source", f"{status['source']} ({status['source_kind']})"),
        ("offset", f"{status['offset']}, epoch {status['epoch']}, {moment_text(status['timestamp'])}"),
        ("end offset", display.joined((f"{status['end_offset']}", _certainty_words(ctx, status)), ", ")),
        ("leader", _leader_words(status)),
        *_live_lines(ctx, status),
        ("voters", (", ".join(str(voter["id"]) for voter in status["voters"]) or "unknown") + _source_words(status["voters_source"])),
        ("metadata.version", status["metadata_version"] or "no metadata.version"),
        ("brokers", display.joined((f"{counts['brokers']}", some(BAD, counts["brokers_fenced"], "fenced")), ", ")),
        ("controllers", str(counts["controllers"])),
        ("topics", str(counts["topics"])),
        (
            "partitions",
            display.joined(
                (
                    f"{counts['partitions']}",
                    some(BAD, counts["leaderless"], "leaderless"),
                    some(BAD, counts["under_replicated"], "under-replicated"),
                    some(UNUSUAL, counts["reassigning"], "reassigning"),
                ),
                ", ",
            ),
        ),
        ("configs", counted(counts["config_resources"], "resource")),
        ("acls", str(counts["acls"])),
        ("quotas", counted(counts["quota_entities"], "entity", "entities")),
        ("scram", counted(counts["scram_credentials"], "credential")),
        ("tokens", str(counts["delegation_tokens"])),
        ("faults", some(BAD, status["fault_count"], "")),
    ]
    lines += [("", display.paint(BAD, str(fault))) for fault in ctx.image.faults[:_FAULTS_SHOWN]]
    if status["fault_count"] > _FAULTS_SHOWN:
        lines.append(("", f"and {status['fault_count'] - _FAULTS_SHOWN} more; /image/faults has all"))
    if status["newer"]:
        lines.append(("newer", display.paint(UNUSUAL if status["complete"] else BAD, newer_line(newer_parts(ctx.image)))))
    return lines


def _leader_words(status: dict[str, Any]) -> str:
    leader, epoch, last = status["leader"], status["leader_epoch"], status["last_leader"]
    source = _source_words(status["leader_source"])
    if leader is not None:
        return f"{leader['id']}, epoch {leader['epoch']}{source}"
    if epoch is None:
        return "unknown"
    led = "" if last is None else f"; the last that led: {last['id']} in epoch {last['epoch']}"
    return f"no leader known, epoch {epoch}{source}{led}"


def _source_words(source: str | None) -> str:
    return f" (from {source})" if source == NOTE else ""


def _live_lines(ctx: Context, status: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines that only a live source has."""
    if "lag" not in status:
        return []
    lag = "lag unknown" if status["lag"] is None else f"lag {status['lag']}"
    parts = [ctx.display.paint("" if status["lag"] == 0 else UNUSUAL, lag), f"high watermark {status['high_watermark']}"]
    return [("quorum", ctx.display.joined([*parts, *([ctx.display.paint(BAD, status["trouble"])] if status["trouble"] else [])], ", "))]


def _certainty_words(ctx: Context, status: dict[str, Any]) -> str:
    certain_to, end_offset = status["certain_to"], status["end_offset"]
    if certain_to is not None and certain_to >= end_offset:
        return "all of it committed"
    return ctx.display.paint(UNUSUAL, "may not be committed" if certain_to is None else f"committed to {certain_to}")


STATUS_COMMAND = make_command(run_status, STATUS_HELP)
