"""Share groups' assignor `simple` for groups whose members are all subscribed to the same topics.

A partition may be given to several members. What decides among equals is the order in which Java's hash tables iterate.

Source: org.apache.kafka.coordinator.group.assignor.SimpleHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from metashell.codec.java_hash import bucket_count, table_order, uuid_hash
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, known_count, sorted_targets
from metashell.groups.assignors.sharing import Sharers, fair_share, share_out, table_capacity

TopicPartition = tuple[bytes, int]


def assign(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Each partition goes to as many members as all of them need to have one, and members keep what they have."""
    topic_ids = next(iter(group.members.values())).topic_ids
    if not topic_ids:
        return {}
    wanted = [
        (topic_id, partition)
        for topic_id in topic_ids
        for partition in range(known_count(topic_id, partition_count))
        if group.assignable is None or partition in group.assignable.get(topic_id, ())
    ]
    return _Builder(group, set(topic_ids), wanted).build()


def _hash(partition: TopicPartition) -> int:
    """What the hashCode of the record TopicIdPartition gives."""
    return 31 * uuid_hash(partition[0]) + partition[1]


class _Builder:
    """Shape: members are numbers, in their order. `sharers` is by partition, in the order in which Kafka's table got them; by
    computeIfAbsent, which puts the newest first in its bucket.
    """

    def __init__(self, group: ServerGroup, topic_ids: set[bytes], wanted: list[TopicPartition]) -> None:
        self.member_ids = list(group.members)
        self.wanted = wanted
        self.sharing, self.room = fair_share(len(group.members), len(wanted))
        self.targets = [
            {topic_id: set(partitions) for topic_id, partitions in member.previous.items() if topic_id in topic_ids}
            for member in group.members.values()
        ]
        self.sharers: dict[TopicPartition, Sharers] = {}
        self.held: list[list[TopicPartition]] = []
        for number, member in enumerate(group.members.values()):
            held = [(topic_id, partition) for topic_id in self.targets[number] for partition in member.previous[topic_id]]
            self.held.append(held)
            for key in held:
                self.sharers.setdefault(key, Sharers()).add(number)

    def build(self) -> Assigned:
        needy = {number for number, held in enumerate(self.held) if len(held) < self.room[number]}
        for number, held in enumerate(self.held):
            for key in table_order(held, _hash, bucket_count(16, len(held)))[: max(0, len(held) - self.room[number])]:
                self._take(key, number)
        for key, sharers in self.sharers.items():
            for number in sharers.surplus(self.sharing):
                self._take(key, number)
                needy.add(number)
        for key in self.wanted:
            self.sharers.setdefault(key, Sharers())
        order = table_order(reversed(self.sharers), _hash, bucket_count(table_capacity(len(self.wanted)), len(self.sharers)))
        room = {number: self.room[number] - len(self.held[number]) for number in sorted(needy)}
        partitions = ((key, self.sharers[key]) for key in order)
        for (topic_id, partition), number in share_out(partitions, self.sharing, room):
            self.targets[number].setdefault(topic_id, set()).add(partition)
        return sorted_targets(dict(zip(self.member_ids, self.targets, strict=True)))

    def _take(self, key: TopicPartition, number: int) -> None:
        self.held[number].remove(key)
        self.sharers[key].discard(number)
        self.targets[number][key[0]].discard(key[1])
