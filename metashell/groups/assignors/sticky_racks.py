"""Racks as the sticky assignors look at them. Source: groups.md 16, KIP-881."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from metashell.groups.assignors.client_group import Members, Partition, racks_matter


class Racks:
    """Shape: `matter` is False where racks are not looked at; then every member suits every partition."""

    def __init__(self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]]) -> None:
        self._members_in = Counter(member.rack for member in members.values() if member.rack)
        self._topics = topics
        self._racks = {member_id: member.rack for member_id, member in members.items() if member.rack}
        self.matter = racks_matter(self._members_in, (racks for topic in topics.values() for racks in topic)) if self._racks else False

    def suits(self, member_id: str, partition: Partition) -> bool:
        """Whether a partition may go to a member: it has a replica in the member's rack, or the member has none."""
        if not self.matter:
            return True
        rack = self._racks.get(member_id)
        return rack is None or rack in self._of(partition)

    def is_near(self, member_id: str, partition: Partition) -> bool:
        """Whether a partition has a replica in the rack that the member names."""
        rack = self._racks.get(member_id)
        return rack is not None and rack in self._of(partition)

    def scarce_first(self, partitions: list[Partition]) -> list[Partition]:
        """Partitions that are near to few members first, the others in their order; done where a member names a rack at all."""
        if not self._racks:
            return partitions
        return sorted(partitions, key=lambda partition: sum(self._members_in[rack] for rack in self._of(partition)))

    def _of(self, partition: Partition) -> frozenset[str]:
        topic, number = partition
        racks = self._topics[topic]
        return racks[number] if 0 <= number < len(racks) else frozenset()
