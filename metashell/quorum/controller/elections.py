"""Leader elections: those that somebody asks for, those that the controller holds by itself, and changes of many partitions at once.

`PartitionChanges` makes the records when brokers are fenced, unfenced or leave, and when a directory is lost; all other changes of
partitions go through it too. Replicas that a client chose by hand are checked here before a partition is made or moved.

Source: org.apache.kafka.controller.ReplicationControlManager.electLeaders, generateLeaderAndIsrUpdates, validateManualPartitionAssignment,
buildPartitionRegistration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from metashell.codec import messages
from metashell.codec.error_codes import (
    ELECTION_NOT_NEEDED,
    ELIGIBLE_LEADERS_NOT_AVAILABLE,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REQUEST,
    NONE,
    PREFERRED_LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.common.values import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from metashell.metadata.checks.partitions import is_leaderless, is_online, is_unpreferred
from metashell.metadata.image import PartitionRegistration, TopicImage
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.decision import (
    PIECE,
    ApiError,
    BoundedRecords,
    Decision,
    Request,
    Steps,
    TaskResult,
    elr_enabled,
    partition_version,
    refusal,
)
from metashell.quorum.controller.hints import PartitionKey
from metashell.quorum.controller.partition_change import Election, PartitionChange, without
from metashell.quorum.controller.state import State, partition_of

_TYPES: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
ELECTIONS_MAX: Final = 1000
"""The elections of one run of a periodic task."""
_NOT_NEEDED = "Leader election not needed for topic partition."
_Result: TypeAlias = "messages.ElectLeadersResponse.PartitionResult"
_Answers: TypeAlias = "list[messages.ElectLeadersResponse.ReplicaElectionResult]"


def elect_leaders(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Hold an election for each partition that is asked for; without a list, for all of them."""
    body = request.body
    if body.topic_partitions is not None and not body.topic_partitions:
        return Decision(_response(request, [], NONE))
    if request.is_late(body.timeout_ms, now_ms):
        return Decision(refusal(request, REQUEST_TIMED_OUT, None))
    election = _TYPES.get(body.election_type)
    if election is None:
        return Decision(refusal(request, INVALID_REQUEST, f"Unknown election type {body.election_type}"))
    records = BoundedRecords()
    results = yield from (_elect_all if body.topic_partitions is None else _elect_listed)(state, body, election, records)
    return Decision(_response(request, results, NONE), records, atomic=False)


def _elect_listed(state: State, body: messages.ElectLeadersRequest, election: Election, records: BoundedRecords) -> Steps[_Answers]:
    changes = PartitionChanges(state)
    answers: _Answers = []
    for topic in body.topic_partitions or ():
        results = []
        for id in topic.partitions:
            results.append(_result(id, _elect(state, changes, topic.topic, id, election, records)))
            yield
        answers.append(_answer(topic.topic, results))
    return answers


def _elect_all(state: State, body: messages.ElectLeadersRequest, election: Election, records: BoundedRecords) -> Steps[_Answers]:
    """Elections wherever one is needed; every topic is named in the answer, and only partitions in which one was."""
    changes = PartitionChanges(state)
    results: dict[bytes, list[_Result]] = {}
    for found in changes.unpreferred() if election is Election.PREFERRED else changes.leaderless():
        if found is None:
            yield
            continue
        topic, partition_id, partition = found
        error = _hold(changes, topic, partition_id, partition, election, records)
        results.setdefault(topic.id, []).append(_result(partition_id, error))
    answers: _Answers = []
    for topic in state.image.topics:
        answers.append(_answer(topic.name, results.get(topic.id, ())))
        if not len(answers) % PIECE:
            yield
    return answers


