"""status - show what was read, how far it is certain, and what is wrong

SYNOPSIS
    status

DESCRIPTION
    Shows where the metadata ends (`end_offset` is the next offset to be written), the leader and the voters (if the log was
    compacted they come from quorum-state, and the answer says so), the offset up to which the quorum has certainly committed it
    (in a directory: the newest complete checkpoint), the counts of everything, and the records that could not be applied. For a
    live quorum it also shows the high watermark and how far this image is behind. With -o json it is one object.

EXAMPLES
    >> status
    source            demo (directory)
    offset            520, epoch 2, 2026-11-21T00:25:57.05Z
    end offset        521, certain to 329
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

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.errors import MetashellError
from metashell.forms import aligned, counted, write_rows
from metashell.nodes.java_text import utc_time_text
from metashell.nodes.provenance import fault_value
from metashell.shell.command import make_command
from metashell.shell.context import STATUS_FAILED
from metashell.shell.health import image_health
from metashell.shell.output import write_answer
from metashell.values import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.image import MetadataImage
    from metashell.image.voters import Leader
    from metashell.shell.context import Context

_FAULTS_SHOWN = 5
_LOG, _NOTE = "log", "quorum-state"


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print the state of the image as a whole."""
    status = describe(ctx)
    if ctx.output == "table":
        # As one row it would be wider than any screen.
        write_rows(ctx.display, "table", ("name", "value"), _named_values(status))
        return
    write_answer(ctx, [status], aligned(_lines(ctx, status)), single=True)


def describe(ctx: Context) -> dict[str, Any]:
    """The status as one JSON object."""
    image, provenance = ctx.image, ctx.image.provenance
    faults = image.faults
    noted = _noted_election(ctx) if image.leader is None else None
    leader, leader_source = _leader(image, noted)
    voters, voters_source = _voters(image, noted)
    return {
        "path": "/",
        "type": "status",
        "source": ctx.source_label,
        "source_kind": provenance.source_kind,
        "offset": provenance.offset,
        "epoch": provenance.epoch,
        "timestamp": provenance.timestamp_ms,
        "metadata_version": _metadata_version(image),
        "leader": None if leader is None else {"id": leader.id, "epoch": leader.epoch},
        "leader_source": leader_source,
        "voters": voters,
        "voters_source": voters_source,
        "counts": _counts(image),
        "fault_count": len(faults),
        "faults": [fault_value(fault) for fault in faults[:_FAULTS_SHOWN]],
        **({} if ctx.feed is None else ctx.feed.view().details),
        **ctx.certainty(),
    }


def _metadata_version(image: MetadataImage) -> str | None:
    from metashell.codec.metadata_version import metadata_version_name

    level = image.features.metadata_version
    return None if level is None else metadata_version_name(level)


def _noted_election(ctx: Context) -> Leader | None:
    """The election in the node's quorum-state, which stands for that of a compacted log; a file that cannot be read is reported."""
    try:
        return ctx.election() if ctx.election is not None else None
    except MetashellError as error:
        ctx.complain(f"{ctx.command}: {error}", STATUS_FAILED)
        return None


def _leader(image: MetadataImage, noted: Leader | None) -> tuple[Leader | None, str | None]:
    """The last leader and its source: the log or, if that was compacted, the node's quorum-state."""
    if image.leader is not None:
        return image.leader, _LOG
    return (noted, _NOTE) if noted is not None and noted.id >= 0 else (None, None)


def _voters(image: MetadataImage, noted: Leader | None) -> tuple[list[dict[str, Any]], str | None]:
    """The voters and their source."""
    if image.voters is not None:
        return [{"id": voter.id, "directory_id": uuid_text(voter.directory_id)} for voter in image.voters.voters], _LOG
    # Static voters have no record of their own; each election lists their ids.
    election = image.leader or noted
    if election is None or not election.voter_ids:
        return [], None
    return [{"id": id, "directory_id": None} for id in election.voter_ids], _NOTE if image.leader is None else _LOG


