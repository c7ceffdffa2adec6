"""All rows: which functions turn the flat messages of an API into codec's and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.raft.messages import Request, Response
from metashell.raft.wire.common import Row
from metashell.raft.wire.describing import ROWS as DESCRIBING
from metashell.raft.wire.elections import ROWS as ELECTIONS
from metashell.raft.wire.fetching import ROWS as FETCHING
from metashell.raft.wire.versions import api_key_of
from metashell.raft.wire.voters import ROWS as VOTERS

_TABLE: Final[Mapping[int, Row]] = {**FETCHING, **ELECTIONS, **DESCRIBING, **VOTERS}


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