def _elect(state: State, changes: PartitionChanges, name: str, partition_id: int, election: Election, records: BoundedRecords) -> ApiError:
    topic = state.image.topics.by_name.get(name)
    if topic is None:
        return ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = partition_of(topic, partition_id)
    if partition is None:
        return ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition_id}")
    if not _is_needed(partition, election):
        return ApiError(ELECTION_NOT_NEEDED, _NOT_NEEDED)
    return _hold(changes, topic, partition_id, partition, election, records)


def _hold(
    changes: PartitionChanges,
    topic: TopicImage,
    partition_id: int,
    partition: PartitionRegistration,
    election: Election,
    records: BoundedRecords,
) -> ApiError:
    """Hold an election that is needed; what came of it."""
    made = _election_records(changes, topic, partition_id, partition, election)
    if not made:
        if election is Election.PREFERRED:
            return ApiError(PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        return ApiError(ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
    records.extend(made)
    return ApiError(NONE)


def _is_needed(partition: PartitionRegistration, election: Election) -> bool:
    if election is Election.PREFERRED:
        return is_unpreferred(partition)
    return is_leaderless(partition)


def _election_records(
    changes: PartitionChanges, topic: TopicImage, partition_id: int, partition: PartitionRegistration, election: Election
) -> list[VersionedRecord]:
    change = changes.change(topic, partition_id, partition)
    change.election = election
    return changes.record(change)


def _result(partition_id: int, error: ApiError) -> _Result:
    made = messages.ElectLeadersResponse.PartitionResult
    return made(partition_id=partition_id, error_code=error.code, error_message=error.message)


def _answer(topic: str, results: Iterable[_Result]) -> messages.ElectLeadersResponse.ReplicaElectionResult:
    return messages.ElectLeadersResponse.ReplicaElectionResult(topic=topic, partition_result=tuple(results))


def _response(request: Request, answers: _Answers, code: int) -> messages.ElectLeadersResponse:
    code = code if request.version >= 1 else NONE
    return messages.ElectLeadersResponse(error_code=code, replica_election_results=tuple(answers))


def elect_preferred(state: State, now_ms: int) -> Steps[TaskResult]:
    """Periodic: let preferred replicas lead again, where they can."""
    changes = PartitionChanges(state)
    return _elect_some(changes, changes.unpreferred(), Election.PREFERRED)


def elect_unclean(state: State, now_ms: int) -> Steps[TaskResult]:
    """Periodic: let any live replica lead partitions without leader, where their topics allow that."""
    changes = PartitionChanges(state)
    allowed = (found for found in changes.leaderless() if found is None or changes.rules.allows_unclean(found[0].name))
    return _elect_some(changes, allowed, Election.UNCLEAN)


def _elect_some(changes: PartitionChanges, partitions: Iterable[Found | None], election: Election) -> Steps[TaskResult]:
    """Elections in as many partitions as one run holds, and whether there may be more."""
    records: list[VersionedRecord] = []
    for found in partitions:
        if found is None:
            yield
            continue
        if len(records) >= ELECTIONS_MAX:
            return Decision(None, records, atomic=False), True
        topic, partition_id, partition = found
        records += _election_records(changes, topic, partition_id, partition, election)
    return Decision(None, records, atomic=False), False


# Changes of many partitions


NOBODY: Final = -1
Found = tuple[TopicImage, int, PartitionRegistration]


class PartitionChanges:
    """Makes partition changes for one decision, all on the image that it began with.

    None among the partitions and records that it iterates over is a place to rest.
    """

    def __init__(self, state: State) -> None:
        image = state.image
        self._state = state
        self._brokers = image.cluster.brokers
        self._active: dict[int, bool] = {}
        self.level = state.level
        self.elr_enabled = elr_enabled(image)
        self.version = partition_version(self.level)
        self.rules = state.rules
        self._first_counts: dict[bytes, int] = {}

    def is_active(self, broker_id: int) -> bool:
        """Whether a broker may be in ISRs and lead: registered, not fenced, not in controlled shutdown."""
        known = self._active.get(broker_id)
        if known is None:
            broker = self._brokers.get(broker_id)
            known = self._active[broker_id] = broker is not None and not broker.fenced and not broker.in_controlled_shutdown
        return known

    def default_directory(self, broker_id: int) -> bytes:
        """The directory of a new replica on a broker, before the broker says where it put it."""
        if self.level < DIRECTORY_ASSIGNMENT_LEVEL:
            return MIGRATING_DIRECTORY
        broker = self._brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.directories:
            return MIGRATING_DIRECTORY
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED_DIRECTORY

    def change(
        self, topic: TopicImage, partition_id: int, partition: PartitionRegistration, adding: int = NOBODY, removing: int = NOBODY
    ) -> PartitionChange:
        """A change of one partition, in which broker `adding` counts as active and `removing` as gone."""

        def is_acceptable(id: int) -> bool:
            if id == removing or not (id == adding or self.is_active(id)):
                return False
            return self._is_online(id, partition)

        return PartitionChange(
            partition,
            topic.id,
            partition_id,
            is_acceptable=is_acceptable,
            level=self.level,
            min_isr=self._min_isr(topic, partition_id, partition),
            elr_enabled=self.elr_enabled,
            default_directory=self.default_directory,
        )

    def _min_isr(self, topic: TopicImage, partition_id: int, partition: PartitionRegistration) -> int:
        """The fewest replicas in sync, at most as many as the topic's first partition has."""
        # With two replicas and min.insync.replicas=3 no ISR would ever be large enough, and the ELR would never be cleared. Kafka goes by
        # partition 0 (ReplicationControlManager.getTopicEffectiveMinIsr), although partitions of a topic may differ.
        wanted = self.rules.min_isr(topic.name)
        if wanted <= 1:
            return wanted
        count = len(partition.replicas) if partition_id == 0 else self._first_counts.get(topic.id)
        if count is None:
            first = partition_of(topic, 0)
            count = self._first_counts[topic.id] = wanted if first is None else len(first.replicas)
        return min(wanted, count)

    def _is_online(self, broker_id: int, partition: PartitionRegistration) -> bool:
        if broker_id not in partition.replicas:
            return False
        directory = partition.directories[partition.replicas.index(broker_id)]
        broker = self._brokers.get(broker_id)
        return broker is not None and is_online(directory, broker)

    def record(self, change: PartitionChange) -> list[VersionedRecord]:
        """The change's record at its version, if it is one."""
        made = change.record()
        return [] if made is None else [(made, self.version)]

    def removals(self, partitions: Iterable[Found | None], broker_id: int, *, is_unclean: bool = False) -> Iterator[VersionedRecord | None]:
        """Take a broker out of the ISR of partitions, electing where it led. An unclean one lost data and leaves the ELR too."""
        for found in partitions:
            if found is None:
                yield None
                continue
            topic, partition_id, partition = found
            change = self.change(topic, partition_id, partition, removing=broker_id)
            change.isr = without(partition.isr, broker_id)
            if is_unclean:
                change.unclean_replicas = (broker_id,)
            if self.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            yield from self.record(change)

    def elections_for(self, broker_id: int) -> Iterator[VersionedRecord | None]:
        """Let a broker that comes back lead what nobody leads."""
        for found in self.leaderless():
            if found is None:
                yield None
                continue
            topic, partition_id, partition = found
            # The image still has it fenced: the record that unfences it is of the same decision.
            change = self.change(topic, partition_id, partition, adding=broker_id)
            if self.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            yield from self.record(change)

    def leaderless(self) -> Iterator[Found | None]:
        """Every partition that nobody leads."""
        return self._those(self._state.hints.leaderless, is_leaderless)

    def unpreferred(self) -> Iterator[Found | None]:
        """Every partition that another than its first replica leads."""
        return self._those(self._state.hints.unpreferred, is_unpreferred)

    def _those(self, hints: dict[PartitionKey, None], is_meant: Callable[[PartitionRegistration], bool]) -> Iterator[Found | None]:
        """The partitions that hints name and that are what they hint at; the others are dropped from the hints where that is safe."""
        wrong: list[PartitionKey] = []
        try:
            for key, found in self._looked_up(hints):
                if found is not None and is_meant(found[2]):
                    yield found
                elif key is None:
                    yield None
                else:
                    wrong.append(key)
        finally:
            self._state.drop_hints(hints, wrong)

    def in_isr(self, broker_id: int) -> Iterator[Found | None]:
        """The partitions in whose ISR a broker is."""
        return (found for found in self.with_replica(broker_id) if found is None or broker_id in found[2].isr)

    def in_elr(self, broker_id: int) -> Iterator[Found | None]:
        return (found for found in self.with_replica(broker_id) if found is None or broker_id in found[2].elr)

    def leads_any(self, broker_id: int) -> Steps[bool]:
        for found in self.with_replica(broker_id):
            if found is None:
                yield
            elif found[2].leader == broker_id:
                return True
        return False

    def with_replica(self, broker_id: int) -> Iterator[Found | None]:
        """The partitions that have, or lately had, a replica on a broker."""
        return (found for key, found in self._looked_up(self._state.hints.of_broker(broker_id)) if found is not None or key is None)

    def _looked_up(self, keys: Iterable[PartitionKey]) -> Iterator[tuple[PartitionKey | None, Found | None]]:
        """Each of some partitions as it is at the tip, None for one that there is not; (None, None) is a place to rest."""
        by_id = self._state.image.topics.by_id
        last_id, topic = b"", None
        for number, key in enumerate(keys, 1):
            topic_id, partition_id = key
            if topic_id != last_id:
                last_id, topic = topic_id, by_id.get(topic_id)
            partition = None if topic is None else partition_of(topic, partition_id)
            if topic is None or partition is None:
                yield key, None
            else:
                yield key, (topic, partition_id, partition)
            if not number % PIECE:
                yield None, None


def check_manual_assignment(state: State, replicas: Sequence[int], replication_factor: int | None) -> None:
    """Whether brokers can be the replicas of a partition, also those that stay, and whether there are as many as other partitions have.

    Errors: ApiError INVALID_REPLICA_ASSIGNMENT; brokers are looked at in ascending order of their ids.
    """
    if not replicas:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(replicas):
        broker = state.image.cluster.brokers.get(broker_id)
        if broker is None:
            raise _invalid(f"The manual partition assignment includes broker {broker_id}, but no such broker is registered.")
        if broker_id == previous:
            raise _invalid(f"The manual partition assignment includes the broker {broker_id} more than once.")
        if broker.is_cordoned:
            raise _invalid(f"The manual partition assignment includes broker {broker_id}, but all its log directories are cordoned.")
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not consistent with "
            f"previous partitions, which have {replication_factor} replica(s)."
        )


def active_replicas(changes: PartitionChanges, replicas: Sequence[int], partition_id: int) -> tuple[int, ...]:
    """The ISR of a new partition whose replicas were chosen by hand. Errors: ApiError if nobody could lead it."""
    isr = tuple(id for id in replicas if changes.is_active(id))
    if not isr:
        which = f"for partition {partition_id} are fenced or in controlled shutdown."
        raise _invalid(f"All brokers specified in the manual partition assignment {which}")
    return isr


def new_partition(
    changes: PartitionChanges, topic_id: bytes, partition_id: int, replicas: Sequence[int], isr: Sequence[int]
) -> VersionedRecord:
    """The record of a new partition; its leader is the first in sync."""
    has_directories = changes.level >= DIRECTORY_ASSIGNMENT_LEVEL
    record = messages.PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(changes.default_directory(id) for id in replicas) if has_directories else (),
    )
    return record, changes.version


def _invalid(message: str) -> ApiError:
    return ApiError(INVALID_REPLICA_ASSIGNMENT, message)
