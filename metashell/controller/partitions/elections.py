"""Elections that somebody asks for, and those that the controller holds by itself.

Source: org.apache.kafka.controller.ReplicationControlManager.electLeaders.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from metashell.checks.partitions import is_leaderless, is_unpreferred
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
from metashell.controller.partitions.bulk import Changes, Found
from metashell.controller.partitions.change import Election
from metashell.controller.request import Request
from metashell.controller.state import State, partition_of
from metashell.controller.steps import PIECE, Steps
from metashell.image import PartitionRegistration, TopicImage
from metashell.image.loss import VersionedRecord

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
        return Decision(refuse(request, REQUEST_TIMED_OUT, None))
    election = _TYPES.get(body.election_type)
    if election is None:
        return Decision(refuse(request, INVALID_REQUEST, f"Unknown election type {body.election_type}"))
    records = BoundedRecords()
    results = yield from (_elect_all if body.topic_partitions is None else _elect_listed)(state, body, election, records)
    return Decision(_response(request, results, NONE), records, atomic=False)


def _elect_listed(state: State, body: messages.ElectLeadersRequest, election: Election, records: BoundedRecords) -> Steps[_Answers]:
    changes = Changes(state)
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
    changes = Changes(state)
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
    return is_leaderless(partition)


def _election_records(
    changes: Changes, topic: TopicImage, partition_id: int, partition: PartitionRegistration, election: Election
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


def refuse(request: Request, code: int, message: str | None) -> messages.ElectLeadersResponse:
    """The answer that refuses every partition of a request."""
    error = ApiError(code, message)
    asked = request.body.topic_partitions or ()
    return _response(request, [_answer(topic.topic, (_result(id, error) for id in topic.partitions)) for topic in asked], code)


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
