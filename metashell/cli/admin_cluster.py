"""metashell cluster: how a cluster is, on one screen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.cli.administering import Work, noun_tool
from metashell.options.cluster_tools import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metashell.checks import Facts


def _cluster(work: Work) -> None:
    work.watch(work.values.watch, lambda: _show(work))


_COUNTS = ("brokers", "brokers_fenced", "topics", "partitions", "offline", "under_min_isr", "under_replicated")


def _show(work: Work) -> bool:
    from metashell.checks import judge
    from metashell.cli.live_facts import gather_live
    from metashell.cli.named_cluster import cluster_of
    from metashell.shell.verdict_text import cluster_size, finding_row, shown_of, summary_line, verdict_lines, verdict_row

    facts = gather_live(cluster_of(work.values)) if work.stored is None else _on_disk(work.stored)
    verdict = judge(facts)
    shown = shown_of(verdict)
    answer = {
        **_answer(work, facts),
        **verdict_row(verdict, facts.holes),
        "type": "cluster",
        "findings": [finding_row(each) for each in shown],
    }
    lines = [*_lines(answer), *verdict_lines(work.display, shown), summary_line(verdict, holes=facts.holes, what=cluster_size(facts))]
    work.one(answer, lines)
    if verdict.bad or facts.holes or facts.health is None:
        work.fail()
    return True


def _on_disk(path: str) -> Facts:
    """What the directories at a path say of their cluster. Errors: MetashellError where they have no metadata."""
    from dataclasses import replace

    from metashell.checks.facts import Identity
    from metashell.errors import MetashellError, PathError
    from metashell.facts import gather

    if not os.path.exists(path):
        raise PathError(f"{path}: No such file or directory", path)
    facts = gather([path])
    if facts.health is None:
        raise MetashellError(f"{path}: no metadata log here: metashell health says what is")
    known = (one.identity.cluster_id for one in facts.directories if isinstance(one.identity, Identity))
    return replace(facts, cluster_id=next(filter(None, known), ""))


def _answer(work: Work, facts: Facts) -> dict[str, object]:
    """What there is, as one object; None for what nobody told."""
    from metashell.checks.rules.probes import may_fail, voters_of
    from metashell.codec.metadata_version import METADATA_VERSION, metadata_version_name

    quorum, health = facts.quorum, facts.health
    features = {} if health is None else health.image.features.finalized
    level = features.get(METADATA_VERSION, 0)
    # A disk says who led and who voted when it was written.
    leader = None if health is None else health.image.leader
    voters = voters_of(quorum) if quorum is not None else [] if health is None else list(health.voters())
    counts: dict[str, int | None] = dict.fromkeys(_COUNTS)
    if health is not None:
        found, brokers = health.counts(), health.image.cluster.brokers
        knows_fenced = facts.told is None or "fenced" in facts.told
        counts = {
            "brokers": len(brokers) if knows_fenced else sum(not broker.fenced for broker in brokers.values()),
            "brokers_fenced": sum(broker.fenced for broker in brokers.values()) if knows_fenced else None,
            "topics": len(health.image.topics),
            "partitions": found["partitions"],
            "offline": found["leaderless"] + found["offline"],
            "under_min_isr": found["under_min_isr"],
            "under_replicated": found["under_replicated"],
        }
    return {
        "cluster_id": facts.cluster_id or None,
        "metadata_version": metadata_version_name(level) if level else None,
        "features": dict(sorted(features.items())),
        "newer": work.note_newer(features),
        "active_controller": quorum.leader_id if quorum is not None else None if leader is None else leader.id,
        "epoch": quorum.epoch if quorum is not None else None if leader is None else leader.epoch,
        "high_watermark": None if quorum is None else quorum.high_watermark,
        "voters": len(voters) or None,
        "voters_that_may_fail": None if quorum is None else may_fail(quorum),
        **counts,
    }


def _lines(answer: Mapping[str, object]) -> Iterator[str]:
    from metashell.forms import aligned

    rows = [
        ("cluster", str(answer["cluster_id"] or "not known")),
        ("metadata.version", str(answer["metadata_version"] or "not known")),
        ("controllers", _controllers(answer)),
    ]
    if answer["brokers"] is not None:
        least = "" if answer["complete"] else "at least "
        fenced = "not known how many" if answer["brokers_fenced"] is None else answer["brokers_fenced"]
        troubles = f"{answer['offline']} offline, {answer['under_min_isr']} under min ISR, {answer['under_replicated']} under-replicated"
        rows += [
            ("brokers", f"{answer['brokers']}, {fenced} fenced"),
            ("topics", f"{least}{answer['topics']} with {answer['partitions']} partitions"),
            ("partitions", f"{least}{troubles}"),
        ]
    return aligned(rows)


def _controllers(answer: Mapping[str, object]) -> str:
    voters = answer["voters"]
    words = ["voters not known" if voters is None else f"{voters} voter{'' if voters == 1 else 's'}"]
    if answer["active_controller"] is None:
        words.append("no leader known" + ("" if answer["epoch"] is None else f" (epoch {answer['epoch']})"))
    else:
        words.append(f"controller {answer['active_controller']} leads (epoch {answer['epoch']})")
    if answer["voters_that_may_fail"] is not None:
        words.append(f"{answer['voters_that_may_fail']} more may fail")
    return ", ".join(words)


main = noun_tool("cluster", CLUSTER, {"": _cluster})
