"""Flat raft messages as codec messages of a negotiated version, and back.

Promises: what a peer sent never raises; a wrong shape (not exactly the metadata partition) is a flat message with `shape_ok`
False. A field that a version does not have takes its default in silence where Kafka's schema calls it ignorable; where it is
not, `UnsupportedVersionError` is raised before anything is sent. `drop(message, version)` is what a peer of that version sees of
a flat message, without bytes. `hide_leader` is asked before an answer is encoded.

Public names: `encode_request`, `decode_request`, `encode_response`, `decode_response` (`table`), `drop` (`dropping`),
`hide_leader` (`hiding`), `api_key_of`,
`GENERATIONS`, `OURS`, `message_versions`, `UnsupportedVersionError` (`versions`).
"""

from metashell.raft.wire.dropping import drop
from metashell.raft.wire.hiding import hide_leader
from metashell.raft.wire.table import decode_request, decode_response, encode_request, encode_response
from metashell.raft.wire.versions import GENERATIONS, OURS, UnsupportedVersionError, api_key_of, message_versions

__all__ = [
    "GENERATIONS",
    "OURS",
    "UnsupportedVersionError",
    "api_key_of",
    "decode_request",
    "decode_response",
    "drop",
    "encode_request",
    "encode_response",
    "hide_leader",
    "message_versions",
]
