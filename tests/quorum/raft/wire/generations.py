"""Which versions of the raft APIs each release of Kafka has, and what two releases talk with each other.

Source: the schemas of those releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from metashell.codec.codes import (
    ADD_RAFT_VOTER,
    API_VERSIONS,
    BEGIN_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    END_QUORUM_EPOCH,
    FETCH,
    FETCH_SNAPSHOT,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    VOTE,
)
from metashell.quorum.raft.messages import REQUEST_CLASSES, RESPONSE_CLASSES, VersionRanges

_OF_3_7: Final = {FETCH: (0, 16), API_VERSIONS: (0, 3), VOTE: (0, 0), BEGIN_QUORUM_EPOCH: (0, 0), END_QUORUM_EPOCH: (0, 0)} | {
    DESCRIBE_QUORUM: (0, 1),
    FETCH_SNAPSHOT: (0, 0),
}
_OF_3_9: Final = {FETCH: (0, 17), API_VERSIONS: (0, 4), VOTE: (0, 1), BEGIN_QUORUM_EPOCH: (0, 1), END_QUORUM_EPOCH: (0, 1)} | {
    DESCRIBE_QUORUM: (0, 2),
    FETCH_SNAPSHOT: (0, 1),
    ADD_RAFT_VOTER: (0, 0),
    REMOVE_RAFT_VOTER: (0, 0),
    UPDATE_RAFT_VOTER: (0, 0),
}
_OF_4_0: Final = _OF_3_9 | {FETCH: (4, 17), VOTE: (0, 2)}
_OF_4_1: Final = _OF_4_0 | {FETCH: (4, 18)}
_OF_4_2: Final = _OF_4_1 | {ADD_RAFT_VOTER: (0, 1)}
_OF_4_4: Final = _OF_4_2 | {API_VERSIONS: (0, 5)}

GENERATIONS: Final[Mapping[str, VersionRanges]] = MappingProxyType(
    {
        name: MappingProxyType(ranges)
        for name, ranges in {
            "3.7": _OF_3_7,
            "3.9": _OF_3_9,
            "4.0": _OF_4_0,
            "4.1": _OF_4_1,
            "4.2": _OF_4_2,
            "4.3": _OF_4_2,
            "4.4": _OF_4_4,
        }.items()
    }
)
"""What a controller of a Kafka release has, by release; 3.7 is the last before KIP-853."""


def message_versions(ours: VersionRanges, theirs: VersionRanges) -> dict[type[object], int]:
    """The highest common version of each flat message class; a class without one is not in it."""
    found: dict[type[object], int] = {}
    for key in ours.keys() & theirs.keys():
        version = min(ours[key][1], theirs[key][1])
        if version >= max(ours[key][0], theirs[key][0]) and key in REQUEST_CLASSES:
            found[REQUEST_CLASSES[key]] = found[RESPONSE_CLASSES[key]] = version
    return found
