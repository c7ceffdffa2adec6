"""The nodes of a cluster, as DescribeCluster names them."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from metashell.net.addresses import Address

BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
"""What DescribeCluster calls the two kinds of listeners."""


class Kind(Enum):
    """What the addresses are said to be that a cluster is reached by."""

    BROKERS = "brokers"
    CONTROLLERS = "controllers"

    @property
    def noun(self) -> str:
        """One of them."""
        return "broker" if self is Kind.BROKERS else "controller"


class Node(NamedTuple):
    """A broker or a controller. `rack` is None where it has none; only brokers are ever fenced."""

    id: int
    address: Address
    rack: str | None = None
    is_fenced: bool = False
