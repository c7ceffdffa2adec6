"""Share groups' assignor `simple` for groups whose members are subscribed to different topics: each topic for itself.

Source: org.apache.kafka.coordinator.group.assignor.SimpleHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from metashell.codec.java_hash import bucket_count, hash_order, uuid_hash_order
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, known_count, sorted_targets
from metashell.groups.assignors.sharing import Sharers, fair_share, share_out, table_capacity


def assign(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """As `simple.assign`, topic by topic. Partitions of topics to which nobody is subscribed any more stay where they are, as in Kafka."""
    subscribers: dict[bytes, list[int]] = {}
    for number, member in enumerate(group.members.values()):
        for topic_id in member.topic_ids:
            subscribers.setdefault(topic_id, []).append(number)
    if not subscribers:
        return {}
    wanted = {
        topic_id: [
            partition
            for partition in range(known_count(topic_id, partition_count))
            if group.assignable is None or partition in group.assignable.get(topic_id, ())
        ]
        for topic_id in uuid_hash_order(subscribers)
    }
    previous = [member.previous for member in group.members.values()]
    targets = [{topic_id: set(partitions) for topic_id, partitions in by_topic.items()} for by_topic in previous]
    for topic_id, partitions in wanted.items():
        held = {number: list(by_topic[topic_id]) for number, by_topic in enumerate(previous) if topic_id in by_topic}
        for number, given in _assign_topic(partitions, subscribers[topic_id], held).items():
            if number in held or given:
                targets[number][topic_id] = given
    return sorted_targets(dict(zip(group.members, targets, strict=True)))


def _assign_topic(wanted: list[int], subscribers: list[int], held: dict[int, list[int]]) -> dict[int, set[int]]:
    """The partitions of one topic, by the number of the member."""
    sharing, rooms = fair_share(len(subscribers), len(wanted))
    room = dict(zip(subscribers, rooms, strict=True))
    targets = {number: set(partitions) for number, partitions in held.items()}
    all_sharers: dict[int, Sharers] = {}
    for number, partitions in held.items():
        for partition in partitions:
            all_sharers.setdefault(partition, Sharers()).add(number)

    def take(partition: int, number: int) -> None:
        targets[number].discard(partition)
        all_sharers[partition].discard(number)

    for number, partitions in held.items():
        for partition in hash_order(partitions)[: max(0, len(partitions) - room.get(number, 0))]:
            take(partition, number)
    for partition, sharers in all_sharers.items():
        for number in sharers.surplus(sharing):
            take(partition, number)
    for partition in wanted:
        all_sharers.setdefault(partition, Sharers())
    # Kafka's table is filled by computeIfAbsent, which puts the newest first in its bucket.
    order = hash_order(reversed(all_sharers), bucket_count(table_capacity(len(wanted)), len(all_sharers)))
    needs = {number: room[number] - len(targets.get(number, ())) for number in sorted(subscribers)}
    needs = {number: need for number, need in needs.items() if need > 0}
    for partition, number in share_out(((partition, all_sharers[partition]) for partition in order), sharing, needs):
        targets.setdefault(number, set()).add(partition)
    return targets
