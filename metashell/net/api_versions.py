"""Negotiation of API versions: ranges, their overlap, and a server's answer to ApiVersions.

Source: KIP-35, KIP-511, KIP-584, KIP-1022, KIP-1242; org.apache.kafka.common.requests.ApiVersionsRequest, ApiVersionsResponse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from metashell.codec.codes import API_VERSIONS
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_codes import INVALID_REQUEST, REBOOTSTRAP_REQUIRED, UNSUPPORTED_VERSION
from metashell.codec.messages import ApiVersionsResponse
from metashell.codec.validation import is_valid_api_versions
from metashell.net.frames import request_type

ApiRanges = Mapping[int, tuple[int, int]]
"""Api key to the lowest and the highest version."""


class NodeIdentity(NamedTuple):
    """A node of a cluster: who a listener is, or who a client believes it to be."""

    cluster_id: str
    node_id: int


FEATURES_FROM_ZERO: Final = 4
"""The version from which a client can read a supported feature whose lowest level is 0 (KAFKA-17011)."""
IDENTITY_FROM: Final = 5
"""The version from which a client says which node of which cluster it believes to ask."""
API_KEYS_MAX: Final = 1024
"""Entries of an ApiVersions answer that are looked at; Kafka has fewer than a hundred keys."""


def supported_ranges(keys: Iterable[int] | None = None) -> dict[int, tuple[int, int]]:
    """The versions that our schemas have of these APIs, of all for None."""
    return {key: request_type(key).versions for key in (REQUESTS if keys is None else keys)}


class AllRanges(Mapping[int, tuple[int, int]]):
    """The versions of every API, each read from its schema when it is asked for: a connection uses few of them."""

    def __getitem__(self, key: int) -> tuple[int, int]:
        return request_type(key).versions

    def __contains__(self, key: object) -> bool:
        return key in REQUESTS

    def __iter__(self) -> Iterator[int]:
        return iter(REQUESTS)

    def __len__(self) -> int:
        return len(REQUESTS)


ALL_RANGES: Final = AllRanges()


class CommonVersions(Mapping[int, int]):
    """For each API that both sides have a common version of, the highest of them; found when it is asked for."""

    def __init__(self, ours: ApiRanges, theirs: ApiRanges) -> None:
        self._ours = ours
        self._theirs = theirs

    def __getitem__(self, key: int) -> int:
        (low, high), (their_low, their_high) = self._ours[key], self._theirs[key]
        if max(low, their_low) > min(high, their_high):
            raise KeyError(key)
        return min(high, their_high)

    def __iter__(self) -> Iterator[int]:
        return (key for key in self._theirs if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def ranges_of(response: Any) -> dict[int, tuple[int, int]]:
    """The ranges in an ApiVersionsResponse."""
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys[:API_KEYS_MAX]}


@dataclass(frozen=True, slots=True)
class NodeFeatures:
    """Features of a node: name to (lowest, highest) level, and what the cluster finalized: name to level, with its epoch."""

    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized: Mapping[str, int] = field(default_factory=dict)
    finalized_epoch: int = -1


def features_of(response: Any) -> NodeFeatures:
    """The features in an ApiVersionsResponse."""
    return NodeFeatures(
        {entry.name: (entry.min_version, entry.max_version) for entry in response.supported_features},
        {entry.name: entry.max_version_level for entry in response.finalized_features},
        response.finalized_features_epoch,
    )


KRAFT_FEATURES: Final = NodeFeatures({"kraft.version": (0, 1)})
"""What a quorum's member says at least."""


def answer_api_versions(
    request: Any,
    version: int,
    ranges: ApiRanges,
    features: NodeFeatures = KRAFT_FEATURES,
    identity: NodeIdentity | None = None,
    entries: tuple[Any, ...] = (),
) -> Any:
    """The response to an ApiVersionsRequest of a version that `ranges` has.

    One that is not valid is answered with INVALID_REQUEST and no ranges. A client that means another node than `identity` gets
    REBOOTSTRAP_REQUIRED. Brokers compare; controllers, and whoever does not know yet who asks, do not: `identity` is None there. Features
    whose lowest level is 0 are sent from version 4 on only, because older clients cannot read them. `entries` are those of `ranges`, where
    they are at hand: whoever asks without end costs less.
    """
    if not is_valid_api_versions(request, version):
        return ApiVersionsResponse(error_code=INVALID_REQUEST)
    if version >= IDENTITY_FROM and request.cluster_id is not None and identity not in (None, (request.cluster_id, request.node_id)):
        return ApiVersionsResponse(error_code=REBOOTSTRAP_REQUIRED)
    supported = {name: levels for name, levels in features.supported.items() if levels[0] > 0 or version >= FEATURES_FROM_ZERO}
    return ApiVersionsResponse(
        api_keys=entries or api_entries(ranges),
        supported_features=tuple(
            ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=low, max_version=high) for name, (low, high) in supported.items()
        ),
        finalized_features=tuple(
            ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in features.finalized.items()
        ),
        finalized_features_epoch=features.finalized_epoch,
    )


def answer_unknown_api_versions(ranges: ApiRanges) -> Any:
    """The response to an ApiVersionsRequest of a version that we do not have; it is written in version 0.

    It holds our range of ApiVersions alone, from which the client takes the version for its second try.
    """
    low_high = ranges.get(API_VERSIONS, request_type(API_VERSIONS).versions)
    return ApiVersionsResponse(error_code=UNSUPPORTED_VERSION, api_keys=api_entries({API_VERSIONS: low_high}))


def api_entries(ranges: ApiRanges) -> tuple[Any, ...]:
    """Return the ranges as entries of an answer, by key."""
    return tuple(
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in sorted(ranges.items())
    )
