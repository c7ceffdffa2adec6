"""Nobody is told of a leader that it could not find."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.wire import hide_leader

AT = ("host", 9093)
ANSWERS: list[tuple[Any, int]] = [
    (flat.VoteResponse(0, 0, 3, 5, AT, False), 1),
    (flat.BeginQuorumEpochResponse(0, 0, 3, 5, AT), 1),
    (flat.EndQuorumEpochResponse(0, 74, 3, 5, AT), 1),
    (flat.FetchResponse(0, 6, 3, 5, AT), 17),
    (flat.FetchSnapshotResponse(0, 6, 3, 5, AT), 1),
]
SERVED: list[tuple[Any, int]] = [
    (flat.FetchResponse(0, 0, 3, 5, AT, 9, 0, records=b"batches"), 17),
    (flat.FetchSnapshotResponse(0, 0, 3, 5, AT, size=9, records=b"batches"), 1),
]
NAMES = [type(answer).__name__ for answer, _ in ANSWERS]


@pytest.mark.parametrize(("answer", "since"), ANSWERS, ids=NAMES)
def test_an_answer_that_cannot_say_where_the_leader_is_names_none(answer: Any, since: int) -> None:
    hidden = hide_leader(answer, since - 1, 1)
    assert (hidden.leader_id, hidden.leader_endpoint) == (-1, None)
    assert (type(hidden), hidden.error, hidden.epoch) == (type(answer), answer.error, 5)


@pytest.mark.parametrize(("answer", "since"), SERVED, ids=["Fetch", "FetchSnapshot"])
def test_who_cannot_be_told_of_the_leader_is_not_served(answer: Any, since: int) -> None:
    """An Unattached replica of Kafka dies of an answer without error that names nobody: it counts on following by then."""
    hidden = hide_leader(answer, since - 1, 1)
    assert (hidden.error, hidden.leader_id, hidden.epoch, hidden.records, hidden.leader_endpoint) == (6, -1, 5, b"", None)
    assert hide_leader(answer, since, 1) is answer


@pytest.mark.parametrize(("answer", "since"), ANSWERS, ids=NAMES)
def test_newer_versions_and_static_voters_lose_nothing(answer: Any, since: int) -> None:
    assert hide_leader(answer, since, 1) is answer
    assert hide_leader(answer, since - 1, 0) is answer


def test_answers_that_stand_alone_and_others_stay_as_they_are() -> None:
    for answer in (flat.DescribeQuorumResponse(leader_id=3, epoch=5), flat.AddRaftVoterResponse(), flat.ApiVersionsResponse()):
        assert hide_leader(answer, 0, 1) is answer
    assert hide_leader(flat.FetchResponse(42), 16, 1) == flat.FetchResponse(42)
