"""One row an API: which functions turn its flat messages into codec's and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from metashell.codec import api_keys as api
from metashell.raft.messages import Request, Response
from metashell.raft.wire import describing, elections, fetching, voters
from metashell.raft.wire.versions import api_key_of


class _Row(NamedTuple):
    request_to: Callable[[Any, int], Any]
    request_from: Callable[[Any, int], Request]
    response_to: Callable[[Any, int], Any]
    response_from: Callable[[Any, int], Response]


_TABLE: Final[Mapping[int, _Row]] = {
    api.FETCH: _Row(fetching.fetch_request_to, fetching.fetch_request_from, fetching.fetch_response_to, fetching.fetch_response_from),
    api.API_VERSIONS: _Row(
        describing.api_versions_request_to,
        describing.api_versions_request_from,
        describing.api_versions_response_to,
        describing.api_versions_response_from,
    ),
    api.VOTE: _Row(elections.vote_request_to, elections.vote_request_from, elections.vote_response_to, elections.vote_response_from),
    api.BEGIN_QUORUM_EPOCH: _Row(
        elections.begin_request_to, elections.begin_request_from, elections.begin_response_to, elections.begin_response_from
    ),
    api.END_QUORUM_EPOCH: _Row(
        elections.end_request_to, elections.end_request_from, elections.end_response_to, elections.end_response_from
    ),
    api.DESCRIBE_QUORUM: _Row(
        describing.describe_request_to,
        describing.describe_request_from,
        describing.describe_response_to,
        describing.describe_response_from,
    ),
    api.FETCH_SNAPSHOT: _Row(
        fetching.snapshot_request_to, fetching.snapshot_request_from, fetching.snapshot_response_to, fetching.snapshot_response_from
    ),
    api.ADD_RAFT_VOTER: _Row(voters.add_request_to, voters.add_request_from, voters.add_response_to, voters.add_response_from),
    api.REMOVE_RAFT_VOTER: _Row(
        voters.remove_request_to, voters.remove_request_from, voters.remove_response_to, voters.remove_response_from
    ),
    api.UPDATE_RAFT_VOTER: _Row(
        voters.update_request_to, voters.update_request_from, voters.update_response_to, voters.update_response_from
    ),
}


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
