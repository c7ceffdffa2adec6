"""The command `status`: shows what was read, how far it is committed, and what is wrong."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.releases import metadata_version_name
from metashell.common.forms import aligned, counted, write_rows
from metashell.common.terminal import BAD, UNUSUAL
from metashell.common.values import moment_text
from metashell.metadata.checks import judge
from metashell.metadata.image.image import lacks_some, newer_line, newer_parts, newer_values
from metashell.metadata.nodes.cluster import fault_value
from metashell.shell.commands import make_command
from metashell.shell.health_text import NOTE, evidence_text, leader_of, short_verdict, voters_of
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.metadata.image import MetadataImage
    from metashell.shell.context import Context


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
    write_answer(ctx, [status], aligned([*_health_lines(ctx), *_lines(ctx, status)]), single=True)


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


def _lines(ctx: Context, status: dict[str, Any]) -> list[tuple[str, str]]:
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
