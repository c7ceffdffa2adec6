"""Flat raft messages as codec messages of a negotiated version, and back.

Promises: what a peer sent never raises; a wrong shape (not exactly the metadata partition) is a flat message with `shape_ok`
False. A field that a version does not have takes its default in silence where Kafka's schema calls it ignorable; where it is
not, `UnsupportedVersionError` is raised before anything is sent. `hide_leader` is called before
an answer is encoded.

Public names: `encode_request`, `decode_request`, `encode_response`, `decode_response` (`table`),
`ask` (`asking`), `hide_leader` (`hiding`), `api_key_of`, `OURS`, `UnsupportedVersionError` (`versions`).
"""

from metashell.raft.wire.asking import ask
from metashell.raft.wire.hiding import hide_leader
from metashell.raft.wire.table import decode_request, decode_response, encode_request, encode_response
from metashell.raft.wire.versions import OURS, UnsupportedVersionError, api_key_of

__all__ = [
    "OURS",
    "UnsupportedVersionError",
    "api_key_of",
    "ask",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "hide_leader",
]
