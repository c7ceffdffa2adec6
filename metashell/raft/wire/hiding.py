"""Whom an answer may name as leader, where its version cannot say where that leader is.

A Kafka replica that learns of a leader whose endpoint it cannot find out dies. At kraft.version 0 it finds the leader among
its static voters. From level 1 on the voters are in the log, which the asker may not have: so an answer of a version without endpoints then
names nobody. An asker of such a version is no voter there (a voter of level 1 is of 3.9 or later, and those have endpoints in every
message), so it loses nothing but a leader that it might not reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.ids import NO_LEADER
from metashell.raft import messages as flat
from metashell.raft.wire.fetching import ENDPOINTS_FROM

_FROM: Final[Mapping[type[object], int]] = {
    flat.VoteResponse: 1,
    flat.BeginQuorumEpochResponse: 1,
    flat.EndQuorumEpochResponse: 1,
    flat.FetchResponse: ENDPOINTS_FROM,
    flat.FetchSnapshotResponse: 1,
}


def hide_leader(message: flat.Response, version: int, kraft_version: int) -> flat.Response:
    """The answer as it may be sent at a version: the same object where it may be sent as it is.

    A Fetch or FetchSnapshot that was served becomes NOT_LEADER_OR_FOLLOWER: an answer without error of a leader that is not named
    would kill an asker that does not know it.
    """
    since = _FROM.get(type(message), 0)
    if version >= since or kraft_version < 1:
        return message
    match message:
        case flat.FetchResponse(top_error=0, error=0) | flat.FetchSnapshotResponse(top_error=0, error=0):
            return type(message)(error=NOT_LEADER_OR_FOLLOWER, epoch=message.epoch)
        case flat.VoteResponse() | flat.BeginQuorumEpochResponse() | flat.EndQuorumEpochResponse() | flat.FetchResponse():
            return replace(message, leader_id=NO_LEADER, leader_endpoint=None)
        case flat.FetchSnapshotResponse():
            return replace(message, leader_id=NO_LEADER, leader_endpoint=None)
        case (
            flat.AddRaftVoterResponse()
            | flat.RemoveRaftVoterResponse()
            | flat.UpdateRaftVoterResponse()
            | flat.DescribeQuorumResponse()
            | flat.ApiVersionsResponse()
        ):
            return message
        case _:
            assert_never(message)
