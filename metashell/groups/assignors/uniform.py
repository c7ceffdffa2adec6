"""The broker's assignor `uniform` for groups whose members are all subscribed to the same topics.

Source: groups.md 14.1.
"""

from __future__ import annotations

from metashell.codec.java_hash import copy_capacity, uuid_hash_order
from metashell.groups.assignors.errors import ASSIGNOR_EXCEPTION, AssignorError
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, known_count, sorted_targets


def assign_homogeneous(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Sizes differ by one at most, and who has no more than its share keeps it."""
    topic_ids = next(iter(group.members.values())).topic_ids
    if not topic_ids:
        return {}
    counts = {topic_id: known_count(topic_id, partition_count) for topic_id in uuid_hash_order(topic_ids, copy_capacity(len(topic_ids)))}
    owned: dict[bytes, set[int]] = {topic_id: set() for topic_id in counts}
    for member in group.members.values():
        for topic_id, partitions in member.previous.items():
            if topic_id in owned:
                owned[topic_id].update(partitions)
    free = [(topic_id, partition) for topic_id, count in counts.items() for partition in range(count) if partition not in owned[topic_id]]
    targets, wanting = _keep(group, counts, free)
    _give(targets, wanting, free)
    return sorted_targets(targets)


def _keep(
    group: ServerGroup, counts: dict[bytes, int], free: list[tuple[bytes, int]]
) -> tuple[dict[str, dict[bytes, list[int]]], list[tuple[str, int]]]:
    """What each member keeps, and which members want how many more. What is taken from them goes to the end of `free`."""
    share, extras = divmod(sum(counts.values()), len(group.members))
    targets: dict[str, dict[bytes, list[int]]] = {}
    wanting = []
    for left, (member_id, member) in zip(range(len(group.members), 0, -1), group.members.items(), strict=True):
        takes_extra = extras > 0
        room = share + takes_extra
        kept = targets[member_id] = {}
        for topic_id, previous in member.previous.items():
            if topic_id not in counts:
                continue
            partitions = list(previous)
            if room or not partitions:
                kept[topic_id] = partitions[:room]
            free += [(topic_id, partition) for partition in partitions[room:]]
            room = max(0, room - len(partitions))
        if room and takes_extra and left > extras:
            # Those who come later may already have one more than their share, and need not give it away then.
            room -= 1
            takes_extra = False
        if room:
            wanting.append((member_id, room))
        extras -= takes_extra
    return targets, wanting


def _give(targets: dict[str, dict[bytes, list[int]]], wanting: list[tuple[str, int]], free: list[tuple[bytes, int]]) -> None:
    at = 0
    for member_id, room in wanting:
        kept = targets[member_id]
        for topic_id, partition in free[at : at + room]:
            kept.setdefault(topic_id, []).append(partition)
        at += room
    if at < len(free):
        raise AssignorError(ASSIGNOR_EXCEPTION, "Partitions were left unassigned")
