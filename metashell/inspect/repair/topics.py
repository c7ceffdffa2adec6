"""Steps for directories of partitions whose partition.metadata is lost, torn, or of no topic.

The topic id follows from the topic's name only if the directory cannot be that of an earlier topic of this name: the log has all since
offset 0 and no other topic of the name; or this broker is in the partition's ISR or ELR, and the partition is assigned to this directory. A
broker that was down while a topic was removed and made again is in neither: an ISR has only replicas that have fetched under the new id.

Source: KIP-516, KIP-966; org.apache.kafka.storage.internals.log.LogManager."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.common.values import uuid_text
from metashell.disk.mend import FileChange
from metashell.disk.names import PARTITION_METADATA
from metashell.disk.state_files import format_topic_id, read_leader_epochs
from metashell.inspect.repair.facts import Refusal, RepairFacts, Step
from metashell.metadata.checks.partitions import NO_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metashell.metadata.checks.facts import PartitionDirectory
    from metashell.metadata.image import MetadataImage


def topic_items(facts: RepairFacts) -> Iterator[Step | Refusal]:
    image = facts.image()
    for place in facts.own.partitions:
        if place.suffix or (isinstance(place.topic_id, bytes) and (image is None or place.topic_id in image.topics.by_id)):
            continue
        topic = None if image is None else image.topics.by_name.get(place.topic)
        what = _topic_cause(place)
        if image is None or topic is None or not topic.has_partition(place.partition):
            if isinstance(place.topic_id, bytes):
                continue  # a check of its own says what becomes of it
            why = "no metadata is at hand" if image is None else f"the metadata has no {place.topic}-{place.partition}"
            way = "name the directory of the newest metadata log with --from" if image is None else "find out whose log this is"
            yield Refusal("no_topic_id", place.path, f"{what}; {why}", (way,))
            continue
        check = "stray_topic_id" if isinstance(place.topic_id, bytes) else "no_topic_id"
        reason, doubt = _topic_proof(facts, image, place)
        if doubt:
            way = f"find out whose log this is; if it is {place.topic}'s, write topic_id: {uuid_text(topic.id)} into its partition.metadata"
            yield Refusal(check, place.path, f"{what}; {doubt}", (way,))
            continue
        file = os.path.relpath(os.path.join(place.path, PARTITION_METADATA), facts.own.path)
        yield Step(
            check,
            FileChange("write", file, data=format_topic_id(topic.id)),
            what,
            f"{place.topic} has topic id {uuid_text(topic.id)}; {reason}",
        )


def _topic_cause(place: PartitionDirectory) -> str:
    name = os.path.basename(place.path)
    if place.topic_id is None:
        return f"{name}: partition.metadata is missing"
    if isinstance(place.topic_id, bytes):
        return f"{name}: topic id {uuid_text(place.topic_id)} is not in the metadata"
    return f"{name}: partition.metadata: {place.topic_id}"


def _topic_proof(facts: RepairFacts, image: MetadataImage, place: PartitionDirectory) -> tuple[str, str]:
    """Why the directory is that of the topic which has its name now, and what makes that doubtful; one of them is empty."""
    topic = image.topics.by_name[place.topic]
    partition = topic.partitions[place.partition]
    own = facts.node_id
    earlier = [
        uuid_text(id)
        for log in facts.facts.logs
        for id, note in log.topics.items()
        if id != topic.id and note.name == place.topic and (note.removed_offset >= 0 or note.offset >= 0)
    ]
    if earlier:
        return "", f"the log has topics of this name with ids {', '.join(dict.fromkeys(earlier))} and {uuid_text(topic.id)}"
    epochs = os.path.join(place.path, "leader-epoch-checkpoint")
    newest = max((entry.epoch for entry in read_leader_epochs(epochs)), default=-1) if os.path.isfile(epochs) else -1
    if newest > partition.leader_epoch:
        return "", f"its log has leader epoch {newest}, above {partition.leader_epoch} of the partition"
    if own is None or own not in partition.replicas:
        replicas = ", ".join(map(str, partition.replicas))
        return "", f"broker {own} is no replica of it: {replicas}" if own is not None else "it is not known whose directory this is"
    is_all_there = any(log.image is not None and not log.start_offset and topic.id in log.image.topics.by_id for log in facts.facts.logs)
    if is_all_there and place.topic_id is None:
        return "the metadata log has everything since offset 0, and no other topic of this name", ""
    if not is_all_there and isinstance(place.topic_id, bytes):
        return "", "the metadata log does not reach back to offset 0, so this may be the id of an earlier topic"
    assigned = dict(zip(partition.replicas, partition.directories, strict=False)).get(own)
    if own not in (*partition.isr, *partition.elr):
        return "", f"broker {own} is not in its ISR, so it may have missed that the topic was removed and made again"
    if assigned is not None and assigned not in NO_DIRECTORIES and assigned != facts.directory_id:
        return "", f"the metadata assigns it to directory {uuid_text(assigned)}"
    never = "; no topic ever had the id in the file" if isinstance(place.topic_id, bytes) else ""
    return f"broker {own} is in its ISR or ELR, and it is assigned to this directory: the broker has fetched under this id{never}", ""
