"""Which versions of which APIs the nodes of a cluster have, and which of them can be used from here.

Source: KIP-35; org.apache.kafka.clients.NodeApiVersions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from metashell import __version__
from metashell.admin.errors import AdminError
from metashell.codec.dispatch import REQUESTS
from metashell.codec.messages import ApiVersionsRequest
from metashell.errors import MetashellError
from metashell.net.api_versions import ranges_of
from metashell.net.client_connection import SOFTWARE_NAME
from metashell.net.frames import request_type

if TYPE_CHECKING:
    from metashell.admin.admin import Admin
    from metashell.admin.nodes import Node
    from metashell.net.api_versions import ApiRanges

_REMOVED: Final = {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown"}
"""APIs that Kafka 4.0 removed, and brokers before that have."""


class ApiSupport(NamedTuple):
    """An API: its name, None for an unknown key; the versions that a node has, None for none; the highest that both sides have.

    `is_too_old`: it is the node whose versions are too low where there is none.
    """

    key: int
    name: str | None
    versions: tuple[int, int] | None
    usable: int | None = None
    is_too_old: bool = False


def describe_api_versions(admin: Admin) -> list[tuple[Node, list[ApiSupport] | MetashellError]]:
    """What each node of the kind that was asked has, by id; an error in place of what could not be had. Errors: see `Admin`.

    The APIs of brokers are there also where a node has none of their versions.
    """
    nodes = admin.nodes()
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
    answers = admin.ask_all(dict.fromkeys((node.id for node in nodes), request))
    found: list[tuple[Node, list[ApiSupport] | MetashellError]] = []
    for node in nodes:
        answer = answers[node.id]
        if isinstance(answer, MetashellError):
            found.append((node, answer))
        elif answer.error_code:
            found.append((node, AdminError(answer.error_code, None, f"{admin.kind.noun} {node.id}")))
        else:
            found.append((node, _support(ranges_of(answer))))
    return found


def _support(ranges: ApiRanges) -> list[ApiSupport]:
    of_brokers = {key for key in REQUESTS if "broker" in request_type(key).schema.listeners}
    return [_one(key, ranges.get(key)) for key in sorted(ranges.keys() | of_brokers)]


def _one(key: int, versions: tuple[int, int] | None) -> ApiSupport:
    if key not in REQUESTS:
        return ApiSupport(key, _REMOVED.get(key), versions)
    name = REQUESTS[key].removesuffix("Request")
    if versions is None:
        return ApiSupport(key, name, None)
    low, high = request_type(key).versions
    if versions[1] < low or high < versions[0]:
        return ApiSupport(key, name, versions, is_too_old=versions[1] < low)
    return ApiSupport(key, name, versions, usable=min(high, versions[1]))
