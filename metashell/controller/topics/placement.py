"""Where new replicas go: brokers in turn, spread over racks, each first in its turn.

Source: org.apache.kafka.metadata.placement.StripedReplicaPlacer.
"""

from __future__ import annotations

from typing import NamedTuple

from metashell.codec.error_codes import INVALID_REPLICATION_FACTOR
from metashell.controller.chance import Chance
from metashell.controller.decision import ApiError
from metashell.controller.state import State


class UsableBroker(NamedTuple):
    """A broker that takes new replicas; no rack is a rack of its own."""

    id: int
    rack: str | None
    fenced: bool


def usable_brokers(state: State) -> list[UsableBroker]:
    """The brokers that replicas may be placed on: not in controlled shutdown, and with a directory that is not cordoned.

    Only heartbeats count here: a broker that is flagged in its registration and unfenced again is usable, as in Kafka.
    """
    brokers = state.image.cluster.brokers
    usable = []
    for broker_id, fenced in state.heartbeats.usable():
        broker = brokers.get(broker_id)
        if broker is not None and not broker.is_cordoned:
            usable.append(UsableBroker(broker_id, broker.rack, fenced))
    return usable


class _BrokerList:
    """Brokers of a rack; each epoch starts one further."""

    def __init__(self, brokers: list[int], chance: Chance) -> None:
        self._brokers = sorted(brokers)
        self._epoch = 0
        self._index = 0
        self._offset = chance.randrange(len(brokers)) if brokers else 0

    def next(self, epoch: int) -> int:
        """The next broker of this epoch, -1 when all had their turn."""
        count = len(self._brokers)
        if not count:
            return -1
        if self._epoch != epoch:
            self._epoch, self._index = epoch, 0
            self._offset = (self._offset + 1) % count
        if self._index >= count:
            return -1
        broker = self._brokers[(self._index + self._offset) % count]
        self._index += 1
        return broker

    def shuffle(self, chance: Chance) -> None:
        chance.shuffle(self._brokers)


class _Rack:
    def __init__(self, brokers: list[UsableBroker], chance: Chance) -> None:
        self.unfenced = _BrokerList([broker.id for broker in brokers if not broker.fenced], chance)
        self.fenced = _BrokerList([broker.id for broker in brokers if broker.fenced], chance)

    def next(self, epoch: int) -> int:
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker < 0 else broker


class Placer:
    """Places the partitions of one topic."""

    def __init__(self, brokers: list[UsableBroker], chance: Chance) -> None:
        self._chance = chance
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._racks = [_Rack(by_rack[name], chance) for name in names]
        self._broker_count = len(brokers)
        self._unfenced_count = sum(not broker.fenced for broker in brokers)
        self._epoch = 0
        self._rack_offset = chance.randrange(len(names)) if names else 0

    def check(self, replication_factor: int) -> None:
        """Errors: ApiError INVALID_REPLICATION_FACTOR if no partition can have so many replicas."""
        if replication_factor <= 0:
            raise ApiError(
                INVALID_REPLICATION_FACTOR, f"Invalid replication factor {replication_factor}: the replication factor must be positive."
            )
        if not self._unfenced_count:
            why = "All brokers are currently fenced, or have all their log directories cordoned."
            raise ApiError(INVALID_REPLICATION_FACTOR, why)
        if replication_factor > self._broker_count:
            raise ApiError(
                INVALID_REPLICATION_FACTOR,
                f"The target replication factor of {replication_factor} cannot be reached because only {self._broker_count} broker(s) "
                "are registered or some brokers have all their log directories cordoned.",
            )

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """The replicas of the next partition, the leader first; call `check` before."""
        self._shuffle_when_all_have_led()
        racks = self._racks
        if self._rack_offset == len(racks):
            self._rack_offset = 0
        leader_rack = self._rack_offset
        while (leader := racks[leader_rack].unfenced.next(self._epoch)) < 0:
            leader_rack = (leader_rack + 1) % len(racks)
        replicas = [leader]
        rack = self._rack_offset
        while len(replicas) < replication_factor:
            if rack == leader_rack:
                # The leader's rack has had its turn; it is passed over once.
                leader_rack = -1
            else:
                broker = racks[rack].next(self._epoch)
                if broker >= 0:
                    replicas.append(broker)
            rack = (rack + 1) % len(racks)
        self._epoch += 1
        self._rack_offset += 1
        return tuple(replicas)

    def _shuffle_when_all_have_led(self) -> None:
        if self._epoch == self._unfenced_count and self._unfenced_count > 1:
            self._chance.shuffle(self._racks)
            for rack in self._racks:
                rack.unfenced.shuffle(self._chance)
                rack.fenced.shuffle(self._chance)
            self._epoch = 0
