"""Flat raft messages as codec messages of a negotiated version, and back.

Promises: what a peer sent never raises; a wrong shape (not exactly the metadata partition) is a flat message with `shape_ok`
False. A field that a version does not have takes its default in silence where Kafka's schema calls it ignorable; where it is
not, `UnsupportedVersionError` is raised before anything is sent. `hide_leader` is called before an answer is encoded.

`hide_leader` decides which leader an answer may name whose version cannot say where that leader is. A Kafka replica that learns of a leader
whose endpoint it cannot find out dies. At kraft.version 0 it finds the leader among its static voters. From level 1 on the voters are in
the log, which the asker may not have: so an answer of a version without endpoints then names nobody. An asker of such a version is no voter
there (a voter of level 1 is of 3.9 or later, and those have endpoints in every message), so it loses nothing but a leader that it might not
reach.

Public names: `encode_request`, `decode_request`, `encode_response`, `decode_response`, `send_raft_request`, `hide_leader`; of `messages`
`api_key_of`, `OURS`, `UnsupportedVersionError`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, assert_never

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.common.values import NO_LEADER
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.messages import OURS, Request, Response, Row, UnsupportedVersionError, api_key_of
from metashell.quorum.raft.wire.administration import DESCRIBE_ROWS, VOTER_ROWS
from metashell.quorum.raft.wire.replication import ELECTION_ROWS, ENDPOINTS_FROM, FETCH_ROWS

__all__ = [
    "OURS",
    "UnsupportedVersionError",
    "api_key_of",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "hide_leader",
    "send_raft_request",
]


_TABLE: Final[Mapping[int, Row]] = {**FETCH_ROWS, **ELECTION_ROWS, **DESCRIBE_ROWS, **VOTER_ROWS}


def encode_request(message: Request, version: int) -> Any:
    """The codec message of a request. Errors: UnsupportedVersionError where a field that must not be lost does not fit."""
    return _TABLE[api_key_of(message)].request_to(message, version)


def decode_request(api_key: int, version: int, message: Any) -> Request:
    """The flat request of a codec message. Errors: KeyError for an api key that is none of raft's."""
    return _TABLE[api_key].request_from(message, version)


def encode_response(message: Response, version: int) -> Any:
    """The codec message of a response; what a version cannot say is left out."""
    return _TABLE[api_key_of(message)].response_to(message, version)


def decode_response(api_key: int, version: int, message: Any) -> Response:
    """The flat response of a codec message. Errors: KeyError for an api key that is none of raft's."""
    return _TABLE[api_key].response_from(message, version)


class Peer(Protocol):
    """A connection: the version that is used of each API, and requests as codec's messages."""

    @property
    def versions(self) -> Mapping[int, int]: ...

    async def request(self, message: Any, *, version: int | None = None, timeout_s: float = ...) -> Any: ...


async def send_raft_request(peer: Peer, request: Request, timeout_s: float) -> Response:
    """The answer, at the version that both sides have. Errors: UnsupportedVersionError before anything is sent; those of the connection."""
    key = api_key_of(request)
    version = peer.versions.get(key)
    if version is None:
        raise UnsupportedVersionError(f"{type(request).__name__}: no common version")
    answer = await peer.request(encode_request(request, version), version=version, timeout_s=timeout_s)
    return decode_response(key, version, answer)


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
