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
from metashell.controller.decision import ApiError, BoundedRecords, Decision, TaskResult
from metashell.controller.partitions.bulk import Changes, Found, is_unpreferred
from metashell.controller.partitions.change import Election
from metashell.controller.request import Request
from metashell.controller.state import State, partition_of
from metashell.controller.steps import PIECE, Steps
from metashell.ids import NO_LEADER
from metashell.image import PartitionRegistration, TopicImage
from metashell.image.loss import VersionedRecord

_TYPES: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}
ELECTIONS_MAX: Final = 1000
"""The elections of one run of a periodic task."""
_NOT_NEEDED = "Leader election not needed for topic partition."
_Asked = Sequence[tuple[str, Iterable[int]]]
_Results = list[tuple[str, list[tuple[int, ApiError]]]]


def elect_leaders(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Hold an election for each partition that is asked for; without a list, for all of them."""
    body = request.body
    election = _TYPES.get(body.election_type)
    if election is None:
        return Decision(refuse(request, INVALID_REQUEST, f"Unknown election type {body.election_type}"))
    if request.is_late(body.timeout_ms, now_ms):
        return Decision(refuse(request, REQUEST_TIMED_OUT, None))
    records = BoundedRecords()
    held = _elect_all(state, election, records) if body.topic_partitions is None else _elect_listed(state, _listed(body), election, records)
    topics = yield from held
    return Decision(_response(request, topics, NONE), records, atomic=False)


def _listed(body: Any) -> _Asked:
    return [(topic.topic, topic.partitions) for topic in body.topic_partitions or ()]


def _elect_listed(state: State, asked: _Asked, election: Election, records: BoundedRecords) -> Steps[_Results]:
    changes = Changes(state)
    topics: _Results = []
    for name, partition_ids in asked:
        results = []
        for id in partition_ids:
            results.append((id, _elect(state, changes, name, id, election, records)))
            yield
        topics.append((name, results))
    return topics


def _elect_all(state: State, election: Election, records: BoundedRecords) -> Steps[_Results]:
    """Elections wherever one is needed; every topic is named in the answer, and only partitions in which one was."""
    changes = Changes(state)
    results: dict[bytes, list[tuple[int, ApiError]]] = {}
    for found in changes.unpreferred() if election is Election.PREFERRED else changes.leaderless():
        if found is None:
            yield
            continue
        topic, partition_id, partition = found
        error = _hold(changes, topic, partition_id, partition, election, records)
        results.setdefault(topic.id, []).append((partition_id, error))
    topics: _Results = []
    for topic in state.image.topics:
        topics.append((topic.name, results.get(topic.id, [])))
        if not len(topics) % PIECE:
            yield
    return topics


def _elect(state: State, changes: Changes, name: str, partition_id: int, election: Election, records: BoundedRecords) -> ApiError:
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
    changes: Changes, topic: TopicImage, partition_id: int, partition: PartitionRegistration, election: Election, records: BoundedRecords
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


def elect_preferred(state: State, now_ms: int) -> Steps[TaskResult]:
    """Periodic: let preferred replicas lead again, where they can."""
    changes = Changes(state)
    return _elect_some(changes, changes.unpreferred(), Election.PREFERRED)


def elect_unclean(state: State, now_ms: int) -> Steps[TaskResult]:
    """Periodic: let any live replica lead partitions without leader, where their topics allow that."""
    changes = Changes(state)
    allowed = (found for found in changes.leaderless() if found is None or changes.rules.allows_unclean(found[0].name))
    return _elect_some(changes, allowed, Election.UNCLEAN)


def _elect_some(changes: Changes, partitions: Iterable[Found | None], election: Election) -> Steps[TaskResult]:
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
