"""metashell cluster: how a cluster is, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.cli.administering import Work, noun_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metashell.admin.brokers import Broker, Load
    from metashell.admin.topics import Topic


def _cluster(work: Work) -> None:
    work.watch(work.values.watch, lambda: _show(work))


_COUNTS = ("brokers", "brokers_fenced", "topics", "partitions", "offline", "under_min_isr", "under_replicated")


def _show(work: Work) -> bool:
    from metashell.cli.quorum_health import problems_of_quorum, quorum_of, spare_of
    from metashell.errors import MetashellError

    quorum = quorum_of(work.admin, work.controllers)
    features = work.admin.features().finalized
    newer = work.note_newer(features)
    problems = problems_of_quorum(quorum)
    try:
        counts, found = _brokers_and_topics(work)
        problems += found
    except MetashellError as error:
        counts = dict.fromkeys(_COUNTS)
        problems.append(f"brokers and topics cannot be seen: {error}")
    answer: dict[str, object] = {
        "type": "cluster",
        "cluster_id": work.admin.cluster_id,
        "metadata_version": _metadata_version(features),
        "features": dict(sorted(features.items())),
        "newer": newer,
        "active_controller": quorum.leader_id if quorum.leader_id >= 0 else None,
        "epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "voters": len(quorum.voters),
        "voters_that_may_fail": max(spare_of(quorum), 0),
        **counts,
        "problems": problems,
    }
    work.one(answer, _lines(answer, problems))
    if problems:
        work.fail()
    return True


def _brokers_and_topics(work: Work) -> tuple[dict[str, int | None], list[str]]:
    """How many there are, and what is wrong with them. Errors: MetashellError."""
    from metashell.admin.brokers import load_of
    from metashell.cli.cluster_view import all_topics, brokers, names_fenced

    registered, topics = brokers(work), all_topics(work)
    health = _partitions(work, topics)
    counts: dict[str, int | None] = {
        "brokers": len(registered),
        "brokers_fenced": sum(broker.is_fenced for broker in registered) if names_fenced(work) else None,
        "topics": len(topics),
        **health,
    }
    return counts, [*_broker_problems(registered, load_of(topics)), *_partition_problems(health)]


def _metadata_version(features: Mapping[str, int]) -> str | None:
    from metashell.codec.metadata_version import METADATA_VERSION, metadata_version_name

    level = features.get(METADATA_VERSION, 0)
    return metadata_version_name(level) if level else None


def _partitions(work: Work, topics: Sequence[Topic]) -> dict[str, int]:
    from metashell.cli.cluster_view import is_under_min_isr, min_isr_of

    behind = [topic for topic in topics if any(partition.is_under_replicated for partition in topic.partitions)]
    min_isr = min_isr_of(work, behind)
    return {
        "partitions": sum(len(topic.partitions) for topic in topics),
        "offline": sum(not partition.has_leader for topic in topics for partition in topic.partitions),
        "under_min_isr": sum(is_under_min_isr(partition, min_isr.get(topic.name)) for topic in behind for partition in topic.partitions),
        "under_replicated": sum(partition.is_under_replicated for topic in behind for partition in topic.partitions),
    }


def _broker_problems(registered: Sequence[Broker], load: Load) -> Iterator[str]:
    from metashell.forms import counted

    known = {broker.id for broker in registered}
    if not registered:
        yield "no broker is registered"
    for broker in registered:
        if broker.is_fenced:
            carried = load.replicas[broker.id]
            yield f"broker {broker.id} is fenced" + (f": {counted(carried, 'replica')} on it" if carried else "")
    for id in sorted(load.replicas.keys() - known):
        yield f"broker {id} is not there: {counted(load.replicas[id], 'replica')} on it"


def _partition_problems(health: Mapping[str, int]) -> Iterator[str]:
    from metashell.forms import counted

    for key, words in (
        ("offline", "without a leader: nobody can read or write there"),
        ("under_min_isr", "under the minimum ISR: producers with acks=all are refused"),
        ("under_replicated", "with replicas that are not in sync"),
    ):
        if health[key]:
            yield f"{counted(health[key], 'partition')} {words}"


def _lines(answer: Mapping[str, object], problems: Sequence[str]) -> Iterator[str]:
    from metashell.forms import aligned

    leader = "nobody leads" if answer["active_controller"] is None else f"controller {answer['active_controller']} leads"
    voters = f"{answer['voters']} voter{'s' if answer['voters'] != 1 else ''}"
    rows = [
        ("cluster", str(answer["cluster_id"])),
        ("metadata.version", str(answer["metadata_version"] or "not known")),
        ("controllers", f"{voters}, {leader} (epoch {answer['epoch']}), {answer['voters_that_may_fail']} more may fail"),
    ]
    if answer["brokers"] is not None:
        fenced = "not known how many" if answer["brokers_fenced"] is None else answer["brokers_fenced"]
        troubles = f"{answer['offline']} offline, {answer['under_min_isr']} under min ISR, {answer['under_replicated']} under-replicated"
        rows += [
            ("brokers", f"{answer['brokers']}, {fenced} fenced"),
            ("topics", f"{answer['topics']} with {answer['partitions']} partitions"),
            ("partitions", troubles),
        ]
    rows += [("problem", problem) for problem in problems] or [("problems", "none")]
    return aligned(rows)


main = noun_tool("cluster", "cluster_tools:CLUSTER", {"": _cluster})
