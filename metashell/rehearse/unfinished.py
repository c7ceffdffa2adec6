"""What a step began and nothing will end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metashell.checks.partitions import is_leaderless, is_reassigning
from metashell.controller.state import partition_of
from metashell.image import MetadataImage
from metashell.rehearse.outcome import StepReport, Unfinished
from metashell.rehearse.quorum import Quorum
from metashell.rehearse.roll import Roll
from metashell.rehearse.steps import Reassign, Step, Unregister


def unfinished_restarts(rolls: Iterable[Roll], step: int) -> Iterator[Unfinished]:
    """The brokers that a step was to restart and that are not back in sync."""
    for roll in rolls:
        if roll.step == step:
            yield from (Unfinished(f"broker {id}", why) for id, why in roll.unfinished)


def given_up(quorum: Quorum, before: MetadataImage, step: Step) -> Iterator[Unfinished]:
    """Partitions that can have no leader any more: their last replicas in sync were on an unregistered broker.

    Partitions that went offline in the rehearsal are reported as offline instead.
    """
    if not isinstance(step, Unregister):
        return
    registered = quorum.image.cluster.brokers
    for found in quorum.changes().with_replica(step.broker):
        if found is not None:
            topic, partition_id, partition = found
            last = {*partition.isr, *partition.elr}
            if not is_leaderless(partition) or step.broker not in last or any(id in registered for id in last):
                continue
            was = before.topics.by_id.get(topic.id)
            old = None if was is None else partition_of(was, partition_id)
            if old is not None and is_leaderless(old):
                why = f"nobody may lead any more: its last replica in sync is on broker {step.broker}, which is unregistered"
                yield Unfinished(f"{topic.name}-{partition_id}", why)


def unfinished_moves(image: MetadataImage, report: StepReport) -> Iterator[Unfinished]:
    """Reassignments that never end, since a broker that is to have a replica does not serve."""
    if not isinstance(report.step, Reassign):
        return
    refused = {refusal.thing for refusal in report.refusals}
    for move in report.step.moves:
        topic = image.topics.by_name.get(move.topic)
        partition = None if topic is None else partition_of(topic, move.partition)
        thing = f"{move.topic}-{move.partition}"
        if partition is not None and thing not in refused and is_reassigning(partition):
            missing = [str(id) for id in partition.adding_replicas if id not in partition.isr]
            who = f"broker {', '.join(missing)}" if missing else "its replicas"
            yield Unfinished(thing, f"the reassignment waits for {who} to get in sync")
