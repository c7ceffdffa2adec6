"""Brokers, topics and partitions of a cluster, read through brokers or from the metadata log, and the rehearsal behind --dry-run.

Both sources give the same types. Brokers know which of them answer; the log has epochs, listeners and directories, and needs no broker.

Some changes have no dry run in the protocol. For these, `rehearse_steps` runs the controller's code on a copy of the cluster's newest
metadata and returns its answers; the other effects of the change are printed on stderr. That needs the controllers: if they cannot be
reached, or do not let an observer fetch, the command fails rather than report that nothing would happen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

from metashell.cli.admin.cluster import Broker, describe_cluster
from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.topics import Partition, Topic, describe_topics, list_topics, unseen_topics
from metashell.cli.connection import cluster_of, open_admin
from metashell.codec.codes import DESCRIBE_CLUSTER
from metashell.codec.error_codes import UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.cli.admin.protocol import Node
    from metashell.cli.cluster.noun_tool import Work
    from metashell.metadata.checks import Health
    from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
    from metashell.rehearse.outcome import Outcome
    from metashell.rehearse.steps import Step


INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""The internal topics. Source: org.apache.kafka.common.internals.Topic."""


def all_topics(work: Work) -> list[Topic]:
    """Return all topics, ordered by name; topics that the user may not see are reported as missing. Errors: MetashellError."""
    if not work.asks_controllers:
        topics = list_topics(work.admin)[0]
        work.miss(*unseen_topics(work.admin, {topic.name for topic in topics}))
        return topics
    image = work.image()
    up = _up(image)
    return sorted((_topic(topic, up) for topic in image.topics), key=lambda topic: topic.name)


def topics_named(work: Work, names: Iterable[str]) -> tuple[list[Topic], list[AdminError]]:
    """Return the named topics with their ELR if it is known, and an error for each that does not exist. Errors: MetashellError."""
    wanted = sorted(set(names))
    if not work.asks_controllers:
        return describe_topics(work.admin, wanted)
    image = work.image()
    up = _up(image)
    there = {name: topic for name in wanted if (topic := image.topics.by_name.get(name)) is not None}
    errors = [AdminError(UNKNOWN_TOPIC_OR_PARTITION, None, name) for name in wanted if name not in there]
    return [_topic(topic, up) for topic in there.values()], errors


def brokers(work: Work) -> list[Broker]:
    """Return the registered brokers, ordered by id; before 4.0, brokers name only those that are not fenced. Errors: MetashellError."""
    if not work.asks_controllers:
        return [
            Broker(id=node.id, host=node.address.host, port=node.address.port, rack=node.rack, is_fenced=node.is_fenced)
            for node in sorted(_nodes(work))
        ]
    found = []
    for id, broker in sorted(work.image().cluster.brokers.items()):
        listener = broker.listeners[0] if broker.listeners else None
        found.append(
            Broker(
                id=id,
                host=listener.host if listener else "",
                port=listener.port if listener else -1,
                rack=broker.rack,
                is_fenced=broker.fenced,
                is_leaving=broker.in_controlled_shutdown,
            )
        )
    return found


def names_fenced(work: Work) -> bool:
    """Return whether the source names fenced brokers: controllers do, and brokers since 4.0."""
    from metashell.cli.admin.session import FENCED_FROM

    return work.asks_controllers or work.admin.ranges().get(DESCRIBE_CLUSTER, (0, 0))[1] >= FENCED_FROM


def _nodes(work: Work) -> Iterable[Node]:
    is_whole = names_fenced(work)
    if not is_whole:
        work.note_once("brokers older than 4.0 name only those that are not fenced: the controllers (-C) know all")
    return describe_cluster(work.admin, fenced=is_whole).nodes


def health_of(work: Work, names: Iterable[str] | None = None, *, whole: bool = False) -> tuple[Health, list[AdminError]]:
    """Return the health of partitions, and an error for each named topic that is not among them.

    `whole`: also read min.insync.replicas of topics whose health does not depend on it. If the brokers refuse a part of the answer, the
    command reports it and its status is 1. Errors: MetashellError.
    """

    from metashell.cli.cluster.broker_facts import QUICK_S, view_of
    from metashell.cli.cluster.live_facts import static_min_isr
    from metashell.metadata.checks import Health

    if work.asks_controllers:
        image = work.image()
        missing = sorted(set(names or ()) - image.topics.by_name.keys())
        health = Health(image) if work.stored is not None else Health(image, static_min_isr=static_min_isr(work.admin))
        return health, [AdminError(UNKNOWN_TOPIC_OR_PARTITION, None, name) for name in missing]
    with open_admin(SimpleNamespace(**{**vars(cluster_of(work.values)), "timeout": QUICK_S})) as quick:
        view = view_of(work.admin, quick, names=names, whole=whole)
    work.miss(*view.holes)
    return view.health, view.errors


def _up(image: MetadataImage) -> frozenset[int]:
    """Return the brokers that are registered and not fenced."""
    return frozenset(id for id, broker in image.cluster.brokers.items() if not broker.fenced)


def _topic(topic: TopicImage, up: frozenset[int]) -> Topic:
    partitions = tuple(_partition(id, partition, up) for id, partition in sorted(topic.partitions.items()))
    return Topic(name=topic.name, id=topic.id, partitions=partitions, is_internal=topic.name in INTERNAL)


def _partition(id: int, partition: PartitionRegistration, up: frozenset[int]) -> Partition:
    return Partition(
        id=id,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        replicas=partition.replicas,
        isr=partition.isr,
        offline=tuple(replica for replica in partition.replicas if replica not in up),
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
        adding=partition.adding_replicas,
        removing=partition.removing_replicas,
    )


def rehearse_steps(work: Work, steps: Sequence[Step]) -> Outcome:
    """Return the outcome of steps on a copy of the metadata, and print their other effects on stderr. Errors: MetashellError."""
    from metashell.rehearse.rehearsal import rehearse_change

    image = work.image()
    outcome = rehearse_change(image, steps)
    work.note_once(f"rehearsed on a copy of the metadata at offset {image.provenance.end_offset}; nothing was changed")
    for reason in outcome.verdict.reasons:
        work.note(reason)
    if outcome.verdict.status:
        work.fail()
    return outcome


def refusals_of(outcome: Outcome) -> dict[int, AdminError]:
    """Return the refusal of each refused step, by the position of the step."""
    return {
        number: AdminError(refusal.code, refusal.message, refusal.thing)
        for number, report in enumerate(outcome.steps)
        for refusal in report.refusals
    }
