"""Elections that somebody asks for, and those that the controller holds by itself.

Source: org.apache.kafka.controller.ReplicationControlManager.electLeaders; controller.md 21.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    ELECTION_NOT_NEEDED,
    ELIGIBLE_LEADERS_NOT_AVAILABLE,
    INVALID_REQUEST,
    NONE,
    PREFERRED_LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.partitions.bulk import Changes, Found
from metashell.controller.partitions.change import Election
from metashell.controller.request import Request
from metashell.controller.state import State, partition_of
from metashell.ids import NO_LEADER
from metashell.image import PartitionRegistration, TopicImage
from metashell.image.loss import VersionedRecord

_TYPES: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
ELECTIONS_MAX: Final = 1000
"""The elections of one run of a periodic task."""
_NOT_NEEDED = "Leader election not needed for topic partition."
_Asked = Sequence[tuple[str, Iterable[int]]]
_Results = Sequence[tuple[str, Sequence[tuple[int, ApiError]]]]


def elect_leaders(state: State, request: Request, now_ms: int) -> Decision:
    """Hold an election for each partition that is asked for; without a list, for all of them."""
    body = request.body
    election = _TYPES.get(body.election_type)
    if election is None:
        return Decision(refuse(request, INVALID_REQUEST, f"Unknown election type {body.election_type}"))
    if request.is_late(body.timeout_ms, now_ms):
        return Decision(refuse(request, REQUEST_TIMED_OUT, None))
    is_whole = body.topic_partitions is None
    asked = _all_partitions(state) if is_whole else _listed(body)
    changes = Changes(state)
    records = BoundedRecords()
    topics = []
    for name, partition_ids in asked:
        results = [(id, _elect(state, changes, name, id, election, records)) for id in partition_ids]
        topics.append((name, [result for result in results if not (is_whole and result[1].code == ELECTION_NOT_NEEDED)]))
    return Decision(_response(request, topics, NONE), records, atomic=False)


def _listed(body: Any) -> _Asked:
    return [(topic.topic, topic.partitions) for topic in body.topic_partitions or ()]


def _all_partitions(state: State) -> _Asked:
    return [(topic.name, topic.partition_ids()) for topic in state.image.topics]


def _elect(state: State, changes: Changes, name: str, partition_id: int, election: Election, records: BoundedRecords) -> ApiError:
    topic = state.image.topics.by_name.get(name)
    if topic is None:
        return ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = partition_of(topic, partition_id)
    if partition is None:
        return ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{partition_id}")
    if not _is_needed(partition, election):
        return ApiError(ELECTION_NOT_NEEDED, _NOT_NEEDED)
    made = _election_records(changes, topic, partition_id, partition, election)
    if not made:
        if election is Election.PREFERRED:
            return ApiError(PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
        return ApiError(ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available.")
    records.extend(made)
    return ApiError(NONE)


def _is_needed(partition: PartitionRegistration, election: Election) -> bool:
    if election is Election.PREFERRED:
        return not partition.replicas or partition.leader != partition.replicas[0]
    return partition.leader == NO_LEADER


def _election_records(
    changes: Changes, topic: TopicImage, partition_id: int, partition: PartitionRegistration, election: Election
) -> list[VersionedRecord]:
    change = changes.change(topic, partition_id, partition)
    change.election = election
    return changes.record(change)


def _response(request: Request, topics: _Results, code: int) -> Any:
    response = messages.ElectLeadersResponse
    results = []
    for name, partitions in topics:
        made = [response.PartitionResult(partition_id=id, error_code=error.code, error_message=error.message) for id, error in partitions]
        results.append(response.ReplicaElectionResult(topic=name, partition_result=tuple(made)))
    return response(error_code=code if request.version >= 1 else NONE, replica_election_results=tuple(results))


def refuse(request: Request, code: int, message: str | None) -> Any:
    """The answer that refuses every partition of a request."""
    error = ApiError(code, message)
    return _response(request, [(name, [(id, error) for id in ids]) for name, ids in _listed(request.body)], code)


def elect_preferred(state: State, now_ms: int) -> tuple[Decision, bool]:
    """Periodic: let preferred replicas lead again, where they can."""
    changes = Changes(state)
    return _elect_some(changes, changes.unpreferred(), Election.PREFERRED)


def elect_unclean(state: State, now_ms: int) -> tuple[Decision, bool]:
    """Periodic: let any live replica lead partitions without leader, where their topics allow that."""
    changes = Changes(state)
    allowed = (found for found in changes.leaderless() if changes.rules.allows_unclean(found[0].name))
    return _elect_some(changes, allowed, Election.UNCLEAN)


def _elect_some(changes: Changes, partitions: Iterable[Found], election: Election) -> tuple[Decision, bool]:
    """Elections in as many partitions as one run holds, and whether there may be more."""
    records: list[VersionedRecord] = []
    for topic, partition_id, partition in partitions:
        if len(records) >= ELECTIONS_MAX:
            return Decision(None, records, atomic=False), True
        records += _election_records(changes, topic, partition_id, partition, election)
    return Decision(None, records, atomic=False), False