def _counts(image: MetadataImage) -> dict[str, int]:
    brokers = image.cluster.brokers.values()
    fenced = sum(1 for broker in brokers if broker.fenced)
    return {
        "brokers": len(image.cluster.brokers),
        "brokers_fenced": fenced,
        "controllers": len(image.cluster.controllers),
        "topics": len(image.topics),
        "partitions": image.topics.partition_count,
        **image_health(image),
        "config_resources": len(image.configs),
        "acls": len(image.acls.by_id),
        "quota_entities": len(image.client_quotas),
        "scram_credentials": sum(len(users) for users in image.scram.values()),
        "delegation_tokens": len(image.delegation_tokens),
    }


def _named_values(status: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A row for each field, and for each of the counts."""
    for name, value in status.items():
        if name not in ("path", "type"):
            yield from value.items() if name == "counts" else [(name, value)]


def _lines(ctx: Context, status: dict[str, Any]) -> list[tuple[str, str]]:
    counts = status["counts"]
    lines = [
        ("source", f"{status['source']} ({status['source_kind']})"),
        ("offset", f"{status['offset']}, epoch {status['epoch']}, {_time(status['timestamp'])}"),
        ("end offset", f"{status['end_offset']}, {_certainty_words(status)}"),
        ("leader", _leader_words(status)),
        *_live_lines(status),
        ("voters", (", ".join(str(voter["id"]) for voter in status["voters"]) or "unknown") + _source_words(status["voters_source"])),
        ("metadata.version", status["metadata_version"] or "no metadata.version"),
        ("brokers", f"{counts['brokers']}, {counts['brokers_fenced']} fenced"),
        ("controllers", str(counts["controllers"])),
        ("topics", str(counts["topics"])),
        (
            "partitions",
            f"{counts['partitions']}, {counts['leaderless']} leaderless, {counts['under_replicated']} under-replicated, "
            f"{counts['reassigning']} reassigning",
        ),
        ("configs", counted(counts["config_resources"], "resource")),
        ("acls", str(counts["acls"])),
        ("quotas", counted(counts["quota_entities"], "entity", "entities")),
        ("scram", counted(counts["scram_credentials"], "credential")),
        ("tokens", str(counts["delegation_tokens"])),
        ("faults", str(status["fault_count"])),
    ]
    lines += [("", str(fault)) for fault in ctx.image.faults[:_FAULTS_SHOWN]]
    if status["fault_count"] > _FAULTS_SHOWN:
        lines.append(("", f"and {status['fault_count'] - _FAULTS_SHOWN} more; /image/faults has all"))
    return lines


def _leader_words(status: dict[str, Any]) -> str:
    leader = status["leader"]
    return "unknown" if leader is None else f"{leader['id']}, epoch {leader['epoch']}{_source_words(status['leader_source'])}"


def _source_words(source: str | None) -> str:
    return f" (from {source})" if source == _NOTE else ""


def _live_lines(status: dict[str, Any]) -> list[tuple[str, str]]:
    """What only a live source knows."""
    if "lag" not in status:
        return []
    lag = "lag unknown" if status["lag"] is None else f"lag {status['lag']}"
    return [("quorum", f"{lag}, high watermark {status['high_watermark']}{', ' if status['trouble'] else ''}{status['trouble'] or ''}")]


def _time(timestamp_ms: int | None) -> str:
    return "no time" if timestamp_ms is None else utc_time_text(timestamp_ms).removesuffix("[UTC]")


def _certainty_words(status: dict[str, Any]) -> str:
    certain_to, end_offset = status["certain_to"], status["end_offset"]
    if certain_to is None:
        return "none of it certain"
    return "all of it certain" if certain_to >= end_offset else f"certain to {certain_to}"


COMMAND = make_command(run, __doc__)
