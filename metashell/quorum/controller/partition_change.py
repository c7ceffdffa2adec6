"""The one procedure that changes a partition: it completes reassignments, keeps the ELR, elects, and makes the record.

Why the ELR (KIP-966) is safe, with min.insync.replicas=2 and an ISR of 1, 2 and 3 that 1 leads:

    3 leaves   ISR 1, 2                what is committed from now on is on 1 and 2 only, so 3 is forgotten
    2 leaves   ISR 1     ELR 2         below the minimum nothing more is committed, so 2 still has all that is
    1 leaves   ISR -     ELR 1, 2      nobody leads; 1 is remembered as the last leader
    2 returns  ISR 2     ELR 1         2 leads, and nothing committed is lost

A replica that returns without a clean shutdown may lack what it acknowledged, so it leaves the ELR. Where ISR and ELR are both empty only
the last known leader, or an unclean election, can help.

Source: org.apache.kafka.controller.PartitionChangeBuilder; KIP-455, KIP-966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from metashell.codec import messages
from metashell.codec.java import hash_order
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.common.values import NO_LEADER
from metashell.metadata.image import PartitionRegistration
from metashell.metadata.image.partitions import NO_LEADER_CHANGE, NO_RECOVERY_CHANGE
from metashell.quorum.controller.decision import LEADER_EPOCH_KEPT_LEVEL

RECOVERED: Final = 0
RECOVERING: Final = 1


class Election(Enum):
    """The aim of an election: keep a valid leader, prefer the first replica, or take any replica at all."""

    ONLINE = 1
    PREFERRED = 2
    UNCLEAN = 3


class PartitionChange:
    """A change under way: set the targets that differ from `partition`, then call `record`.

    Shape: `is_acceptable` says whether a replica may lead: its broker is active and the directory that holds the replica is online.
    `default_directory` gives the directory of a replica that is new. Replicas in `unclean_replicas` came back without what they had.
    """

    __slots__ = (
        "adding",
        "default_directory",
        "directories",
        "election",
        "elr",
        "elr_enabled",
        "is_acceptable",
        "isr",
        "last_known_elr",
        "level",
        "min_isr",
        "partition",
        "partition_id",
        "recovery",
        "removing",
        "replicas",
        "topic_id",
        "unclean_replicas",
    )

    def __init__(
        self,
        partition: PartitionRegistration,
        topic_id: bytes,
        partition_id: int,
        *,
        is_acceptable: Callable[[int], bool],
        level: int,
        min_isr: int,
        elr_enabled: bool,
        default_directory: Callable[[int], bytes],
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self.partition_id = partition_id
        self.is_acceptable = is_acceptable
        self.level = level
        self.min_isr = min_isr
        self.elr_enabled = elr_enabled
        self.default_directory = default_directory
        self.election = Election.ONLINE
        self.isr = partition.isr
        self.replicas = partition.replicas
        self.removing = partition.removing_replicas
        self.adding = partition.adding_replicas
        self.elr = partition.elr
        self.last_known_elr = partition.last_known_elr
        self.recovery = partition.leader_recovery_state
        self.directories: dict[int, bytes] | None = None
        self.unclean_replicas: tuple[int, ...] = ()

    def record(self) -> messages.PartitionChangeRecord | None:
        """The PartitionChangeRecord that takes the partition to its targets, None if nothing changes."""
        self._complete_reassignment()
        if self.elr_enabled:
            self._move_to_elr()
        partition = self.partition
        leader, is_unclean = self._elect()
        record = messages.PartitionChangeRecord(partition_id=self.partition_id, topic_id=self.topic_id)
        if leader != partition.leader:
            self._take_leader(record, leader, is_unclean)
        if (
            self.replicas is not partition.replicas
            and record.leader == NO_LEADER_CHANGE
            and not set(self.replicas).issuperset(partition.replicas)
        ):
            # A replica that is on its way out must learn that it is: naming the leader again makes a new leader epoch.
            record.leader = partition.leader
        if record.isr is not None or not self.elr_enabled:
            self.elr = ()
        if self.elr != partition.elr:
            record.eligible_leader_replicas = self.elr
        if record.isr is None and self.isr != partition.isr and (self.isr or self.elr_enabled):
            # Without ELR the last member stays in the ISR although nothing leads: it alone has everything.
            record.isr = self.isr
        # Before metadata.version 12 a smaller ISR needs a new leader epoch; naming the leader again makes one.
        if (
            self.level < LEADER_EPOCH_KEPT_LEVEL
            and record.isr is not None
            and record.leader == NO_LEADER_CHANGE
            and not set(record.isr).issuperset(partition.isr)
        ):
            record.leader = partition.leader
        if self.elr_enabled:
            self._keep_last_known(record)
        self._assign(record)
        if self.recovery != partition.leader_recovery_state:
            record.leader_recovery_state = self.recovery
        return None if _is_empty(record) else record

    def _complete_reassignment(self) -> None:
        """End a reassignment whose new replicas are in sync."""
        if not self.removing and not self.adding:
            return
        isr = tuple(id for id in self.isr if id not in self.removing)
        replicas = tuple(id for id in self.replicas if id not in self.removing)
        if self.removing and (not isr or not replicas):
            # Only replicas that shall go are in sync: without them the partition would have nobody.
            return
        if not set(isr).issuperset(self.adding):
            return
        # A smaller target has less spare, so all of it must be in sync, also what was there before.
        if len(self.adding) < len(self.removing) and not set(isr).issuperset(replicas):
            return
        self.isr, self.replicas, self.removing, self.adding = isr, replicas, (), ()

    def _move_to_elr(self) -> None:
        """Keep replicas that leave the ISR in the ELR while the ISR is too small: they still have all committed records."""
        if len(self.isr) >= self.min_isr:
            self.elr = self.last_known_elr = ()
            return
        partition = self.partition
        isr = self.isr
        candidates = hash_order((*self.elr, *partition.isr))
        # As in Kafka, a replica stays eligible that a reassignment took away, also when another one brings it back with an empty log.
        self.elr = tuple(id for id in candidates if id not in isr and id not in self.unclean_replicas)

    def _elect(self) -> tuple[int, bool]:
        """The leader from now on, -1 for none, and whether it may lack committed records."""
        partition = self.partition
        leader = partition.leader
        valid = self._is_valid_leader
        if self.election is Election.PREFERRED and self.replicas and valid(self.replicas[0]):
            return self.replicas[0], False
        if valid(leader):
            return leader, False
        for id in self.replicas:
            if valid(id):
                return id, False
        if self._may_elect_last_known():
            return partition.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            for id in self.replicas:
                if self.is_acceptable(id):
                    return id, True
        return NO_LEADER, False

    def _is_valid_leader(self, id: int) -> bool:
        return (id in self.isr or (not self.isr and id in self.elr)) and self.is_acceptable(id)

    def _may_elect_last_known(self) -> bool:
        last_known = self.partition.last_known_elr
        return self.elr_enabled and not self.isr and not self.elr and len(last_known) == 1 and self.is_acceptable(last_known[0])

    def _take_leader(self, record: messages.PartitionChangeRecord, leader: int, is_unclean: bool) -> None:
        record.leader = leader
        if leader in self.elr:
            # It has all that is committed, and nobody else is known to have what it appends from now on.
            self.isr = (leader,)
            self.elr = tuple(id for id in self.elr if id != leader)
        if is_unclean:
            # Its log may lack committed records: the new leader has to recover before others may rely on it.
            record.isr = (leader,)
            if self.partition.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING

    def _keep_last_known(self, record: messages.PartitionChangeRecord) -> None:
        partition = self.partition
        if record.leader == NO_LEADER and not partition.last_known_elr:
            record.last_known_elr = (partition.leader,)
        elif record.leader >= 0 and partition.last_known_elr:
            record.last_known_elr = ()

    def _assign(self, record: messages.PartitionChangeRecord) -> None:
        partition = self.partition
        replicas = self.replicas
        if self.level >= DIRECTORY_ASSIGNMENT_LEVEL and (replicas != partition.replicas or self.directories is not None):
            directories = self._directories()
            if directories != partition.directories:
                record.directories = directories
        if replicas != partition.replicas:
            record.replicas = replicas
        if self.removing != partition.removing_replicas:
            record.removing_replicas = self.removing
        if self.adding != partition.adding_replicas:
            record.adding_replicas = self.adding

    def _directories(self) -> tuple[bytes, ...]:
        partition = self.partition
        known = dict(zip(partition.replicas, partition.directories, strict=True))
        if self.directories is not None:
            known.update(self.directories)
        default = self.default_directory
        return tuple(known[id] if id in known else default(id) for id in self.replicas)


def _is_empty(record: messages.PartitionChangeRecord) -> bool:
    return (
        record.isr is None
        and record.leader == NO_LEADER_CHANGE
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
        and record.directories is None
        and record.leader_recovery_state == NO_RECOVERY_CHANGE
    )


def without(ids: Iterable[int], *gone: int) -> tuple[int, ...]:
    """`ids` but those, in the same order."""
    return tuple(id for id in ids if id not in gone)
