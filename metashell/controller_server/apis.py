"""Requests on the controller's listeners: who may ask what, which part answers, and answers back to their connections.

This module imports asyncio by what it needs, so it is itself imported inside functions.
Source: kafka.server.ControllerApis, kafka.server.EnvelopeUtils.
"""

from __future__ import annotations

from collections.abc import Mapping

from metashell.net.accepted_connection import ServerRequest
from metashell.net.api_versions import NodeFeatures


class Apis:
    """An `Application` of metashell.server.inbound."""

    @property
    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """The APIs that are served, raft's among them."""
        raise NotImplementedError

    def features(self) -> NodeFeatures:
        """What ApiVersions says of features."""
        raise NotImplementedError

    def take(self, request: ServerRequest) -> None:
        """Take a request; it is answered at any later time."""
        raise NotImplementedError

    def closed(self, listener: str, connection_id: int) -> None:
        """A connection is over."""
        raise NotImplementedError
